// SPDX-License-Identifier: BSD-3-Clause
// CopyBatch: copies of many messages in one command, with one mark behind them: a window of messages that came together
// is pulled together, and nobody waits for each of them alone.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "base/status.hpp"
#include "device/place.hpp"
#include "device/queue.hpp"

namespace sluice::device {

// Collects copies until it is asked after for the first time; then they run. Any thread, one at a time: what calls this
// is the engine's turn.
class CopyBatch {
 public:
  // Longer copies gain nothing by company, and would hold up short ones.
  static constexpr std::size_t kLongestBytes = std::size_t{256} << 10;
  static constexpr std::size_t kMost = 64;

  explicit CopyBatch(const Place &place) noexcept : place_(place) {}

  // Adds a copy to the batch that is collecting for the place's device, or to a new one. Source and destination stay
  // valid until poll() says done.
  [[nodiscard]] static std::shared_ptr<CopyBatch> join(const Place &place, const sluice_copy_t &piece);
  // The copy in a batch of its own.
  [[nodiscard]] static std::shared_ptr<CopyBatch> alone(const Place &place, const sluice_copy_t &piece);

  // Sets *is_done when all copies have ended, well or not; never blocks. An error is that of any of them. Each message
  // asks, and the runtime is asked for the first of them in a turn only, whose number, not 0, the caller gives. Hot.
  [[nodiscard]] Status poll(std::uint64_t turn, bool *is_done);

  [[nodiscard]] std::size_t size() const noexcept { return pieces_.size(); }
  [[nodiscard]] std::uint64_t size_bytes() const noexcept;
  // False after an error that came before anything was copied.
  [[nodiscard]] bool has_begun() const noexcept { return has_begun_; }

 private:
  [[nodiscard]] Status begin();

  const Place place_;
  std::vector<sluice_copy_t> pieces_;
  bool is_closed_ = false;  // takes no more
  bool has_begun_ = false;
  bool is_done_ = false;
  std::uint64_t asked_in_ = 0;  // the turn
  Status outcome_;
  Queue queue_;  // outlives the copy
  PendingCopy copy_;
};

}  // namespace sluice::device
