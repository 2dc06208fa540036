// SPDX-License-Identifier: BSD-3-Clause
#include "ops/coll/node/node_reduction.hpp"

#include <algorithm>
#include <cstring>

#include "device/identity.hpp"
#include "device/ipc_exports.hpp"
#include "device/reduction.hpp"
#include "ops/coll/node/node_pipeline.hpp"
#include "ops/coll/reduction/kernel_choice.hpp"
#include "plan/policy.hpp"
#include "wire/channel.hpp"

namespace sluice::ops::coll {
namespace {

using transfer::Published;
using transfer::Share;
using transfer::StridedBlock;
using Content = CollectiveSide::Content;

// The most copies that one block is moved by.
constexpr std::uint64_t kMostMoves = 64;
// What ranks that wait for each other say on the board, one after the other.
constexpr std::uint32_t kConsents = 1;  // this rank reaches all memory
constexpr std::uint32_t kHasRead = 2;   // and has computed its part

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

// Elements of one rank's input.
std::uint64_t count_of_input(const Call &call, const Member &member) noexcept {
  if (call.pattern != Pattern::kReduceScatter) {
    return static_cast<std::uint64_t>(call.input().count);
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

bool has_gaps(const CollectiveSide &input) {
  const transfer::Layout &element = *first_block(input).layout;
  return element.size_bytes != static_cast<std::uint64_t>(element.extent_bytes);
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

namespace {

// From what all have said.
plan::JointReductionPlan agree_on_reduction(const Call &call, const transfer::Heard &heard) {
  std::vector<plan::ReductionOffer> offers;
  offers.reserve(heard.all().size());
  for (const Published &said : heard.all()) {
    offers.push_back({said.state == Published::State::kFailed, said.state == Published::State::kTakesPart,
                      said.is_in_place, said.backend_name(), said.pair, said.largest_bytes});
  }
  return choose_joint_reduction(
      offers, {delivery_of(call), call.root, wire::Channel::process().terms().reduce_threshold_bytes, kMostOperands});
}

}  // namespace

NodeReduction::NodeReduction(const Call &call, const Member &member, const Sides &sides, const NodeOffer &offer,
                             NodeGroup *group, std::uint64_t number)
    : call_(call),
      member_(member),
      input_(input_of(call, sides)),
      offer_(offer),
      group_(*group),
      board_(group->board()),
      number_(number),
      reach_(*group, member.rank),
      planned_(group->last_reduction().find(call, input_.place(), board_, number, &reach_)) {}

Status NodeReduction::plan(transfer::Heard *heard, plan::JointReductionPlan *plan) {
  if (planned_ != nullptr) {
    plan_ = planned_->plan;
  } else {
    if (Status status = heard->take(board_, number_, offer_.published); !status.is_ok()) return status;
    plan_ = agree_on_reduction(call_, *heard);
  }
  *plan = plan_;
  return {};
}

// What is kept here is what was done for the last call: where the ranks say the same again, nothing is worked out anew.
Status NodeReduction::find_work(const transfer::Heard &heard) {
  if (planned_ != nullptr) return {};
  const auto made = std::make_shared<PlannedReduction>();
  made->plan = plan_;
  const ReductionTerms terms{
      call_, member_, input_.place(), element_bytes_of(input_), heard, offer_.described.front(), plan_.joint};
  if (Status status = make_reduction_work(terms, &reach_, &made->work); !status.is_ok()) return status;
  planned_ = made;
  group_.last_reduction().keep(call_, input_.place(), board_, number_, reach_, made);
  return {};
}

MaybePartEnd NodeReduction::begin(const transfer::Heard &heard) {
  if (Status status = find_work(heard); !status.is_ok()) return not_reached(status);
  const ReductionWork &work = planned_->work;
  if (work.steps.size() == 1 && may_have_pipeline(work.count * work.element_bytes)) {
    const ReductionInputs inputs{work.element_bytes, work.count, work.n_elsewhere, has_gaps(input_)};
    pipeline_ = open_pipeline(call_, member_, input_.place(), work.pair, inputs, work.steps.front());
  }
  if (!plan_.needs_consent) return enqueue();
  board_.set_chunks(number_, kConsents);
  stage_ = Stage::kAwaitsConsent;
  return {};
}

MaybePartEnd NodeReduction::enqueue() {
  stage_ = Stage::kComputes;
  const ReductionWork &work = planned_->work;
  if (work.steps.empty()) return finish();
  if (pipeline_ != nullptr) return go_on_in_pipeline();
  if (Status status = queue_.acquire(input_.place()); !status.is_ok()) return failed(status);
  bool is_refused = false;
  if (Status status = enqueue_reductions(&queue_, work.reductions, &is_refused); !status.is_ok()) {
    // Others may have written over their inputs by now.
    return is_refused && !plan_.needs_consent ? refused(status) : failed(status);
  }
  if (Status status = under_way_.begin(&queue_, {}); !status.is_ok()) return failed(status);
  return {};
}

MaybePartEnd NodeReduction::go_on_in_pipeline() {
  bool is_done = false;
  const Status status = pipeline_->advance(&is_done);
  if (status.is_ok()) return is_done ? finish() : MaybePartEnd();
  const bool is_unharmed = !pipeline_->has_written() && !plan_.needs_consent;
  return is_unharmed ? refused(status) : failed(status);
}

// Its part is computed. Of MPI_Reduce_scatter in place it is not where it belongs yet, and the others' may still read
// there.
MaybePartEnd NodeReduction::finish() {
  if (call_.pattern != Pattern::kReduceScatter || !call_.send.is_in_place()) return PartEnd();
  board_.set_chunks(number_, kHasRead);
  stage_ = Stage::kAwaitsOthers;
  return {};
}

MaybePartEnd NodeReduction::begin_move() {
  const std::uint64_t block_bytes = planned_->work.block_bytes;
  const std::byte *block = planned_->work.block;
  if (block_bytes == 0) return PartEnd();
  auto *const front = static_cast<std::byte *>(call_.recv.buffer);
  const auto distance = static_cast<std::uint64_t>(block - front);
  std::vector<sluice_copy_t> copies;
  stage_ = Stage::kMoves;
  if (queue_.is_empty()) {
    if (Status status = queue_.acquire(input_.place()); !status.is_ok()) return failed(status);
  }
  // One after the other where they touch each other: copies of one list may run at the same time.
  for (std::uint64_t done = 0; done < block_bytes; done += distance) {
    copies.assign(1, {front + done, block + done, std::min(distance, block_bytes - done)});
    if (done + distance >= block_bytes) break;
    if (Status status = queue_.enqueue(copies); !status.is_ok()) return failed(status);
  }
  if (Status status = under_way_.begin(&queue_, copies); !status.is_ok()) return failed(status);
  return {};
}

bool NodeReduction::have_all_come_to(std::uint32_t step, MaybePartEnd *end) const {
  for (int rank = 0; rank < member_.size; ++rank) {
    const auto ended = board_.ending_of(number_, rank);  // before what it said until then is read
    const std::uint32_t said = board_.chunks_of(number_, rank);
    // It has its reason, and all will hear of it; or it has not read what this one has.
    const bool gives_up = said > kHasRead || (said < step && ended);
    if (gives_up) *end = gave_up(rank, ended);
    if (gives_up || said < step) return false;
  }
  return true;
}

MaybePartEnd NodeReduction::advance() {
  MaybePartEnd end;
  if (stage_ == Stage::kAwaitsConsent) return have_all_come_to(kConsents, &end) ? enqueue() : end;
  if (stage_ == Stage::kAwaitsOthers) {
    if (have_all_come_to(kHasRead, &end)) return begin_move();
    if (end) end->ending = transfer::Ending::kFailed;  // inputs are written over
    return end;
  }
  if (stage_ == Stage::kComputes && pipeline_ != nullptr) return go_on_in_pipeline();
  bool is_done = false;
  Status status = under_way_.poll(&is_done);
  if (!is_done) return {};
  if (!status.is_ok()) return failed(status);
  return stage_ == Stage::kMoves ? MaybePartEnd(PartEnd()) : finish();
}

}  // namespace sluice::ops::coll
