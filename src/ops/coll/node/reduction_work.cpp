// SPDX-License-Identifier: BSD-3-Clause
#include "ops/coll/node/reduction_work.hpp"

#include <algorithm>
#include <iterator>
#include <span>
#include <utility>

namespace sluice::ops::coll {

using plan::Delivery;
using plan::JointReduction;
using transfer::Published;
using transfer::Share;
using transfer::StridedBlock;

static_assert(SLUICE_REDUCE_MAX_SOURCES == SLUICE_REDUCE_MAX_DSTS);

Delivery delivery_of(const Call &call) noexcept {
  switch (call.pattern) {
    case Pattern::kReduce:
      return Delivery::kAllToOne;
    case Pattern::kReduceScatter:
      return Delivery::kBlocks;
    case Pattern::kScan:
    case Pattern::kExscan:
      return Delivery::kOfThoseBelow;
    default:
      return Delivery::kAllOfIt;
  }
}

std::uint32_t packed(const ReductionPair &pair) noexcept {
  return (static_cast<std::uint32_t>(pair.element) << 8U | static_cast<std::uint32_t>(pair.operation)) + 1;
}
ReductionPair unpacked(std::uint32_t pair) noexcept {
  return {static_cast<sluice_element_t>((pair - 1) >> 8U), static_cast<sluice_operation_t>((pair - 1) & 0xFFU)};
}

Share own_block(const Call &call, const Member &member) noexcept {
  const Argument &recv = call.recv;
  if (!recv.counts.is_named()) {
    const auto count = static_cast<std::uint64_t>(recv.count);
    const auto rank = static_cast<std::uint64_t>(member.rank);
    return {rank * count, (rank + 1) * count};
  }
  Share block;
  for (std::size_t rank = 0; rank <= static_cast<std::size_t>(member.rank); ++rank) {
    block.first = block.last;
    block.last += static_cast<std::uint64_t>(recv.counts.at(rank));
  }
  return block;
}

namespace {

class Maker {
 public:
  Maker(const ReductionTerms &terms, NodeReach *reach, ReductionWork *work) noexcept
      : terms_(terms), reach_(*reach), work_(*work) {}

  [[nodiscard]] Status make();

 private:
  // Where all inputs begin, and where results go; by rank, null where there is none.
  struct Operands {
    std::vector<const std::byte *> inputs;
    std::vector<std::byte *> results;
  };
  [[nodiscard]] Status reach(Operands *operands);
  void add_shares(const Operands &operands);
  void add_own(const Operands &operands);
  void add(const Operands &operands, std::size_t n_sources, std::span<std::byte *const> results, Share elements,
           std::uint64_t result_element);
  [[nodiscard]] bool is_elsewhere(const Published &said) const noexcept {
    return device_identity_ == 0 || said.device_identity != device_identity_;
  }
  [[nodiscard]] bool gets_result(std::size_t rank) const noexcept;
  [[nodiscard]] std::size_t n_inputs_of(std::size_t rank) const noexcept;

