// SPDX-License-Identifier: BSD-3-Clause
// Where on its machine this process runs.
#pragma once

#include <string>

namespace sluice::bench {

struct RankPlace {
  std::string cores;   // the logical cores it may run on, as "0-3,8"; "" when unknown
  int numa_node = -1;  // the one that all of them belong to; -1 when there are several or it is unknown
};

// Asks the operating system once. Takes milliseconds.
RankPlace query_rank_place();

}  // namespace sluice::bench
