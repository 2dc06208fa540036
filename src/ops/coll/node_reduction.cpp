// SPDX-License-Identifier: BSD-3-Clause
#include "ops/coll/node_reduction.hpp"

#include <algorithm>
#include <cstring>

#include "device/identity.hpp"
#include "device/ipc_exports.hpp"
#include "device/reduction.hpp"
#include "ops/coll/kernel_choice.hpp"
#include "ops/coll/node_pipeline.hpp"
#include "plan/policy.hpp"
#include "wire/channel.hpp"

namespace sluice::ops::coll {
namespace {

using plan::Delivery;
using plan::JointReduction;
using transfer::Board;
using transfer::Published;
using transfer::Share;
using transfer::StridedBlock;
using Content = CollectiveSide::Content;

static_assert(SLUICE_REDUCE_MAX_SOURCES == SLUICE_REDUCE_MAX_DSTS);
constexpr std::size_t kMostOperands = SLUICE_REDUCE_MAX_SOURCES;
// The most copies that one block is moved by.
constexpr std::uint64_t kMostMoves = 64;
// What ranks that wait for each other say on the board, one after the other.
constexpr std::uint32_t kConsents = 1;  // this rank reaches all memory
constexpr std::uint32_t kHasRead = 2;   // and has computed its part

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

// A pair as one number, never 0.
std::uint32_t packed(const ReductionPair &pair) noexcept {
  return (static_cast<std::uint32_t>(pair.element) << 8U | static_cast<std::uint32_t>(pair.operation)) + 1;
}
ReductionPair unpacked(std::uint32_t pair) noexcept {
  return {static_cast<sluice_element_t>((pair - 1) >> 8U), static_cast<sluice_operation_t>((pair - 1) & 0xFFU)};
}

// Exports the allocation with the `size_bytes` from `first` on. False when others cannot be told of it.
bool export_bytes(const device::Place &place, const std::byte *first, std::uint64_t size_bytes,
                  device::Exported *exported) {
  return place.kind == MemoryKind::kDevice && plan::policy_of(place.backend, place.device).allows_ipc &&
         device::IpcExports::process().find(place, first, size_bytes, exported).is_ok() &&
         exported->offset_bytes <= exported->allocation_bytes &&
         size_bytes <= exported->allocation_bytes - exported->offset_bytes;
}

std::uint64_t address_of(const std::byte *base) noexcept {
  return reinterpret_cast<std::uintptr_t>(base);
}

// The first element of this rank's block of MPI_Reduce_scatter's result, and how many it has.
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

// Elements of one rank's input.
std::uint64_t count_of_input(const Call &call, const Member &member) noexcept {
  if (call.pattern != Pattern::kReduceScatter) {
    return static_cast<std::uint64_t>(call.send.is_in_place() ? call.recv.count : call.send.count);
  }
  Member last = member;
  last.rank = member.size - 1;
  return own_block(call, last).last;
}

// Whether others write into this rank's result, so that they have to be told where it is.
bool is_written_by_others(const Call &call, const Member &member) noexcept {
  switch (call.pattern) {
    case Pattern::kAllreduce:
    case Pattern::kScan:
      return true;
    case Pattern::kReduce:
      return call.root == member.rank;
    case Pattern::kExscan:
      return member.rank != 0;
    default:
      return false;
  }
}

const CollectiveSide &input_of(const Call &call, const Sides &sides) noexcept {
  return call.send.is_in_place() ? sides.recv : sides.send;
}

// A block of the input with bytes in it; it begins where the input does. MPI_Reduce_scatter in place has two, the own
// one and the rest, and the first may have none.
transfer::Region first_block(const CollectiveSide &input) {
  transfer::Region block = input.block(0);
  return block.layout != nullptr ? block : input.block(1);
}

// Of an input of this rank's, of a named type; pairs have gaps.
std::uint64_t element_bytes_of(const CollectiveSide &input) {
  return static_cast<std::uint64_t>(first_block(input).layout->extent_bytes);
}

// Whether a block can be moved to the front of its buffer piece by piece, none of which lies over where it goes.
bool can_move_to_front(const Share &block) noexcept {
  return block.first == 0 || block.count() / block.first < kMostMoves;
}

// Whether this rank writes over its own input; none of ours does so but where the bytes are computed from.
bool writes_over_input(const Call &call, const Share &own, const std::byte *input, std::uint64_t element_bytes) {
  if (call.send.is_in_place()) return true;
  return call.pattern == Pattern::kReduceScatter && own.count() != 0 &&
         call.recv.buffer == input + own.first * element_bytes;
}

}  // namespace

bool describe_reduction(const Call &call, const Member &member, const Sides &sides, Published *published,
                        StridedBlock *input) {
  const bool is_in_place = call.send.is_in_place();
  const CollectiveSide &in = input_of(call, sides);
  if (in.content() != Content::kDevice) return false;
  ReductionPair pair{};
  const MPI_Datatype type = is_in_place ? call.recv.type : call.send.type;
  if (choose_kernel({&sides.send, &sides.recv}, type, call.op, &pair).route != Route::kKernel) return false;
  if (!device::has_kernel(in.place(), pair.element, pair.operation)) return false;
  const std::uint64_t size_bytes = count_of_input(call, member) * element_bytes_of(in);
  device::Exported exported;
  const std::byte *first = first_block(in).origin;
  const Share own = call.pattern == Pattern::kReduceScatter ? own_block(call, member) : Share();
  if (is_in_place && !can_move_to_front(own)) return false;
  if (!export_bytes(in.place(), first, size_bytes, &exported)) return false;
  *input = {exported.offset_bytes, size_bytes, 0, 1};
  published->handle = exported.handle;
  published->base_address = address_of(first - exported.offset_bytes);
  published->allocation_bytes = exported.allocation_bytes;
  published->n_blocks = 1;
  published->largest_bytes = size_bytes;
  published->pair = packed(pair);
  published->device_identity = device::identity_of(in.place());
  published->is_in_place = writes_over_input(call, own, first, element_bytes_of(in));
  if (!is_written_by_others(call, member)) return true;
  if (sides.recv.content() != Content::kDevice) return false;
  const std::byte *result = sides.recv.block(0).origin;
  if (!export_bytes(sides.recv.place(), result, size_bytes, &exported)) return false;
  published->target = {exported.handle, address_of(result - exported.offset_bytes), exported.allocation_bytes,
                       exported.offset_bytes};
  return true;
}

plan::JointReductionPlan agree_on_reduction(const Call &call, const Member &member, const Board &board,
                                            std::uint64_t number) {
  std::vector<Published> all;
  std::vector<plan::ReductionOffer> offers;
  all.reserve(static_cast<std::size_t>(member.size));  // the names in the offers lie in there
  for (int rank = 0; rank < member.size; ++rank) {
    const Published &said = all.emplace_back(board.published(number, rank));
    offers.push_back({said.state == Published::State::kFailed, said.state == Published::State::kTakesPart,
                      said.is_in_place, said.backend_name(), said.pair, said.largest_bytes});
  }
  return choose_joint_reduction(
      offers, {delivery_of(call), call.root, wire::Channel::process().terms().reduce_threshold_bytes, kMostOperands});
}

NodeReduction::NodeReduction(const Call &call, const Member &member, const Sides &sides, NodeGroup *group,
                             const plan::JointReductionPlan &plan, std::uint64_t number)
    : call_(call),
      member_(member),
      place_(input_of(call, sides).place()),
      board_(group->board()),
      plan_(plan),
      number_(number),
      element_bytes_(element_bytes_of(input_of(call, sides))),
      reach_(*group, member.rank) {}

Status NodeReduction::reach(Operands *operands) {
  const auto n_ranks = static_cast<std::size_t>(member_.size);
  operands->inputs.resize(n_ranks);
  operands->results.resize(n_ranks);
  for (int rank = 0; rank < member_.size; ++rank) {
    const Published said = board_.published(number_, rank);
    const StridedBlock input = board_.block_for_me(number_, rank);
    if (!input.is_within(said.allocation_bytes) || input.n_runs != 1 || input.size_bytes() != count_ * element_bytes_) {
      return Status::error(ErrorKind::kInternal, "a rank of a reduction said where no data is");
    }
    std::byte *base = nullptr;
    Status status = reach_.open(rank, said.handle, said.base_address, said.allocation_bytes, place_, &base);
    if (!status.is_ok()) return status;
    operands->inputs[static_cast<std::size_t>(rank)] = base + input.offset_bytes;
    if (rank != member_.rank && is_elsewhere(said)) ++operands->n_elsewhere;
    const Published::Target &target = said.target;
    if (plan_.joint != JointReduction::kShares || !gets_result(static_cast<std::size_t>(rank))) continue;
    if (!StridedBlock{target.offset_bytes, input.run_bytes, 0, 1}.is_within(target.allocation_bytes)) {
      return Status::error(ErrorKind::kInternal, "a rank of a reduction said where no room for the result is");
    }
    status = reach_.open(rank, target.handle, target.base_address, target.allocation_bytes, place_, &base);
    if (!status.is_ok()) return status;
    operands->results[static_cast<std::size_t>(rank)] = base + target.offset_bytes;
  }
  return {};
}

bool NodeReduction::is_elsewhere(const Published &said) const noexcept {
  return device_identity_ == 0 || said.device_identity != device_identity_;
}

bool NodeReduction::gets_result(std::size_t rank) const noexcept {
  if (call_.pattern == Pattern::kReduce) return rank == static_cast<std::size_t>(call_.root);
  return call_.pattern != Pattern::kExscan || rank > 0;
}

std::size_t NodeReduction::n_inputs_of(std::size_t rank) const noexcept {
  if (call_.pattern == Pattern::kScan) return rank + 1;
  return call_.pattern == Pattern::kExscan ? rank : static_cast<std::size_t>(member_.size);
}

// `results` get, from element `result_element` on, the reduction of elements `elements` of the first `n_sources`
// inputs.
void NodeReduction::add(const Operands &operands, std::size_t n_sources, std::span<std::byte *const> results,
                        Share elements, std::uint64_t result_element) {
  std::vector<const void *> sources;
  std::vector<void *> dsts;
  sources.reserve(n_sources);
  dsts.reserve(results.size());
  for (std::size_t k = 0; k < n_sources; ++k) {
    sources.push_back(operands.inputs[k] + elements.first * element_bytes_);
  }
  for (std::byte *result : results) dsts.push_back(result + result_element * element_bytes_);
  bytes_ += n_sources * elements.count() * element_bytes_;
  transfer::add_reduction(sources, dsts, elements.count(), kMostOperands, &steps_);
}

void NodeReduction::add_shares(const Operands &operands) {
  const Share own = transfer::share_of(count_, element_bytes_, static_cast<std::uint64_t>(member_.size),
                                       static_cast<std::uint64_t>(member_.rank));
  const auto n_ranks = static_cast<std::size_t>(member_.size);
  if (delivery_of(call_) != Delivery::kOfThoseBelow) {
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

void NodeReduction::add_own(const Operands &operands) {
  const auto rank = static_cast<std::size_t>(member_.rank);
  if (!gets_result(rank)) return;
  const bool is_block = delivery_of(call_) == Delivery::kBlocks;
  const Share elements = is_block ? own_block(call_, member_) : Share{0, count_};
  auto *result = static_cast<std::byte *>(call_.recv.buffer);
  if (is_block && call_.send.is_in_place()) {
    // Its place is read by this rank alone, the front by others.
    result += elements.first * element_bytes_;
    block_ = result;
    block_bytes_ = elements.first == 0 ? 0 : elements.count() * element_bytes_;
  }
  add(operands, n_inputs_of(rank), {&result, 1}, elements, 0);
}

Step NodeReduction::begin() {
  const Published own = board_.published(number_, member_.rank);
  pair_ = own.pair;
  device_identity_ = own.device_identity;
  count_ = own.largest_bytes / element_bytes_;
  Operands operands;
  if (Status status = reach(&operands); !status.is_ok()) return refused(status);
  if (plan_.joint == JointReduction::kShares) {
    add_shares(operands);
  } else {
    add_own(operands);
  }
  if (steps_.size() == 1 && may_have_pipeline(count_ * element_bytes_)) {
    const ReductionInputs inputs{element_bytes_, count_, operands.n_elsewhere};
    pipeline_ = open_pipeline(call_, member_, place_, unpacked(pair_), inputs, steps_.front());
  }
  if (!plan_.needs_consent) return enqueue();
  board_.set_chunks(number_, kConsents);
  stage_ = Stage::kAwaitsConsent;
  return {};
}

Step NodeReduction::enqueue() {
  stage_ = Stage::kComputes;
  if (steps_.empty()) return finish();
  if (pipeline_ != nullptr) return go_on_in_pipeline();
  const ReductionPair pair = unpacked(pair_);
  std::vector<sluice_reduction_t> reductions;
  reductions.reserve(steps_.size());
  for (const transfer::ReductionStep &step : steps_) {
    reductions.push_back({pair.element, pair.operation, step.dsts.data(), step.sources.data(),
                          static_cast<std::uint32_t>(step.dsts.size()), static_cast<std::uint32_t>(step.sources.size()),
                          step.count});
  }
  if (Status status = queue_.acquire(place_); !status.is_ok()) return failed(status);
  bool is_refused = false;
  if (Status status = enqueue_reductions(&queue_, reductions, &is_refused); !status.is_ok()) {
    // Others may have written over their inputs by now.
    return is_refused && !plan_.needs_consent ? refused(status) : failed(status);
  }
  if (Status status = under_way_.begin(&queue_, {}); !status.is_ok()) return failed(status);
  return {};
}

Step NodeReduction::go_on_in_pipeline() {
  bool is_done = false;
  const Status status = pipeline_->advance(&is_done);
  if (status.is_ok()) return is_done ? finish() : Step();
  const bool is_unharmed = !pipeline_->has_written() && !plan_.needs_consent;
  return is_unharmed ? refused(status) : failed(status);
}

// Its part is computed. Of MPI_Reduce_scatter in place it is not where it belongs yet, and the others' may still read
// there.
Step NodeReduction::finish() {
  if (call_.pattern != Pattern::kReduceScatter || !call_.send.is_in_place()) return Moved();
  board_.set_chunks(number_, kHasRead);
  stage_ = Stage::kAwaitsOthers;
  return {};
}

Step NodeReduction::begin_move() {
  if (block_bytes_ == 0) return Moved();
  auto *const front = static_cast<std::byte *>(call_.recv.buffer);
  const auto distance = static_cast<std::uint64_t>(block_ - front);
  std::vector<sluice_copy_t> copies;
  stage_ = Stage::kMoves;
  if (queue_.is_empty()) {
    if (Status status = queue_.acquire(place_); !status.is_ok()) return failed(status);
  }
  // One after the other where they touch each other: copies of one list may run at the same time.
  for (std::uint64_t done = 0; done < block_bytes_; done += distance) {
    copies.assign(1, {front + done, block_ + done, std::min(distance, block_bytes_ - done)});
    if (done + distance >= block_bytes_) break;
    if (Status status = queue_.enqueue(copies); !status.is_ok()) return failed(status);
  }
  if (Status status = under_way_.begin(&queue_, copies); !status.is_ok()) return failed(status);
  return {};
}

bool NodeReduction::have_all_come_to(std::uint32_t step, bool *gives_up) const noexcept {
  for (int rank = 0; rank < member_.size; ++rank) {
    const std::uint32_t said = board_.chunks_of(number_, rank);
    *gives_up = said == Board::kNoMore;
    if (*gives_up || said < step) return false;
  }
  return true;
}

Step NodeReduction::advance() {
  // A rank that gives up has its reason, and all will hear of it.
  bool gives_up = false;
  if (stage_ == Stage::kAwaitsConsent) {
    if (have_all_come_to(kConsents, &gives_up)) return enqueue();
    return gives_up ? Step(refused(Status::error(ErrorKind::kBackend, "another rank gave up"))) : Step();
  }
  if (stage_ == Stage::kAwaitsOthers) {
    if (have_all_come_to(kHasRead, &gives_up)) return begin_move();
    return gives_up ? Step(failed(Status::error(ErrorKind::kBackend, "another rank gave up"))) : Step();
  }
  if (stage_ == Stage::kComputes && pipeline_ != nullptr) return go_on_in_pipeline();
  bool is_done = false;
  Status status = under_way_.poll(&is_done);
  if (!is_done) return {};
  if (!status.is_ok()) return failed(status);
  return stage_ == Stage::kMoves ? Step(Moved()) : finish();
}

}  // namespace sluice::ops::coll
