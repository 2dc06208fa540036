// SPDX-License-Identifier: BSD-3-Clause
// Ranks that are threads of one process, with a board between them: whole collective calls of a node, without a
// launcher.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/status.hpp"
#include "one_process_module.hpp"
#include "ops/coll/call/call.hpp"
#include "ops/coll/call/member.hpp"
#include "ops/coll/node/node_call.hpp"
#include "ops/coll/node/node_group.hpp"

namespace sluice::tests {

// Memory of the backend under test: device memory, or what the CPU may touch. Poisoned when it is made.
class RankMemory {
 public:
  enum class Kind : std::uint8_t { kDevice, kHost };
  explicit RankMemory(std::size_t size_bytes, Kind kind = Kind::kDevice);
  ~RankMemory();
  RankMemory(const RankMemory &) = delete;
  RankMemory &operator=(const RankMemory &) = delete;
  RankMemory(RankMemory &&) = delete;
  RankMemory &operator=(RankMemory &&) = delete;

  [[nodiscard]] std::byte *data() const noexcept { return data_; }
  void write(const std::vector<std::byte> &bytes) const;
  [[nodiscard]] std::vector<std::byte> read() const;

 private:
  std::byte *data_ = nullptr;
  std::size_t size_bytes_;
  std::vector<std::byte> host_;
};

// How a call ended at one rank.
struct Ended {
  ops::coll::NodeCall::Outcome outcome{};
  bool is_short = false;
  std::string failure;  // of kFailed
};

class ThreadRanks {
 public:
  explicit ThreadRanks(int n_ranks);

  [[nodiscard]] int size() const noexcept { return n_ranks_; }
  [[nodiscard]] ops::coll::Member member(int rank) const noexcept;
  // Runs `body` for each rank on a thread of its own, and waits until all have returned.
  void run(const std::function<void(int rank)> &body) const;
  // One rank's part of `call`, whose pattern is set, until it has an outcome. `found`: what this rank has found wrong.
  [[nodiscard]] Ended carry_out(int rank, const ops::coll::Call &call, const Status &found = {}) const;
  // The same of calls that the rank has under way together.
  [[nodiscard]] std::vector<Ended> carry_out_together(int rank, const std::vector<ops::coll::Call> &calls) const;

 private:
  int n_ranks_;
  std::vector<std::unique_ptr<ops::coll::NodeGroup>> groups_;  // by rank
};

// The faults of the calling thread.
[[nodiscard]] ThreadFaults &faults();

// The byte at `position` of what `rank` gives in `round`; what it gives in all; and what no rank gives.
[[nodiscard]] std::byte pattern_byte(int rank, std::size_t position, int round) noexcept;
[[nodiscard]] std::vector<std::byte> bytes_of(int rank, std::size_t first, std::size_t size_bytes, int round);
inline constexpr std::byte kPoison{0xA5};

}  // namespace sluice::tests
