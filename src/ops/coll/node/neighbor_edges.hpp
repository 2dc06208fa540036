// SPDX-License-Identifier: BSD-3-Clause
// NeighborEdges: which of the blocks that a neighbour sends a block that is received is. A matter of ranks, unless two
// ranks are neighbours more than once: there the host MPIs do not agree on it, nor do the functions of one of them
// (docs/adr/0042), so the host MPI itself is asked, once for each communicator and function.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "base/status.hpp"
#include "ops/coll/call/call.hpp"
#include "ops/coll/call/member.hpp"

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
// Which of them `call` is. Pure.
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
  [[nodiscard]] static int facts_of(const Neighborhood &neighborhood);
  [[nodiscard]] bool has_facts() const noexcept { return facts_.has_value(); }
  // What is true on all ranks.
  void set_facts(int facts) noexcept { facts_ = facts; }

  // Facts are missing, or an answer of the host MPI's. That is not asked about MPI_Neighbor_alltoallw where the ranks
  // have unlike numbers of sources and destinations: there MPICH 4.0's never ends, or ends too soon. Hot.
  [[nodiscard]] bool lacks(EdgeFunction function, bool is_blocking) const noexcept;
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

// Finds out what NeighborEdges lack, in one exchange over the host MPI after the other: first the facts, then the
// answer for each of `functions`. To a question each rank sends each neighbour its own rank and the number of the
// block. All ranks come to the same exchanges. One thread at a time; while one is under way it stays where it is.
class EdgeInquiry {
 public:
  // About the blocking forms, or those with a request. What it is given outlives it.
  EdgeInquiry(const Neighborhood &neighborhood, const Member &member, std::span<const EdgeFunction> functions,
              bool is_blocking, NeighborEdges *edges);
  ~EdgeInquiry();
  EdgeInquiry(const EdgeInquiry &) = delete;
  EdgeInquiry &operator=(const EdgeInquiry &) = delete;
  EdgeInquiry(EdgeInquiry &&) = delete;
  EdgeInquiry &operator=(EdgeInquiry &&) = delete;

  [[nodiscard]] bool is_done() const noexcept { return next() == functions_.end(); }
  // Until it is done: begins an exchange, collective over `comm`. *request is that of the host MPI's that ends it;
  // MPI_REQUEST_NULL where it has ended, as blocking forms have, which block, in turns. Returns the host MPI's code.
  [[nodiscard]] int start(MPI_Comm comm, MPI_Request *request);
  // Takes what came. Errors: it makes no sense.
  [[nodiscard]] Status take();

 private:
  class Question;

  [[nodiscard]] std::span<const EdgeFunction>::iterator next() const noexcept;

  const Neighborhood &neighborhood_;
  const Member member_;
  const std::span<const EdgeFunction> functions_;
  const bool is_blocking_;
  NeighborEdges &edges_;
  int own_facts_ = 0;
  int facts_ = 0;
  std::unique_ptr<Question> question_;  // none: the facts are asked for
};

}  // namespace sluice::ops::coll
