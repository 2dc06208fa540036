// SPDX-License-Identifier: BSD-3-Clause
#include "transfer/reduction_pipeline.hpp"

#include <algorithm>
#include <utility>

#include "device/reduction.hpp"

namespace sluice::transfer {
namespace {

// Where kernels and copies like their blocks to begin.
constexpr std::uint64_t kAlignment = 256;

// Elements of a block, of `count` in all: at most `most`, and no more than half, so that something is on its way while
// the other half is reduced. Blocks of many begin where kernels like them to, because their number is one of
// kAlignment's multiples.
std::uint64_t block_count(std::uint64_t count, std::uint64_t most) noexcept {
  const std::uint64_t half = (count / 2 + kAlignment) / kAlignment * kAlignment;
  const std::uint64_t wanted = std::max<std::uint64_t>(std::min(most, half), 1);
  return wanted <= kAlignment ? wanted : wanted - wanted % kAlignment;
}

}  // namespace

Status ReductionPipeline::open(PipelinedReduction work, std::uint64_t brought_bytes) {
  work_ = std::move(work);
  if (work_.place.backend->table().device_alloc == nullptr) {
    return Status::error(ErrorKind::kUnsupported, "the backend gives no device memory for blocks of a reduction");
  }
  if (work_.place.backend->table().enqueue_wait_for_queue == nullptr) {
    return Status::error(ErrorKind::kUnsupported, "the backend's queues cannot wait for each other");
  }
  const std::uint64_t n_brought = std::max<std::uint64_t>(work_.sources.size() - 1, 1);
  block_count_ = block_count(work_.count, brought_bytes / n_brought / work_.element_bytes);
  n_blocks_ = work_.count / block_count_ + (work_.count % block_count_ != 0 ? 1 : 0);
  room_bytes_ = (block_count_ * work_.element_bytes + kAlignment - 1) / kAlignment * kAlignment;
  copies_.reserve(std::max(work_.sources.size(), work_.sent_results.size()));
  sources_.reserve(work_.sources.size());
  if (n_blocks_ == 0) return {};
  const std::uint64_t n_rooms = std::min(kRooms, n_blocks_);
  if (Status status = memory_.acquire(work_.place, n_rooms * n_brought * room_bytes_); !status.is_ok()) return status;
  Status status = pulls_.acquire(work_.place);
  if (status.is_ok()) status = kernels_.acquire(work_.place);
  if (status.is_ok() && !work_.sent_results.empty()) status = sends_.acquire(work_.place);
  return status;
}

// Of what is under way not all has an end to look at. A queue that is given up waits for what it holds.
ReductionPipeline::~ReductionPipeline() {
  const bool is_over = n_done_ == n_blocks_ && !pulled_.is_running() && !sent_.is_running();
  if (is_over || n_pulled_ == 0) return;
  sends_.discard();
  kernels_.discard();
  pulls_.discard();
}

std::uint64_t ReductionPipeline::count_of(std::uint64_t block) const noexcept {
  return std::min(block_count_, work_.count - block * block_count_);
}

std::byte *ReductionPipeline::room(std::uint64_t block, std::size_t index) const noexcept {
  const std::size_t place = index > work_.own ? index - 1 : index;
  return memory_.data() + (block % kRooms * (work_.sources.size() - 1) + place) * room_bytes_;
}

Status ReductionPipeline::advance(bool *is_done) {
  Status status;
  while (status.is_ok() && n_reduced_ < n_blocks_ && n_reduced_ - n_done_ < kMostAhead) status = enqueue_next();
  *is_done = false;
  if (status.is_ok()) status = look(is_done);
  if (!status.is_ok()) *is_done = true;
  return status;
}

// What brings a block, and what reduces and sends the block before it. A wait is for all that the other queue has got
// until then, so what comes between the two decides what they wait for: kernels for the copies of their own block and
// not for the next ones, copies for what read their room and not for what will read the other, sends for their own
// block's kernel.
Status ReductionPipeline::enqueue_next() {
  const bool has_brought = n_pulled_ > n_reduced_;
  Status status;
  if (has_brought) status = kernels_.enqueue_wait_for(pulls_);
  if (status.is_ok() && n_pulled_ < n_blocks_) {
    if (n_pulled_ >= kRooms) status = pulls_.enqueue_wait_for(kernels_);
    if (status.is_ok()) status = pull(n_pulled_++);
  }
  if (!status.is_ok() || !has_brought) return status;
  const std::uint64_t block = n_reduced_;
  status = reduce(n_reduced_++);
  return status.is_ok() ? send(block) : status;
}

Status ReductionPipeline::pull(std::uint64_t block) {
  const std::uint64_t offset = offset_of(block);
  const std::uint64_t size_bytes = count_of(block) * work_.element_bytes;
  copies_.clear();
  // Round the sources, behind the own one: of ranks that do the same no two read the same one at a time.
  const std::size_t n_sources = work_.sources.size();
  for (std::size_t step = 1; step < n_sources; ++step) {
    const std::size_t index = (work_.own + step) % n_sources;
    copies_.push_back({room(block, index), work_.sources[index] + offset, size_bytes});
  }
  const Status status = pulls_.enqueue(copies_);
  return status.is_ok() && block + 1 == n_blocks_ ? pulled_.begin(&pulls_) : status;
}

Status ReductionPipeline::reduce(std::uint64_t block) {
  sources_.clear();
  for (std::size_t index = 0; index < work_.sources.size(); ++index) {
    sources_.push_back(index == work_.own ? work_.sources[index] + offset_of(block) : room(block, index));
  }
  void *const dst = work_.own_result + offset_of(block);
  const bool is_beside_copies = block + 1 < n_blocks_ || !(work_.sends_last || work_.sent_results.empty());
  const sluice_reduction_t reduction = {.element = work_.element,
                                        .operation = work_.operation,
                                        .dsts = &dst,
                                        .sources = sources_.data(),
                                        .n_dsts = 1,
                                        .n_sources = static_cast<std::uint32_t>(sources_.size()),
                                        .count = count_of(block),
                                        .is_beside_copies = is_beside_copies ? 1U : 0U,
                                        .is_fetch = 0};
  bool is_refused = false;
  Status status = device::enqueue_reductions(&kernels_, {&reduction, 1}, &is_refused);
  if (!status.is_ok() && is_refused && block == 0) n_reduced_ = 0;  // nothing was enqueued
  return status;
}

// What has to do with a block behind its kernel: sending it, or noting its end. One after the last sends all that is
// sent last.
Status ReductionPipeline::send(std::uint64_t block) {
  const bool is_last = block + 1 == n_blocks_;
  const bool is_looked_at = (block + 1) % kBetweenLooks == 0 || is_last;
  const bool sends_now = !work_.sends_last && !work_.sent_results.empty();
  Status status;
  if (sends_now) status = send_bytes(offset_of(block), count_of(block) * work_.element_bytes);
  if (status.is_ok() && is_looked_at) status = end_of(block).begin(sends_now ? &sends_ : &kernels_);
  if (!status.is_ok() || !is_last || sends_now || work_.sent_results.empty()) return status;
  status = send_bytes(0, work_.count * work_.element_bytes);
  return status.is_ok() ? sent_.begin(&sends_) : status;
}

Status ReductionPipeline::send_bytes(std::uint64_t offset, std::uint64_t size_bytes) {
  if (Status status = sends_.enqueue_wait_for(kernels_); !status.is_ok()) return status;
  copies_.clear();
  for (std::byte *result : work_.sent_results) {
    copies_.push_back({result + offset, work_.own_result + offset, size_bytes});
  }
  return sends_.enqueue(copies_);
}

// Copies tell of their errors at the end: a kernel has run then on what they did not bring, and the error is for all.
Status ReductionPipeline::look(bool *is_done) {
  bool has_ended = true;
  while (n_done_ < n_blocks_) {
    const std::uint64_t n_looked_at = std::min((n_done_ / kBetweenLooks + 1) * kBetweenLooks, n_blocks_);
    if (n_looked_at > n_reduced_) return {};
    if (Status status = end_of(n_looked_at - 1).poll(&has_ended); !status.is_ok() || !has_ended) return status;
    n_done_ = n_looked_at;
  }
  bool has_pulled = true;
  Status status = pulled_.poll(&has_pulled);
  if (status.is_ok()) status = sent_.poll(&has_ended);
  *is_done = has_pulled && has_ended;
  return status;
}

}  // namespace sluice::transfer
