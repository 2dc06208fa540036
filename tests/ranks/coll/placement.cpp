// SPDX-License-Identifier: BSD-3-Clause
#include "tests/ranks/coll/placement.hpp"

#include <gtest/gtest.h>
#include <mpi.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <string>

#include "tests/support/session.hpp"

namespace sluice::tests {

Placement find_placement() {
  char host[256] = "";
  EXPECT_EQ(gethostname(host, sizeof host - 1), 0);
  const char *divided = std::getenv("SLUICE_NODE");
  const unsigned long own = std::hash<std::string>()(std::string(host) + '/' + (divided == nullptr ? "" : divided));
  Placement placement;
  std::vector<unsigned long> names(static_cast<std::size_t>(Session::get().size()));
  EXPECT_EQ(MPI_Allgather(&own, 1, MPI_UNSIGNED_LONG, names.data(), 1, MPI_UNSIGNED_LONG, Session::get().comm()),
            MPI_SUCCESS);
  std::vector<unsigned long> known;
  std::vector<int> n_local;
  for (const unsigned long one : names) {
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
