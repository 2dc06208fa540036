// SPDX-License-Identifier: BSD-3-Clause
// Marks: how the ranks of a node know, without a word of MPI, that all of them run Sluice (docs/adr/0064).
#pragma once

#include <string>
#include <vector>

#include "base/file_descriptor.hpp"

namespace sluice::wire {

// What a rank has found.
struct MarkedRanks {
  bool is_known = false;     // the launcher says enough; else the others mean nothing
  int n_local = 0;           // ranks on this node
  std::vector<int> missing;  // of those, the ones that have left no mark; in their order
  bool is_first = false;     // no rank before this one has left any: it speaks for all
};

// One thread.
class Marks {
 public:
  // The process's. Never destroyed.
  static Marks &process();

  // Before the host MPI's MPI_Init, which does not return before all ranks have called it. Where the launcher does not
  // say enough, nothing is left.
  void leave() noexcept;
  // Behind it; there are `world_size` ranks in all. Blocks for a second at most, only where marks are missing.
  [[nodiscard]] MarkedRanks look(int world_size);
  // When all have looked.
  void take_away() noexcept { mark_ = FileDescriptor(); }

 private:
  FileDescriptor mark_;
  std::string job_;
  int n_local_ = 0;
  int rank_ = 0;
};

}  // namespace sluice::wire
