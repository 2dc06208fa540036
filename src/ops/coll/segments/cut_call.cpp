// SPDX-License-Identifier: BSD-3-Clause
#include "ops/coll/segments/cut_call.hpp"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "base/log.hpp"
#include "ops/coll/segments/segmented_blocks.hpp"
#include "plan/policy.hpp"
#include "wire/channel.hpp"
#include "wire/host.hpp"
#include "wire/host_failure.hpp"

namespace sluice::ops::coll {

using plan::SegmentAbility;

SegmentAbility CutCall::open(const Sides &sides, plan::SegmentQuery *query) {
  if (sides.overlap) return SegmentAbility::kNone;
  block_bytes_ = query->block_bytes;
  unit_bytes_ = query->unit_bytes;
  is_unequal_ = query->lengths != plan::SegmentLengths::kEqual;
  SegmentedBlocks shapes;
  if (!shapes.find(call_, member_, sides, query)) return SegmentAbility::kNone;
  const std::array pairs{std::pair{&send_, &shapes.send}, std::pair{&recv_, &shapes.recv}};
  for (const auto &[blocks, shape] : pairs) {
    const device::Place &place = shape->place;
    const StagingMemory memory =
        place.backend == nullptr ? StagingMemory::kMalloc : plan::policy_of(place.backend, place.device).staging_memory;
    if (Status status = blocks->open(std::move(*shape), memory); !status.is_ok()) {
      log::debug("ops", status.message());  // whole, it may succeed, or fail with an error of its own
      return SegmentAbility::kNone;
    }
  }
  return ability();
}

void CutCall::begin(const plan::SegmentQuery &query, const plan::SegmentPlan &plan) noexcept {
  plan_ = plan;
  if (!is_unequal_) return;
  for (transfer::CutBlocks *side : {&send_, &recv_}) {
    const std::vector<transfer::CutBlock> &blocks = side->shape().blocks;
    for (std::size_t i = 0; i < blocks.size(); ++i) {
      side->set_part(i, plan::unequal_part_bytes(blocks[i].size_bytes, plan.n_segments, query.segment_bytes));
    }
  }
}

// Copies that are work for the cores that send too gain nothing by overlapping.
SegmentAbility CutCall::ability() const {
  const bool is_wanted_anyway = !wire::Channel::process().terms().may_stay_whole;
  for (const transfer::CutBlocks *side : {&send_, &recv_}) {
    const device::Place &place = side->shape().place;
    if (place.backend == nullptr) continue;
    const auto traits_of = place.backend->table().device_traits;
    const std::uint32_t traits = traits_of != nullptr ? traits_of(place.device) : 0;
    if (is_wanted_anyway || (traits & SLUICE_DEVICE_COPIES_BY_CPU) == 0) return SegmentAbility::kGains;
  }
  return SegmentAbility::kCan;
}

std::uint64_t CutCall::part_bytes_in(std::uint64_t segment) const noexcept {
  return std::min(plan_.part_bytes, block_bytes_ - segment * plan_.part_bytes);
}

bool CutCall::advance() {
  begin_segments();
  // The oldest first, so that the host MPI gets them in their order.
  for (std::uint64_t segment = n_done_; segment < n_begun_; ++segment) step(&slots_[segment % slots_.size()]);
  while (n_done_ < n_begun_ && slots_[n_done_ % slots_.size()].stage == Stage::kFree) ++n_done_;
  return n_done_ == plan_.n_segments;
}

void CutCall::begin_segments() {
  while (n_begun_ < plan_.n_segments && n_begun_ - n_done_ < slots_.size()) {
    Slot &slot = slots_[n_begun_ % slots_.size()];
    slot.stage = Stage::kDown;
    slot.segment = n_begun_++;
    if (!failure_.is_ok()) continue;
    slot.span.begin();
    if (Status status = send_.begin_down(index_of(slot), slot.segment); !status.is_ok()) {
      fail(std::move(status));
    }
  }
}

void CutCall::step(Slot *slot) {
  if (slot->stage == Stage::kDown && has_copied(&send_, slot, trace::Lane::kD2h)) slot->stage = Stage::kReady;
  if (slot->stage == Stage::kReady && slot->segment == n_sent_) send(slot);
  if (slot->stage == Stage::kWire && has_come(slot)) {
    slot->stage = Stage::kUp;
    slot->span.begin();
    if (failure_.is_ok()) {
      Status status = recv_.begin_up(index_of(*slot), slot->segment);
      if (!status.is_ok()) fail(std::move(status));
    }
  }
  if (slot->stage == Stage::kUp && has_copied(&recv_, slot, trace::Lane::kH2d)) slot->stage = Stage::kFree;
}

bool CutCall::has_copied(transfer::CutBlocks *side, Slot *slot, trace::Lane lane) {
  bool is_done = false;
  if (Status status = side->poll(index_of(*slot), &is_done); !status.is_ok()) fail(std::move(status));
  if (is_done && !side->shape().blocks.empty()) end_span(slot, lane);
  return is_done;
}

void CutCall::send(Slot *slot) {
  slot->span.begin();
  ++n_sent_;
  slot->stage = Stage::kWire;
  const int code = is_unequal_ ? start_unequal(slot) : start_in_host(slot);
  if (code == MPI_SUCCESS) return;
  slot->request = MPI_REQUEST_NULL;
  fail(wire::host_failure(code, "begin a segment of a collective operation"));
}

int CutCall::start_in_host(Slot *slot) {
  const wire::Host &host = wire::host();
  const bool is_root = call_.root == member_.rank;
  const auto count = static_cast<int>(part_bytes_in(slot->segment));
  void *const received = recv_.data(index_of(*slot), slot->segment);
  void *const sent = send_.data(index_of(*slot), slot->segment);
  switch (call_.pattern) {
    case Pattern::kBroadcast:
      return host.MPI_Ibcast(is_root ? sent : received, count, MPI_BYTE, call_.root, call_.comm, &slot->request);
    case Pattern::kGather:
      return host.MPI_Igather(call_.send.is_in_place() && is_root ? MPI_IN_PLACE : sent, count, MPI_BYTE, received,
                              count, MPI_BYTE, call_.root, call_.comm, &slot->request);
    case Pattern::kScatter:
      return host.MPI_Iscatter(sent, count, MPI_BYTE, call_.recv.is_in_place() && is_root ? MPI_IN_PLACE : received,
                               count, MPI_BYTE, call_.root, call_.comm, &slot->request);
    case Pattern::kAllgather:
      return host.MPI_Iallgather(sent, count, MPI_BYTE, received, count, MPI_BYTE, call_.comm, &slot->request);
    case Pattern::kAlltoall:
      return host.MPI_Ialltoall(sent, count, MPI_BYTE, received, count, MPI_BYTE, call_.comm, &slot->request);
    default:  // kNone, and reductions
      break;
  }
  return start_reduction(slot);
}

int CutCall::start_reduction(Slot *slot) {
  const wire::Host &host = wire::host();
  const bool is_root = call_.root == member_.rank;
  const auto elements = static_cast<int>(part_bytes_in(slot->segment) / unit_bytes_);
  void *const received = recv_.data(index_of(*slot), slot->segment);
  void *const sent = send_.data(index_of(*slot), slot->segment);
  switch (call_.pattern) {
    case Pattern::kAllreduce:
      return host.MPI_Iallreduce(sent == received ? MPI_IN_PLACE : sent, received, elements, call_.recv.type, call_.op,
                                 call_.comm, &slot->request);
    case Pattern::kReduce:
      return host.MPI_Ireduce(is_root && sent == received ? MPI_IN_PLACE : sent, received, elements, call_.recv.type,
                              call_.op, call_.root, call_.comm, &slot->request);
    case Pattern::kReduceScatter:
      return host.MPI_Ireduce_scatter_block(sent, received, elements, call_.recv.type, call_.op, call_.comm,
                                            &slot->request);
    case Pattern::kScan:
      return host.MPI_Iscan(sent == received ? MPI_IN_PLACE : sent, received, elements, call_.recv.type, call_.op,
                            call_.comm, &slot->request);
    case Pattern::kExscan:
      return host.MPI_Iexscan(sent == received ? MPI_IN_PLACE : sent, received, elements, call_.recv.type, call_.op,
                              call_.comm, &slot->request);
    default:  // no reduction
      break;
  }
  return MPI_ERR_INTERN;
}

// As bytes, those of MPI_Alltoallw too: what travels between two ranks is one part of their block, whatever the types.
int CutCall::start_unequal(Slot *slot) {
  const wire::Host &host = wire::host();
  const bool is_root = call_.root == member_.rank;
  const std::size_t index = index_of(*slot);
  for (transfer::CutBlocks *side : {&send_, &recv_}) {
    if (!side->shape().blocks.empty()) side->lay_out(index, slot->segment);
  }
  void *const received = recv_.data(index, slot->segment);
  void *const sent = send_.data(index, slot->segment);
  const int *const sizes = recv_.sizes(index);
  const int *const sent_sizes = send_.sizes(index);
  switch (call_.pattern) {
    case Pattern::kGather: {
      const bool is_in_place = call_.send.is_in_place();
      return host.MPI_Igatherv(is_in_place ? MPI_IN_PLACE : sent, is_in_place ? 0 : sent_sizes[0], MPI_BYTE, received,
                               sizes, recv_.places(index), MPI_BYTE, call_.root, call_.comm, &slot->request);
    }
    case Pattern::kScatter: {
      const bool is_in_place = is_root && call_.recv.is_in_place();
      return host.MPI_Iscatterv(sent, sent_sizes, send_.places(index), MPI_BYTE, is_in_place ? MPI_IN_PLACE : received,
                                is_in_place ? 0 : sizes[0], MPI_BYTE, call_.root, call_.comm, &slot->request);
    }
    case Pattern::kAllgather:
      return host.MPI_Iallgatherv(sent, sent_sizes[0], MPI_BYTE, received, sizes, recv_.places(index), MPI_BYTE,
                                  call_.comm, &slot->request);
    case Pattern::kAlltoall:
      return host.MPI_Ialltoallv(sent, sent_sizes, send_.places(index), MPI_BYTE, received, sizes, recv_.places(index),
                                 MPI_BYTE, call_.comm, &slot->request);
    default:  // has no such form
      break;
  }
  return MPI_ERR_INTERN;
}

bool CutCall::has_come(Slot *slot) {
  int is_done = 0;
  const int code = wire::host().MPI_Test(&slot->request, &is_done, MPI_STATUS_IGNORE);
  if (code != MPI_SUCCESS) {
    fail(wire::host_failure(code, "move a segment of a collective operation"));
    return true;
  }
  if (is_done != 0) end_span(slot, trace::Lane::kWire);
  return is_done != 0;
}

void CutCall::end_span(Slot *slot, trace::Lane lane) const noexcept {
  if (!trace::is_enabled()) return;
  const std::uint64_t bytes = is_unequal_ ? std::max(send_.size_bytes(slot->segment), recv_.size_bytes(slot->segment))
                                          : part_bytes_in(slot->segment);
  slot->span.end(lane, {call_.operation, call_.root},
                 {bytes, static_cast<std::uint32_t>(slot->segment), static_cast<std::uint32_t>(plan_.n_segments)});
}

void CutCall::fail(Status status) {
  if (failure_.is_ok()) failure_ = std::move(status);
}

}  // namespace sluice::ops::coll
