// SPDX-License-Identifier: BSD-3-Clause
#include "transfer/reduction_pipeline.hpp"

#include <algorithm>
#include <utility>

#include "device/reduction.hpp"

namespace sluice::transfer {
namespace {

// Where kernels and copies like their blocks to begin.
constexpr std::uint64_t kAlignment = 256;

}  // namespace

Status ReductionPipeline::open(PipelinedReduction work, std::uint64_t brought_bytes) {
  work_ = std::move(work);
  if (work_.place.backend->table().device_alloc == nullptr) {
    return Status::error(ErrorKind::kUnsupported, "the backend gives no device memory for blocks of a reduction");
  }
  const std::uint64_t n_brought = std::max<std::uint64_t>(work_.sources.size() - 1, 1);
  block_count_ = std::clamp<std::uint64_t>(brought_bytes / n_brought / work_.element_bytes, 1,
                                           std::max<std::uint64_t>(work_.count, 1));
  n_blocks_ = work_.count / block_count_ + (work_.count % block_count_ != 0 ? 1 : 0);
  room_bytes_ = (block_count_ * work_.element_bytes + kAlignment - 1) / kAlignment * kAlignment;
  copies_.reserve(work_.sources.size());
  sources_.reserve(work_.sources.size());
  dsts_.reserve(work_.results.size());
  if (n_blocks_ == 0) return {};
  const std::uint64_t n_slots = std::min<std::uint64_t>(kSlots, n_blocks_);
  if (Status status = memory_.acquire(work_.place, n_slots * n_brought * room_bytes_); !status.is_ok()) return status;
  for (device::Queue *queue : {&pulls_, &kernels_}) {
    if (Status status = queue->acquire(work_.place); !status.is_ok()) return status;
  }
  return {};
}

std::uint64_t ReductionPipeline::count_of(const Slot &slot) const noexcept {
  return std::min(block_count_, work_.count - slot.block * block_count_);
}

std::byte *ReductionPipeline::room(const Slot &slot, std::size_t index) const noexcept {
  const auto of_slot = static_cast<std::uint64_t>(&slot - slots_.data()) * (work_.sources.size() - 1);
  const std::size_t place = index > work_.own ? index - 1 : index;
  return memory_.data() + (of_slot + place) * room_bytes_;
}

Status ReductionPipeline::advance(bool *is_done) {
  *is_done = false;
  // The oldest first, so that kernels and copies are enqueued in the order of their blocks.
  Status status = begin_blocks();
  for (std::uint64_t block = n_done_; block < n_begun_ && status.is_ok(); ++block) {
    status = step(&slots_[block % kSlots]);
  }
  while (n_done_ < n_begun_ && slots_[n_done_ % kSlots].stage == Stage::kFree) ++n_done_;
  *is_done = n_done_ == n_blocks_ || !status.is_ok();
  return status;
}

Status ReductionPipeline::begin_blocks() {
  while (n_begun_ < n_blocks_ && n_begun_ - n_done_ < kSlots) {
    Slot &slot = slots_[n_begun_ % kSlots];
    slot.block = n_begun_++;
    if (Status status = pull(&slot); !status.is_ok()) return status;
  }
  return {};
}

Status ReductionPipeline::step(Slot *slot) {
  bool has_ended = slot->stage != Stage::kFree;
  // More than one stage may be over when it is looked at.
  while (has_ended) {
    if (Status status = slot->under_way.poll(&has_ended); !status.is_ok()) return status;
    if (!has_ended) return {};
    Status status;
    if (slot->stage == Stage::kPulling) {
      status = reduce(slot);
    } else {
      slot->stage = Stage::kFree;
      return {};
    }
    if (!status.is_ok()) return status;
  }
  return {};
}

Status ReductionPipeline::pull(Slot *slot) {
  const std::uint64_t offset = offset_of(*slot);
  const std::uint64_t size_bytes = count_of(*slot) * work_.element_bytes;
  copies_.clear();
  for (std::size_t index = 0; index < work_.sources.size(); ++index) {
    if (index != work_.own) copies_.push_back({room(*slot, index), work_.sources[index] + offset, size_bytes});
  }
  slot->stage = Stage::kPulling;
  return slot->under_way.begin(&pulls_, copies_);
}

Status ReductionPipeline::reduce(Slot *slot) {
  sources_.clear();
  for (std::size_t index = 0; index < work_.sources.size(); ++index) {
    sources_.push_back(index == work_.own ? work_.sources[index] + offset_of(*slot) : room(*slot, index));
  }
  dsts_.clear();
  for (std::byte *result : work_.results) dsts_.push_back(result + offset_of(*slot));
  const sluice_reduction_t reduction = {work_.element,
                                        work_.operation,
                                        dsts_.data(),
                                        sources_.data(),
                                        static_cast<std::uint32_t>(dsts_.size()),
                                        static_cast<std::uint32_t>(sources_.size()),
                                        count_of(*slot)};
  bool is_refused = false;
  Status status = device::enqueue_reductions(&kernels_, {&reduction, 1}, &is_refused);
  if (!is_refused) has_written_ = true;
  if (!status.is_ok()) return status;
  slot->stage = Stage::kReducing;
  return slot->under_way.begin(&kernels_);
}

}  // namespace sluice::transfer