  const ReductionTerms &terms_;
  NodeReach &reach_;
  ReductionWork &work_;
  std::uint64_t device_identity_ = 0;  // as this rank said; 0: not known
};

Status Maker::reach(Operands *operands) {
  const auto n_ranks = static_cast<std::size_t>(terms_.member.size);
  operands->inputs.resize(n_ranks);
  operands->results.resize(n_ranks);
  for (int rank = 0; rank < terms_.member.size; ++rank) {
    const Published &said = terms_.heard.of(rank);
    const StridedBlock input = rank == terms_.member.rank ? terms_.own_input : terms_.heard.block_for_me(rank);
    if (!input.is_within(said.allocation_bytes) || input.n_runs != 1 ||
        input.size_bytes() != work_.count * terms_.element_bytes) {
      return transfer::nonsense_of(rank, "its input does not lie in its memory");
    }
    std::byte *base = nullptr;
    Status status = reach_.open(rank, said.handle, said.base_address, said.allocation_bytes, terms_.place, &base);
    if (!status.is_ok()) return status;
    operands->inputs[static_cast<std::size_t>(rank)] = base + input.offset_bytes;
    if (rank != terms_.member.rank && is_elsewhere(said)) ++work_.n_elsewhere;
    const Published::Target &target = said.target;
    if (terms_.joint != JointReduction::kShares || !gets_result(static_cast<std::size_t>(rank))) continue;
    if (!StridedBlock{target.offset_bytes, input.run_bytes, 0, 1}.is_within(target.allocation_bytes)) {
      return transfer::nonsense_of(rank, "there is no room for its result where it says");
    }
    status = reach_.open(rank, target.handle, target.base_address, target.allocation_bytes, terms_.place, &base);
    if (!status.is_ok()) return status;
    operands->results[static_cast<std::size_t>(rank)] = base + target.offset_bytes;
  }
  return {};
}

bool Maker::gets_result(std::size_t rank) const noexcept {
  if (terms_.call.pattern == Pattern::kReduce) return rank == static_cast<std::size_t>(terms_.call.root);
  return terms_.call.pattern != Pattern::kExscan || rank > 0;
}

std::size_t Maker::n_inputs_of(std::size_t rank) const noexcept {
  if (terms_.call.pattern == Pattern::kScan) return rank + 1;
  return terms_.call.pattern == Pattern::kExscan ? rank : static_cast<std::size_t>(terms_.member.size);
}

// `results` get, from element `result_element` on, the reduction of elements `elements` of the first `n_sources`
// inputs.
void Maker::add(const Operands &operands, std::size_t n_sources, std::span<std::byte *const> results, Share elements,
                std::uint64_t result_element) {
  std::vector<const void *> sources;
  std::vector<void *> dsts;
  sources.reserve(n_sources);
  dsts.reserve(results.size());
  for (std::size_t k = 0; k < n_sources; ++k) {
    sources.push_back(operands.inputs[k] + elements.first * terms_.element_bytes);
  }
  for (std::byte *result : results) dsts.push_back(result + result_element * terms_.element_bytes);
  work_.bytes += n_sources * elements.count() * terms_.element_bytes;
  transfer::add_reduction(sources, dsts, elements.count(), kMostOperands, &work_.steps);
}

void Maker::add_shares(const Operands &operands) {
  const Delivery delivery = delivery_of(terms_.call);
  const auto share = plan::share_of_rank(delivery, terms_.call.root, terms_.member.size, terms_.member.rank);
  if (!share) return;
  const Share own = transfer::share_of(work_.count, terms_.element_bytes, static_cast<std::uint64_t>(share->n_shares),
                                       static_cast<std::uint64_t>(share->index));
  const auto n_ranks = static_cast<std::size_t>(terms_.member.size);
  if (delivery != Delivery::kOfThoseBelow) {
    std::vector<std::byte *> results;
    std::copy_if(operands.results.begin(), operands.results.end(), std::back_inserter(results),
                 [](const std::byte *result) { return result != nullptr; });
    return add(operands, n_ranks, results, own, own.first);
  }
  // From the highest on: what is written over, nobody below reads.
  for (std::size_t rank = n_ranks; rank-- > 0;) {
    if (gets_result(rank)) add(operands, n_inputs_of(rank), {&operands.results[rank], 1}, own, own.first);
  }
}

void Maker::add_own(const Operands &operands) {
  const auto rank = static_cast<std::size_t>(terms_.member.rank);
  if (!gets_result(rank)) return;
  const bool is_block = delivery_of(terms_.call) == Delivery::kBlocks;
  const Share elements = is_block ? own_block(terms_.call, terms_.member) : Share{0, work_.count};
  auto *result = static_cast<std::byte *>(terms_.call.recv.buffer);
  if (is_block && terms_.call.send.is_in_place()) {
    // Its place is read by this rank alone, the front by others.
    result += elements.first * terms_.element_bytes;
    work_.block = result;
    work_.block_bytes = elements.first == 0 ? 0 : elements.count() * terms_.element_bytes;
  }
  add(operands, n_inputs_of(rank), {&result, 1}, elements, 0);
}

Status Maker::make() {
  const Published &own = terms_.heard.of(terms_.member.rank);
  work_.pair = unpacked(own.pair);
  device_identity_ = own.device_identity;
  work_.element_bytes = terms_.element_bytes;
  work_.count = own.largest_bytes / work_.element_bytes;
  Operands operands;
  if (Status status = reach(&operands); !status.is_ok()) return status;
  if (terms_.joint == JointReduction::kShares) {
    add_shares(operands);
  } else {
    add_own(operands);
  }
  work_.reductions.reserve(work_.steps.size());
  for (const transfer::ReductionStep &step : work_.steps) {
    work_.reductions.push_back({work_.pair.element, work_.pair.operation, step.dsts.data(), step.sources.data(),
                                static_cast<std::uint32_t>(step.dsts.size()),
                                static_cast<std::uint32_t>(step.sources.size()), step.count, 0, 0});
  }
  return {};
}

}  // namespace

Status make_reduction_work(const ReductionTerms &terms, NodeReach *reach, ReductionWork *work) {
  return Maker(terms, reach, work).make();
}

ReductionMemo::Key ReductionMemo::key_of(const Call &call, const device::Place &place) noexcept {
  return {call.pattern, call.root, call.send.buffer, call.recv.buffer, place.backend, place.device};
}

PlannedReductionPtr ReductionMemo::find(const Call &call, const device::Place &place, const transfer::Board &board,
                                        std::uint64_t number, NodeReach *reach) const {
  if (planned_ == nullptr || call.recv.counts.is_named() || key_of(call, place) != key_) return nullptr;
  for (std::size_t rank = 0; rank < contents_.size(); ++rank) {
    if (board.content_of(number, static_cast<int>(rank)) != contents_[rank]) return nullptr;
  }
  return reach->hold(imported_) ? planned_ : nullptr;
}

void ReductionMemo::keep(const Call &call, const device::Place &place, const transfer::Board &board,
                         std::uint64_t number, const NodeReach &reach, PlannedReductionPtr planned) {
  planned_ = nullptr;
  if (call.recv.counts.is_named()) return;  // these are not published, and others may follow in the same memory
  contents_.clear();
  for (int rank = 0; rank < board.n_ranks(); ++rank) contents_.push_back(board.content_of(number, rank));
  imported_.assign(reach.imported().begin(), reach.imported().end());
  key_ = key_of(call, place);
  planned_ = std::move(planned);
}

}  // namespace sluice::ops::coll
