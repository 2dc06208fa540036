// SPDX-License-Identifier: BSD-3-Clause
// NeighborEdges: which of the blocks that a neighbour sends a block that is received is. A matter of ranks, unless two
// ranks are neighbours more than once: there the host MPIs do not agree on it, nor do the functions of one of them
// (docs/adr/0042), so the host MPI itself is asked, once for each communicator and function.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "base/status.hpp"
#include "ops/coll/call.hpp"
#include "ops/coll/member.hpp"

namespace sluice::ops::coll {

// Where a block that is received comes from. At the border of a grid: from nobody.
struct Edge {
  int source = MPI_PROC_NULL;  // rank
  int block = 0;               // of those that it sends
};

// The functions of the host MPI that may pair blocks each in its own way, and so may their forms.
enum class EdgeFunction : std::uint8_t { kAlltoall, kAlltoallv, kAlltoallw };
inline constexpr std::array kEdgeFunctions = {EdgeFunction::kAlltoall, EdgeFunction::kAlltoallv,
                                              EdgeFunction::kAlltoallw};
[[nodiscard]] EdgeFunction edge_function_of(const Call &call) noexcept;

// How the blocks of one call are paired.
struct EdgePairing {
  bool is_known = true;                      // else nobody can take part
  const std::vector<Edge> *edges = nullptr;  // one for each source, in the order of the blocks; null: by ranks
};

// What the ranks of a communicator know of their edges, which is as much on all of them. One thread at a time.
class NeighborEdges {
 public:
  // What is true on a rank, as bits: which the ranks agree on.
  static constexpr int kNobodyTwice = 1;    // no rank is its neighbour twice
  static constexpr int kAsManySources = 2;  // as destinations
  [[nodiscard]] static int facts_of(const Neighborhood &neighborhood) noexcept;
  [[nodiscard]] bool has_facts() const noexcept { return facts_.has_value(); }
  // What is true on all ranks.
  void set_facts(int facts) noexcept { facts_ = facts; }

  // With facts: the host MPI is still to be asked. Not for MPI_Neighbor_alltoallw where the ranks have unlike numbers
  // of sources and destinations: there MPICH 4.0's never ends, or ends too soon.
  [[nodiscard]] bool is_to_be_asked(EdgeFunction function, bool is_blocking) const noexcept;
  void set(EdgeFunction function, bool is_blocking, std::vector<Edge> edges);
  [[nodiscard]] EdgePairing pairing_of(const Call &call) const noexcept;

 private:
  using Answers = std::array<std::optional<std::vector<Edge>>, kEdgeFunctions.size()>;

  [[nodiscard]] bool has_nobody_twice() const noexcept { return (facts_.value_or(0) & kNobodyTwice) != 0; }
  [[nodiscard]] const std::optional<std::vector<Edge>> &answer(EdgeFunction function, bool is_blocking) const noexcept {
    return (is_blocking ? blocking_ : with_request_)[static_cast<std::size_t>(function)];
  }

  std::optional<int> facts_;
  Answers blocking_;
  Answers with_request_;  // non-blocking and persistent
};

// One question to the host MPI: each rank sends each neighbour its own rank and the number of the block. Stays where it
// is, and lives with `neighborhood`, until it is answered.
class EdgeQuestion {
 public:
  EdgeQuestion(const Neighborhood &neighborhood, const Member &member);

  // Collective over `comm`; returns the host MPI's code. By the form that a staged blocking call takes: blocks, in
  // turns.
  int ask(MPI_Comm comm, EdgeFunction function);
  // By the non-blocking form: answered when *request is complete.
  int start(MPI_Comm comm, EdgeFunction function, MPI_Request *request);
  // What came, once it is answered. Errors: it makes no sense.
  [[nodiscard]] Status answer(std::vector<Edge> *edges) const;

 private:
  struct Numbering {
    int rank;
    int block;
  };
  static constexpr int kNumbers = 2;

  int block(MPI_Comm comm, EdgeFunction function);

  const Neighborhood &neighborhood_;
  std::vector<Numbering> sent_;
  std::vector<Numbering> received_;
  // For as many blocks as there are in the longer of the two.
  std::vector<int> counts_;
  std::vector<int> displacements_;  // in elements
  std::vector<MPI_Aint> displacements_bytes_;
  std::vector<MPI_Datatype> types_;
};

}  // namespace sluice::ops::coll
