// SPDX-License-Identifier: BSD-3-Clause
#include "ops/coll/neighbor_edges.hpp"

#include <algorithm>

#include "ops/request/collective.hpp"
#include "wire/host.hpp"

namespace sluice::ops::coll {

EdgeFunction edge_function_of(const Call &call) noexcept {
  if (call.send.has_types) return EdgeFunction::kAlltoallw;
  return call.send.counts.is_named() ? EdgeFunction::kAlltoallv : EdgeFunction::kAlltoall;
}

int NeighborEdges::facts_of(const Neighborhood &neighborhood) noexcept {
  int facts = neighborhood.has_one_twice ? 0 : kNobodyTwice;
  if (neighborhood.sources.size() == neighborhood.destinations.size()) facts |= kAsManySources;
  return facts;
}

bool NeighborEdges::is_to_be_asked(EdgeFunction function, bool is_blocking) const noexcept {
  if (has_nobody_twice() || answer(function, is_blocking)) return false;
  return function != EdgeFunction::kAlltoallw || (facts_.value_or(0) & kAsManySources) != 0;
}

void NeighborEdges::set(EdgeFunction function, bool is_blocking, std::vector<Edge> edges) {
  (is_blocking ? blocking_ : with_request_)[static_cast<std::size_t>(function)] = std::move(edges);
}

EdgePairing NeighborEdges::pairing_of(const Call &call) const noexcept {
  // Of an allgather all blocks of a sender are one.
  if (call.pattern != Pattern::kNeighborAlltoall || has_nobody_twice()) return {};
  const auto &found = answer(edge_function_of(call), call.form == Form::kBlocking);
  return {found.has_value(), found ? &*found : nullptr};
}

EdgeQuestion::EdgeQuestion(const Neighborhood &neighborhood, const Member &member)
    : neighborhood_(neighborhood),
      sent_(neighborhood.destinations.size()),
      received_(neighborhood.sources.size(), Numbering{MPI_PROC_NULL, 0}) {
  // An address, even for none, which host MPIs ask for.
  sent_.reserve(sent_.size() + 1);
  received_.reserve(received_.size() + 1);
  for (std::size_t i = 0; i < sent_.size(); ++i) sent_[i] = {member.rank, static_cast<int>(i)};
  static_assert(sizeof(Numbering) == kNumbers * sizeof(int));
  const std::size_t n_blocks = std::max({sent_.size(), received_.size(), std::size_t{1}});
  counts_.assign(n_blocks, kNumbers);
  types_.assign(n_blocks, MPI_INT);
  for (std::size_t i = 0; i < n_blocks; ++i) {
    displacements_.push_back(static_cast<int>(i) * kNumbers);
    displacements_bytes_.push_back(static_cast<MPI_Aint>(i * sizeof(Numbering)));
  }
}

int EdgeQuestion::block(MPI_Comm comm, EdgeFunction function) {
  const wire::Host &host = wire::host();
  switch (function) {
    case EdgeFunction::kAlltoall:
      break;
    case EdgeFunction::kAlltoallv:
      return host.MPI_Neighbor_alltoallv(sent_.data(), counts_.data(), displacements_.data(), MPI_INT, received_.data(),
                                         counts_.data(), displacements_.data(), MPI_INT, comm);
    case EdgeFunction::kAlltoallw:
      return host.MPI_Neighbor_alltoallw(sent_.data(), counts_.data(), displacements_bytes_.data(), types_.data(),
                                         received_.data(), counts_.data(), displacements_bytes_.data(), types_.data(),
                                         comm);
  }
  return host.MPI_Neighbor_alltoall(sent_.data(), kNumbers, MPI_INT, received_.data(), kNumbers, MPI_INT, comm);
}

int EdgeQuestion::start(MPI_Comm comm, EdgeFunction function, MPI_Request *request) {
  const wire::Host &host = wire::host();
  switch (function) {
    case EdgeFunction::kAlltoall:
      break;
    case EdgeFunction::kAlltoallv:
      return host.MPI_Ineighbor_alltoallv(sent_.data(), counts_.data(), displacements_.data(), MPI_INT,
                                          received_.data(), counts_.data(), displacements_.data(), MPI_INT, comm,
                                          request);
    case EdgeFunction::kAlltoallw:
      return host.MPI_Ineighbor_alltoallw(sent_.data(), counts_.data(), displacements_bytes_.data(), types_.data(),
                                          received_.data(), counts_.data(), displacements_bytes_.data(), types_.data(),
                                          comm, request);
  }
  return host.MPI_Ineighbor_alltoall(sent_.data(), kNumbers, MPI_INT, received_.data(), kNumbers, MPI_INT, comm,
                                     request);
}

// As neighbor_alltoall() has the host MPI do what is staged.
int EdgeQuestion::ask(MPI_Comm comm, EdgeFunction function) {
  const auto blocking = [&] { return block(comm, function); };
  if (neighborhood_.is_grid_with_one_twice) return after_barrier(comm, blocking);
  return in_turns(comm, blocking, [&](MPI_Request *request) { return start(comm, function, request); });
}

Status EdgeQuestion::answer(std::vector<Edge> *edges) const {
  edges->clear();
  for (std::size_t i = 0; i < received_.size(); ++i) {
    const int source = neighborhood_.source_ranks[i];
    const auto [rank, block] = received_[i];
    if (source != MPI_PROC_NULL && (rank != source || block < 0)) {
      return Status::error(ErrorKind::kBackend,
                           "the host MPI did not bring two numbers from a neighbour of this topology; set "
                           "SLUICE_COLL_IPC=off");
    }
    edges->push_back(source == MPI_PROC_NULL ? Edge() : Edge{rank, block});
  }
  return {};
}

}  // namespace sluice::ops::coll
