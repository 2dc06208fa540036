// SPDX-License-Identifier: BSD-3-Clause
#include "tests/ranks/coll/topologies.hpp"

#include <utility>

#include "tests/support/session.hpp"

namespace sluice::tests {

const char *name_of(Shape shape) {
  switch (shape) {
    case Shape::ring:
      return "a ring";
    case Shape::line:
      return "a line";
    case Shape::torus:
      return "a torus";
    case Shape::slab:
      return "a slab";
    case Shape::repeated_edges:
      return "repeated edges";
    case Shape::uneven:
      return "an uneven graph";
    case Shape::uneven_twice:
      return "an uneven graph of repeated edges";
    case Shape::alone:
      return "a graph with a rank alone";
    case Shape::any_placed:
      return "a distributed graph";
    case Shape::graph:
      return "a graph";
    case Shape::many_edges:
      break;
  }
  return "many edges";
}

std::vector<Shape> all_shapes() {
  std::vector<Shape> shapes;
  for (int i = 0; i < static_cast<int>(Shape::many_edges); ++i) shapes.push_back(static_cast<Shape>(i));
  return shapes;
}

Topology::Topology(Shape shape) {
  const Session &session = Session::get();
  const int size = session.size();
  const int rank = session.rank();
  const int next = (rank + 1) % size;
  const int before = (rank + size - 1) % size;
  switch (shape) {
    case Shape::ring:
      make_grid({size}, {1}, false);
      break;
    case Shape::line:
      make_grid({size}, {0}, true);
      break;
    case Shape::torus:
      make_grid({size, 1}, {1, 1}, false);
      break;
    case Shape::slab:
      make_grid({1, size % 2 == 0 ? 2 : 1, size % 2 == 0 ? size / 2 : size}, {0, 1, 1}, true);
      break;
    case Shape::repeated_edges:
      make_distributed_graph({before, rank, before, before, rank}, {rank, next, next, rank, next});
      break;
    case Shape::uneven:
    case Shape::uneven_twice: {
      std::vector<int> below;
      std::vector<int> above;
      for (int round = 0; round <= (shape == Shape::uneven ? 0 : 1); ++round) {
        for (int other = 0; other < rank; ++other) below.push_back(other);
        for (int other = size - 1; other > rank; --other) above.push_back(other);
      }
      make_distributed_graph(std::move(below), std::move(above));
      break;
    }
    case Shape::alone: {
      const int n = size - 1;
      if (rank == n) {
        make_distributed_graph({}, {});
      } else {
        make_distributed_graph({(rank + n - 1) % n}, {(rank + 1) % n});
      }
      break;
    }
    case Shape::any_placed:
      make_any_placed();
      break;
    case Shape::graph:
      make_graph();
      break;
    case Shape::many_edges:
      make_distributed_graph(std::vector<int>(70, before), std::vector<int>(70, next));
      break;
  }
  MPI_Comm_rank(comm_, &rank_);
}

Topology::~Topology() {
  MPI_Comm_free(&comm_);
}

void Topology::make_grid(const std::vector<int> &extents, const std::vector<int> &goes_round, bool may_reorder) {
  const Session &session = Session::get();
  MPI_Comm backwards = MPI_COMM_NULL;
  MPI_Comm_split(session.comm(), 0, may_reorder ? -session.rank() : session.rank(), &backwards);
  const int n_dimensions = static_cast<int>(extents.size());
  MPI_Cart_create(backwards, n_dimensions, extents.data(), goes_round.data(), may_reorder ? 1 : 0, &comm_);
  MPI_Comm_free(&backwards);
  for (int dimension = 0; dimension < n_dimensions; ++dimension) {
    int below = MPI_PROC_NULL;
    int above = MPI_PROC_NULL;
    MPI_Cart_shift(comm_, dimension, 1, &below, &above);
    sources_.insert(sources_.end(), {below, above});
  }
  destinations_ = sources_;
}

void Topology::make_distributed_graph(std::vector<int> sources, std::vector<int> destinations) {
  const std::vector<int> source_weights(sources.size() + 1, 3);
  const std::vector<int> destination_weights(destinations.size() + 1, 3);
  sources.reserve(1);
  destinations.reserve(1);
  MPI_Dist_graph_create_adjacent(Session::get().comm(), static_cast<int>(sources.size()), sources.data(),
                                 source_weights.data(), static_cast<int>(destinations.size()), destinations.data(),
                                 destination_weights.data(), MPI_INFO_NULL, 0, &comm_);
  sources_ = std::move(sources);
  destinations_ = std::move(destinations);
}

// Each rank says that the next one sends to itself, to the one behind it and to this one.
void Topology::make_any_placed() {
  const Session &session = Session::get();
  const int size = session.size();
  const int next = (session.rank() + 1) % size;
  const int n_edges = size > 2 ? 3 : 2;
  const std::vector<int> edges = {next, session.rank(), (next + 1) % size};
  MPI_Dist_graph_create(session.comm(), 1, &next, &n_edges, edges.data(), MPI_UNWEIGHTED, MPI_INFO_NULL, 1, &comm_);
  int n_sources = 0;
  int n_destinations = 0;
  int is_weighted = 0;
  MPI_Dist_graph_neighbors_count(comm_, &n_sources, &n_destinations, &is_weighted);
  sources_.resize(static_cast<std::size_t>(n_sources));
  destinations_.resize(static_cast<std::size_t>(n_destinations));
  MPI_Dist_graph_neighbors(comm_, n_sources, sources_.data(), MPI_UNWEIGHTED, n_destinations, destinations_.data(),
                           MPI_UNWEIGHTED);
}

void Topology::make_graph() {
  const Session &session = Session::get();
  const int size = session.size();
  std::vector<int> ends;
  std::vector<int> edges;
  for (int rank = 0; rank < size; ++rank) {
    const int next = (rank + 1) % size;
    const int before = (rank + size - 1) % size;
    edges.insert(edges.end(), {next, rank, before, next, before});
    ends.push_back(static_cast<int>(edges.size()));
  }
  MPI_Graph_create(session.comm(), size, ends.data(), edges.data(), 0, &comm_);
  int rank = 0;
  int n_neighbors = 0;
  MPI_Comm_rank(comm_, &rank);
  MPI_Graph_neighbors_count(comm_, rank, &n_neighbors);
  sources_.resize(static_cast<std::size_t>(n_neighbors));
  MPI_Graph_neighbors(comm_, rank, n_neighbors, sources_.data());
  destinations_ = sources_;
}

}  // namespace sluice::tests
