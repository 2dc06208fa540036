// SPDX-License-Identifier: BSD-3-Clause
// One one-sided test at one size on this rank: its memories, its window, and the call.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "bench/memory/message_buffer.hpp"
#include "bench/mpi/message_type.hpp"
#include "bench/rma/epoch_calls.hpp"
#include "bench/rma/one_sided.hpp"
#include "bench/rma/window_data.hpp"
#include "bench/rma/window_memory.hpp"
#include "bench/session.hpp"

namespace sluice::bench {

// Rank 0 accesses memory of rank 1; both have all the memories. Functions throw MpiError.
class OneSidedExchange {
 public:
  // Collective. n_slots: accesses of one iteration that have memory of their own; further ones use it again.
  OneSidedExchange(Session &session, const OneSided &test, std::uint64_t size_bytes, std::uint64_t n_slots);

  // Local. Writes what iteration `iteration` begins with, here and in the window, and poisons what it brings.
  void prepare(std::uint64_t iteration, std::vector<std::byte> &scratch);
  // Local. The first wrong element of this rank's memories; "" when all are right.
  std::string verify(std::uint64_t iteration, std::vector<std::byte> &scratch);

  const EpochCalls &epoch() const { return epoch_; }
  // One iteration of n_accesses, within epoch().open() and close().
  void run(std::uint64_t n_accesses);

 private:
  WindowData data(std::uint64_t iteration) const;
  Holds target_after(std::uint64_t iteration) const;

  const OneSided &test_;
  int rank_;
  ElementType element_;
  Operation operation_;
  std::uint64_t size_bytes_;
  std::uint64_t n_slots_;
  bool is_requested_;
  MessageType type_;
  MessageBuffer origin_;
  MessageBuffer compare_;
  MessageBuffer result_;
  WindowMemory window_;
  EpochCalls epoch_;
  Access access_;
  std::vector<MPI_Request> requests_;  // of one iteration with Epoch::request
};

}  // namespace sluice::bench
