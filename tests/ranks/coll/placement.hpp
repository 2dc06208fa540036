// SPDX-License-Identifier: BSD-3-Clause
// On which nodes the ranks count as being, as the host's name and SLUICE_NODE say.
#pragma once

#include <vector>

namespace sluice::tests {

// Where the ranks lie, from what the test was started with and on which hosts.
struct Placement {
  std::vector<int> node;  // by rank
  int n_nodes = 0;
  bool is_uniform = true;
  bool is_node_major = true;
};

// Collective.
Placement find_placement();

}  // namespace sluice::tests
