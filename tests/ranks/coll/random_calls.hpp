// SPDX-License-Identifier: BSD-3-Clause
// Small random programs of collective calls: made from a seed, the same on all ranks, and with exactly one right
// outcome, so that two runs of one program can be compared.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "tests/ranks/coll/variants.hpp"

namespace sluice::tests {

enum class What : std::uint8_t {
  barrier,
  bcast,
  gather,
  gatherv,
  scatter,
  scatterv,
  allgather,
  allgatherv,
  alltoall,
  alltoallv,
  alltoallw,
  reduce,
  allreduce,
  reduce_scatter,
  reduce_scatter_block,
  scan,
  exscan,
  neighbor_allgather,
  neighbor_allgatherv,
  neighbor_alltoall,
  neighbor_alltoallv,
  neighbor_alltoallw,
  reduce_local
};
const char *name_of(What what);

constexpr bool is_neighborly(What what) {
  return what >= What::neighbor_allgather && what <= What::neighbor_alltoallw;
}
constexpr bool is_reduction(What what) {
  return (what >= What::reduce && what <= What::exscan) || what == What::reduce_local;
}

// The communicator that a call is made on.
enum class Where : std::uint8_t { everywhere, backwards, alone, between_groups, grid, graph, distributed_graph };

// What the details of a call are drawn from: any rank can ask for those of any other.
class Draws {
 public:
  explicit Draws(std::uint64_t seed) : seed_(seed) {}
  // A number below `bound` for the question `what` about a and b; the same whenever it is asked.
  std::uint64_t below(std::uint64_t bound, int what, int a = 0, int b = 0) const;
  bool one_in(std::uint64_t n, int what, int a = 0, int b = 0) const { return below(n, what, a, b) == 0; }

 private:
  std::uint64_t seed_;
};

// What a reduction does.
enum class Sort : std::uint8_t { ordered, commutative, predefined };

struct CollectiveCall {
  What what = What::barrier;
  Variant::Form form = Variant::Form::blocking;
  bool is_large = false;
  Where where = Where::everywhere;
  int root = 0;  // of as many as there are
  bool is_in_place = false;
  bool is_mixed = false;   // each rank has a type of its own
  bool is_nested = false;  // the types are random ones; no reduction has them, whose operations know their types
  Sort sort = Sort::ordered;
  std::uint64_t grains =
      0;  // of a block, at most; a grain is as many elements as have 6 ints; where nested, 48 repeats of a signature
  Draws draws{0};
};

// Calls that are all under way together, as far as their forms allow, as often as they are started.
struct CollectiveProgram {
  std::vector<CollectiveCall> calls;
  int n_starts = 1;
  std::size_t completer = 0;  // index into completers(); it gets all requests of a start in one array
  bool ignores_statuses = false;
  std::size_t rotation = 0;  // of the requests in that array
};

// For people.
std::string describe(const CollectiveCall &call);

CollectiveProgram make_collective_program(std::uint64_t seed, int n_ranks);

}  // namespace sluice::tests
