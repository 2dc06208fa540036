// SPDX-License-Identifier: BSD-3-Clause
// Communicators with a topology: grids with and without borders, graphs, and edges that come more than once.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <vector>

namespace sluice::tests {

enum class Shape : std::uint8_t {
  ring,            // one direction, which goes round: of two ranks both neighbours are the same
  line,            // one direction with borders; ranks may be reordered
  torus,           // one long direction and one of a single rank, both go round: neighbour of itself twice
  slab,            // three directions, of which one has borders, in another order of the ranks
  repeated_edges,  // a distributed graph: to the next rank three times, to itself twice, weighted
  uneven,          // from each rank to those above it: more and more sources, none at the first
  uneven_twice,    // the same, each edge twice
  alone,           // a ring of all but the last rank, which has no neighbours
  any_placed,      // a distributed graph that each rank describes for another one
  graph,           // to both neighbours twice and to itself
  many_edges       // to the next rank, 70 times
};
const char *name_of(Shape shape);
// All but many_edges.
std::vector<Shape> all_shapes();
// Ranks have unlike numbers of sources and destinations.
constexpr bool is_uneven(Shape shape) {
  return shape == Shape::uneven || shape == Shape::uneven_twice;
}

// Frees its communicator.
class Topology {
 public:
  // Collective over the session's communicator.
  explicit Topology(Shape shape);
  Topology(const Topology &) = delete;
  Topology &operator=(const Topology &) = delete;
  ~Topology();

  MPI_Comm comm() const { return comm_; }
  int rank() const { return rank_; }
  // Ranks of comm(), in the order of the blocks; MPI_PROC_NULL at borders.
  const std::vector<int> &sources() const { return sources_; }
  const std::vector<int> &destinations() const { return destinations_; }

 private:
  void make_grid(const std::vector<int> &extents, const std::vector<int> &goes_round, bool may_reorder);
  void make_distributed_graph(std::vector<int> sources, std::vector<int> destinations);
  void make_any_placed();
  void make_graph();

  MPI_Comm comm_ = MPI_COMM_NULL;
  int rank_ = 0;
  std::vector<int> sources_;
  std::vector<int> destinations_;
};

}  // namespace sluice::tests
