// SPDX-License-Identifier: BSD-3-Clause
// put_rank(): the rank's place in the file names that knobs give.
#pragma once

#include <string>

namespace sluice {

// Replaces the first %r of *path by `rank` (MPI_COMM_WORLD). False when there is none. Any thread, for a path of its
// own.
inline bool put_rank(std::string *path, int rank) {
  const std::size_t at = path->find("%r");
  if (at == std::string::npos) return false;
  path->replace(at, 2, std::to_string(rank));
  return true;
}

}  // namespace sluice
