// SPDX-License-Identifier: BSD-3-Clause
#include "ops/rma/locks.hpp"

#include <atomic>

namespace sluice::ops::rma {
namespace {

constexpr std::uint64_t kWaiter = std::uint64_t{1} << 32;
constexpr std::uint64_t kAlone = std::uint64_t{1} << 63;

std::size_t bytes_for(int n_ranks) noexcept {
  return static_cast<std::size_t>(n_ranks) * sizeof(LockWords);
}

}  // namespace

bool LockHold::try_take() noexcept {
  const std::atomic_ref<std::uint64_t> word(words_->lock);
  std::uint64_t seen = word.load(std::memory_order_relaxed);
  if (!is_alone_) {
    return seen < kWaiter && word.compare_exchange_strong(seen, seen + 1, std::memory_order_acq_rel);
  }
  const std::uint64_t waiting = is_announced_ ? kWaiter : 0;
  const bool is_free = (seen & kAlone) == 0 && seen % kWaiter == 0;
  if (is_free && word.compare_exchange_strong(seen, seen - waiting + kAlone, std::memory_order_acq_rel)) {
    is_announced_ = false;
    return true;
  }
  if (!is_announced_) word.fetch_add(kWaiter, std::memory_order_relaxed);
  is_announced_ = true;
  return false;
}

void LockHold::give_back() noexcept {
  std::atomic_ref<std::uint64_t>(words_->lock).fetch_sub(is_alone_ ? kAlone : 1, std::memory_order_acq_rel);
}

void LockHold::stop_waiting() noexcept {
  if (is_announced_) std::atomic_ref<std::uint64_t>(words_->lock).fetch_sub(kWaiter, std::memory_order_relaxed);
  is_announced_ = false;
}

UpdateHold::~UpdateHold() {
  if (words_ != nullptr) std::atomic_ref<std::uint64_t>(words_->update).store(0, std::memory_order_release);
}

bool UpdateHold::try_take(LockWords *words) noexcept {
  if (std::atomic_ref<std::uint64_t>(words->update).exchange(1, std::memory_order_acquire) != 0) return false;
  words_ = words;
  return true;
}

void Locks::open_alone(int rank) {
  rank_ = rank;
  segment_ = wire::SharedSegment();
  own_ = std::make_unique<LockWords>();
}

Status Locks::create(int n_ranks, wire::SegmentName *name) {
  return wire::SharedSegment::create(bytes_for(n_ranks), &segment_, name);
}

Status Locks::open(const wire::SegmentName &name, int n_ranks) {
  return wire::SharedSegment::open(name, bytes_for(n_ranks), &segment_);
}

LockWords *Locks::of(int rank) const noexcept {
  if (segment_.data() != nullptr) return static_cast<LockWords *>(segment_.data()) + rank;
  return own_ != nullptr && rank == rank_ ? own_.get() : nullptr;
}

}  // namespace sluice::ops::rma
