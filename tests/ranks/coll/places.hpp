// SPDX-License-Identifier: BSD-3-Clause
// The communicators that random collective calls are made on.
#pragma once

#include <mpi.h>

#include <vector>

#include "tests/ranks/coll/random_calls.hpp"

namespace sluice::tests {

// A communicator, and who is in it, by ranks of the session. -1 stands for MPI_PROC_NULL.
struct Place {
  MPI_Comm comm = MPI_COMM_NULL;
  bool is_between_groups = false;
  int rank = 0;
  std::vector<int> own;           // the own group
  std::vector<int> peers;         // those that a buffer has blocks for: the own group or the remote one
  std::vector<int> sources;       // with a topology
  std::vector<int> destinations;  // with a topology

  int size() const { return static_cast<int>(own.size()); }
  // Of the group that the root of a call is in: between groups that of rank 0 of the session.
  const std::vector<int> &group_with_root() const;
  bool is_in_group_with_root() const;
};

// One for each Where; between groups only with two ranks or more. Made and freed by all ranks together.
class Places {
 public:
  Places();
  Places(const Places &) = delete;
  Places &operator=(const Places &) = delete;
  ~Places();

  const Place &at(Where where) const { return places_[static_cast<std::size_t>(where)]; }

 private:
  Place &place(Where where) { return places_[static_cast<std::size_t>(where)]; }
  void make_between_groups();
  void make_grid();
  void make_graph();
  void make_distributed_graph();

  std::vector<Place> places_;
};

}  // namespace sluice::tests
