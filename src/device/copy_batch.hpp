// SPDX-License-Identifier: BSD-3-Clause
// CopyBatch: copies of many messages in one command, with one mark behind them: a window of messages that came together
// is pulled together, and nobody waits for each of them alone.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "base/status.hpp"
#include "device/place.hpp"
#include "device/queue.hpp"

namespace sluice::device {

// Collects copies until it is asked after for the first time; then they run. Any thread, one at a time: what calls this
// is the engine's turn.
class CopyBatch {
 public:
  // Whose memory is read. One command that reads this process's and another's takes longer than one for each
  // (docs/adr/0014).
  enum class Source : std::uint8_t { kSelf, kPeer };
  // Longer copies do not hold up short ones, and gain by company up to kLongestBytes (docs/adr/0023).
  static constexpr std::size_t kShortBytes = std::size_t{256} << 10;
  static constexpr std::size_t kLongestBytes = std::size_t{4} << 20;
  // A sender hears of its message when all of the batch has come.
  static constexpr std::size_t kMost = 64;
  static constexpr std::size_t kMostBytes = std::size_t{64} << 20;  // it takes no more from there on

  CopyBatch(const Place &place, Source source, bool is_short) noexcept  // NOLINT(*-member-init): most is never read
      : place_(place), source_(source), is_short_(is_short) {}

  // Adds a copy to a batch that is collecting such copies for the place's device, or to a new one. Source and
  // destination stay valid until poll() says done.
  [[nodiscard]] static std::shared_ptr<CopyBatch> join(const Place &place, const sluice_copy_t &piece, Source source);
  // The copy in a batch of its own.
  [[nodiscard]] static std::shared_ptr<CopyBatch> alone(const Place &place, const sluice_copy_t &piece);

  // Sets *is_done when all copies have ended, well or not; never blocks. Errors: the runtime's, of any of them, told at
  // each call from then on. Each message asks, and the runtime is asked for the first of them in a turn only, whose
  // number, not 0, the caller gives. Hot.
  [[nodiscard]] Status poll(std::uint64_t turn, bool *is_done);

  // Copies in it.
  [[nodiscard]] std::size_t size() const noexcept { return n_pieces_; }
  // False after an error that came before anything was copied.
  [[nodiscard]] bool has_begun() const noexcept { return has_begun_; }

 private:
  void add(const sluice_copy_t &piece) noexcept;
  [[nodiscard]] bool collects(const Place &place, Source source, bool is_short) const noexcept {
    return !is_closed_ && place_.backend == place.backend && place_.device == place.device && source_ == source &&
           is_short_ == is_short;
  }
  [[nodiscard]] Status begin();

  const Place place_;
  const Source source_;
  const bool is_short_;
  std::size_t size_bytes_ = 0;
  std::size_t n_pieces_ = 0;
  std::array<sluice_copy_t, kMost> pieces_;  // the first n_pieces_ of them
  bool is_closed_ = false;                   // takes no more
  bool has_begun_ = false;
  bool is_done_ = false;
  std::uint64_t asked_in_ = 0;  // the turn
  Status outcome_;
  Queue queue_;  // outlives the copy
  PendingCopy copy_;
};

}  // namespace sluice::device
