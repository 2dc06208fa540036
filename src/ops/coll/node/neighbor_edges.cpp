// SPDX-License-Identifier: BSD-3-Clause
#include "ops/coll/node/neighbor_edges.hpp"

#include <algorithm>

#include "ops/coll/node/in_turns.hpp"
#include "wire/host.hpp"

namespace sluice::ops::coll {
namespace {

bool is_any_twice(std::vector<int> ranks) {
  std::erase(ranks, MPI_PROC_NULL);
  std::sort(ranks.begin(), ranks.end());
  return std::adjacent_find(ranks.begin(), ranks.end()) != ranks.end();
}

}  // namespace

EdgeFunction edge_function_of(const Call &call) noexcept {
  if (call.send.has_types) return EdgeFunction::kAlltoallw;
  return call.send.counts.is_named() ? EdgeFunction::kAlltoallv : EdgeFunction::kAlltoall;
}

int NeighborEdges::facts_of(const Neighborhood &neighborhood) {
  const bool is_one_twice = is_any_twice(neighborhood.sources) || is_any_twice(neighborhood.destinations);
  int facts = is_one_twice ? 0 : kNobodyTwice;
  if (neighborhood.sources.size() == neighborhood.destinations.size()) facts |= kAsManySources;
  return facts;
}

bool NeighborEdges::lacks(EdgeFunction function, bool is_blocking) const noexcept {
  if (!has_facts()) return true;
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

// One question to the host MPI. Stays where it is until it is answered.
class EdgeInquiry::Question {
 public:
  Question(const Neighborhood &neighborhood, const Member &member, EdgeFunction function);

  [[nodiscard]] EdgeFunction function() const noexcept { return function_; }
  // By the form that a staged blocking call takes: blocks, in turns.
  int ask(MPI_Comm comm);
  // By the non-blocking form.
  int start(MPI_Comm comm, MPI_Request *request);
  [[nodiscard]] Status answer(std::vector<Edge> *edges) const;

 private:
  struct Numbering {
    int rank;
    int block;
  };
  static constexpr int kNumbers = 2;

  int block(MPI_Comm comm);

  const Neighborhood &neighborhood_;
  const EdgeFunction function_;
  std::vector<Numbering> sent_;
  std::vector<Numbering> received_;
  // For as many blocks as there are in the longer of the two.
  std::vector<int> counts_;
  std::vector<int> displacements_;  // in elements
  std::vector<MPI_Aint> displacements_bytes_;
  std::vector<MPI_Datatype> types_;
};

EdgeInquiry::Question::Question(const Neighborhood &neighborhood, const Member &member, EdgeFunction function)
    : neighborhood_(neighborhood),
      function_(function),
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

int EdgeInquiry::Question::block(MPI_Comm comm) {
  const wire::Host &host = wire::host();
  switch (function_) {
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

int EdgeInquiry::Question::start(MPI_Comm comm, MPI_Request *request) {
  const wire::Host &host = wire::host();
  switch (function_) {
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
int EdgeInquiry::Question::ask(MPI_Comm comm) {
  const auto blocking = [&] { return block(comm); };
  if (neighborhood_.is_grid_with_one_twice) return after_barrier(comm, blocking);
  return in_turns(comm, blocking, [&](MPI_Request *request) { return start(comm, request); });
}

Status EdgeInquiry::Question::answer(std::vector<Edge> *edges) const {
  edges->clear();
  for (std::size_t i = 0; i < received_.size(); ++i) {
    const int source = neighborhood_.sources[i];
    const auto [rank, block] = received_[i];
    if (source != MPI_PROC_NULL && (rank != source || block < 0)) {
      return Status::error(
          ErrorKind::kBackend,
          "the host MPI did not bring two numbers from a neighbour of this topology; set SLUICE_COLL_IPC=off");
    }
    edges->push_back(source == MPI_PROC_NULL ? Edge() : Edge{rank, block});
  }
  return {};
}

EdgeInquiry::EdgeInquiry(const Neighborhood &neighborhood, const Member &member,
                         std::span<const EdgeFunction> functions, bool is_blocking, NeighborEdges *edges)
    : neighborhood_(neighborhood), member_(member), functions_(functions), is_blocking_(is_blocking), edges_(*edges) {}

EdgeInquiry::~EdgeInquiry() = default;

std::span<const EdgeFunction>::iterator EdgeInquiry::next() const noexcept {
  return std::find_if(functions_.begin(), functions_.end(),
                      [this](EdgeFunction function) { return edges_.lacks(function, is_blocking_); });
}

int EdgeInquiry::start(MPI_Comm comm, MPI_Request *request) {
  *request = MPI_REQUEST_NULL;
  if (!edges_.has_facts()) {
    own_facts_ = NeighborEdges::facts_of(neighborhood_);
    return wire::host().MPI_Iallreduce(&own_facts_, &facts_, 1, MPI_INT, MPI_BAND, comm, request);
  }
  question_ = std::make_unique<Question>(neighborhood_, member_, *next());
  return is_blocking_ ? question_->ask(comm) : question_->start(comm, request);
}

Status EdgeInquiry::take() {
  if (question_ == nullptr) {
    edges_.set_facts(facts_);
    return {};
  }
  std::vector<Edge> edges;
  Status status = question_->answer(&edges);
  if (status.is_ok()) edges_.set(question_->function(), is_blocking_, std::move(edges));
  question_.reset();
  return status;
}

}  // namespace sluice::ops::coll
