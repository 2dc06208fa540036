// SPDX-License-Identifier: BSD-3-Clause
#include "tests/ranks/coll/places.hpp"

#include <algorithm>
#include <cstddef>
#include <numeric>

#include "tests/support/host_mpi.hpp"
#include "tests/support/session.hpp"

namespace sluice::tests {
namespace {

// Who the members of `group` are in the session.
std::vector<int> session_ranks(MPI_Group group) {
  MPI_Group all = MPI_GROUP_NULL;
  int size = 0;
  MPI_Group_size(group, &size);
  std::vector<int> ranks(static_cast<std::size_t>(size));
  std::iota(ranks.begin(), ranks.end(), 0);
  std::vector<int> found(ranks.size());
  MPI_Comm_group(Session::get().comm(), &all);
  MPI_Group_translate_ranks(group, size, ranks.data(), all, found.data());
  MPI_Group_free(&all);
  return found;
}

void find_members(Place *place) {
  MPI_Group group = MPI_GROUP_NULL;
  MPI_Comm_rank(place->comm, &place->rank);
  MPI_Comm_group(place->comm, &group);
  place->own = session_ranks(group);
  place->peers = place->own;
  MPI_Group_free(&group);
  if (!place->is_between_groups) {
    return;
  }
  MPI_Comm_remote_group(place->comm, &group);
  place->peers = session_ranks(group);
  MPI_Group_free(&group);
}

// Neighbours, as ranks of the communicator, by their ranks in the session.
std::vector<int> members(const Place &place, const std::vector<int> &ranks) {
  std::vector<int> result;
  for (const int rank : ranks) {
    result.push_back(rank == MPI_PROC_NULL ? -1 : place.own[static_cast<std::size_t>(rank)]);
  }
  return result;
}

}  // namespace

const std::vector<int> &Place::group_with_root() const {
  return is_in_group_with_root() ? own : peers;
}

bool Place::is_in_group_with_root() const {
  return std::find(own.begin(), own.end(), 0) != own.end() || !is_between_groups;
}

Places::Places() : places_(static_cast<std::size_t>(Where::distributed_graph) + 1) {
  const Session &session = Session::get();
  MPI_Comm_dup(session.comm(), &place(Where::everywhere).comm);
  MPI_Comm_split(session.comm(), 0, -session.rank(), &place(Where::backwards).comm);
  MPI_Comm_dup(MPI_COMM_SELF, &place(Where::alone).comm);
  if (session.size() > 1) make_between_groups();
  make_grid();
  make_graph();
  make_distributed_graph();
  for (Place &each : places_) {
    if (each.comm == MPI_COMM_NULL) continue;
    MPI_Comm_set_errhandler(each.comm, MPI_ERRORS_RETURN);
    find_members(&each);
  }
  for (const Where where : {Where::grid, Where::graph, Where::distributed_graph}) {
    place(where).sources = members(place(where), place(where).sources);
    place(where).destinations = members(place(where), place(where).destinations);
  }
}

Places::~Places() {
  for (Place &each : places_) {
    if (each.comm != MPI_COMM_NULL) MPI_Comm_free(&each.comm);
  }
}

// The even ranks and the odd ones.
void Places::make_between_groups() {
  const Session &session = Session::get();
  Place &made = place(Where::between_groups);
  MPI_Comm group = MPI_COMM_NULL;
  MPI_Comm_split(session.comm(), session.rank() % 2, session.rank(), &group);
  MPI_Intercomm_create(group, 0, session.comm(), 1 - session.rank() % 2, 7, &made.comm);
  MPI_Comm_free(&group);
  made.is_between_groups = true;
}

// One direction ends at borders, the other goes round.
void Places::make_grid() {
  const int size = Session::get().size();
  Place &made = place(Where::grid);
  const int extents[2] = {size % 2 == 0 ? size / 2 : size, size % 2 == 0 ? 2 : 1};
  const int goes_round[2] = {0, 1};
  MPI_Cart_create(Session::get().comm(), 2, extents, goes_round, 0, &made.comm);
  for (int direction = 0; direction < 2; ++direction) {
    int below = MPI_PROC_NULL;
    int above = MPI_PROC_NULL;
    MPI_Cart_shift(made.comm, direction, 1, &below, &above);
    made.sources.insert(made.sources.end(), {below, above});
  }
  made.destinations = made.sources;
}

// Every rank but the first beside the first one.
void Places::make_graph() {
  const Session &session = Session::get();
  const int size = session.size();
  Place &made = place(Where::graph);
  std::vector<int> ends;
  std::vector<int> edges;
  edges.reserve(static_cast<std::size_t>(2 * size));  // an address, even for one rank
  for (int rank = 1; rank < size; ++rank) edges.push_back(rank);
  ends.push_back(size - 1);
  for (int rank = 1; rank < size; ++rank) {
    edges.push_back(0);
    ends.push_back(ends.back() + 1);
  }
  MPI_Graph_create(session.comm(), size, ends.data(), edges.data(), 0, &made.comm);
  int n_neighbors = 0;
  MPI_Graph_neighbors_count(made.comm, session.rank(), &n_neighbors);
  made.sources.resize(static_cast<std::size_t>(n_neighbors));
  MPI_Graph_neighbors(made.comm, session.rank(), n_neighbors, made.sources.data());
  made.destinations = made.sources;
}

// From each rank to those above it: more and more sources, fewer and fewer destinations, none at the ends. Else to the
// next rank and the one after, from the two before.
void Places::make_distributed_graph() {
  const Session &session = Session::get();
  const int size = session.size();
  const int rank = session.rank();
  Place &made = place(Where::distributed_graph);
  if (fails_on_uneven_graphs()) {
    made.sources = {(rank + size - 1) % size, (rank + 2 * size - 2) % size};
    made.destinations = {(rank + 1) % size, (rank + 2) % size};
  } else {
    for (int other = 0; other < size; ++other) {
      if (other < rank) made.sources.push_back(other);
      if (other > rank) made.destinations.push_back(other);
    }
  }
  MPI_Dist_graph_create_adjacent(session.comm(), static_cast<int>(made.sources.size()), made.sources.data(),
                                 MPI_UNWEIGHTED, static_cast<int>(made.destinations.size()), made.destinations.data(),
                                 MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &made.comm);
}

}  // namespace sluice::tests
