// SPDX-License-Identifier: BSD-3-Clause
// Small random one-sided programs: made from a seed, the same on all ranks, and with exactly one right outcome, so that
// two runs of one program can be compared.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "tests/support/oracle.hpp"

namespace sluice::tests {

enum class WindowSync : std::uint8_t { fence, groups, lock_shared, lock_alone, lock_all };
enum class WindowAccess : std::uint8_t { put, get, accumulate, get_accumulate, fetch_and_op, compare_and_swap };
enum class WindowElement : std::uint8_t { int32, int64, float64 };

// A part of each rank's window that the accesses of a round reach as a whole, or as every second element.
struct WindowCell {
  std::size_t offset_bytes = 0;
  std::size_t n_elements = 0;
  WindowElement element = WindowElement::int32;
};

struct RandomAccess {
  int origin = 0;
  int target = 0;
  std::size_t cell = 0;
  WindowAccess access = WindowAccess::put;
  std::size_t operation = 0;  // of those that the element has, or one more: MPI_NO_OP
  bool is_sparse = false;     // every second element of the cell
  int origin_stride = 1;
  bool has_request = false;  // where the synchronisation allows it
  int flush = 0;             // behind it, where the same does: 1 flush, 2 flush_local, 3 flush_all
  Kind kind = Kind::host;    // of the buffers
  int seed = 0;              // of the values
};

struct WindowRound {
  WindowSync sync = WindowSync::fence;
  std::vector<RandomAccess> accesses;
};

struct WindowProgram {
  std::vector<Kind> kinds;  // of the windows' memory, by rank
  std::vector<int> disp_units;
  bool is_dynamic = false;
  std::vector<WindowCell> cells;  // of every rank
  std::size_t window_bytes = 0;
  std::vector<WindowRound> rounds;
};

// n_ranks: 1 or more. kinds: what there is to choose from; but for it, a seed means the same program everywhere.
WindowProgram make_window_program(std::uint64_t seed, int n_ranks, const std::vector<Kind> &kinds);

// Runs it, on memory of the kinds that it names, or of the host in a run on host copies. Collective.
void run_window_program(Trial &run, const WindowProgram &program);

}  // namespace sluice::tests
