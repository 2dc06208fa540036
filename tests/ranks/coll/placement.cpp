// SPDX-License-Identifier: BSD-3-Clause
#include "tests/ranks/coll/placement.hpp"

#include <gtest/gtest.h>
#include <mpi.h>

#include <algorithm>
#include <cstdlib>

#include "tests/support/session.hpp"

namespace sluice::tests {

Placement find_placement() {
  const char *name = std::getenv("SLUICE_NODE");
  int own = name == nullptr ? 0 : static_cast<unsigned char>(name[0]);
  Placement placement;
  std::vector<int> names(static_cast<std::size_t>(Session::get().size()));
  EXPECT_EQ(MPI_Allgather(&own, 1, MPI_INT, names.data(), 1, MPI_INT, Session::get().comm()), MPI_SUCCESS);
  std::vector<int> known;
  std::vector<int> n_local;
  for (const int one : names) {
    const auto found = std::find(known.begin(), known.end(), one);
    const auto index = static_cast<std::size_t>(found - known.begin());
    if (found == known.end()) {
      known.push_back(one);
      n_local.push_back(0);
    }
    ++n_local[index];
    placement.node.push_back(static_cast<int>(index));
  }
  placement.n_nodes = static_cast<int>(known.size());
  placement.is_uniform = std::count(n_local.begin(), n_local.end(), n_local.front()) == placement.n_nodes;
  placement.is_node_major = std::is_sorted(placement.node.begin(), placement.node.end());
  return placement;
}

}  // namespace sluice::tests
