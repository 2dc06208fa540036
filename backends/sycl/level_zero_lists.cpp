// SPDX-License-Identifier: BSD-3-Clause
// Owns a command queue, its command lists and their fences.
#include "level_zero_lists.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace sluice::backends::sycl::level_zero {

namespace {

// From the specification: flags of a group, and the mode of a queue.
constexpr std::uint32_t kComputes = 1;
constexpr std::uint32_t kCopies = 2;
constexpr std::int32_t kAsynchronous = 2;

constexpr Result kNotReady = 1;
constexpr std::uint64_t kForEver = std::numeric_limits<std::uint64_t>::max();

// Nothing was executed: whoever asked may copy in another way, whatever the reason is.
Outcome refused(Outcome outcome) {
  if (!outcome.is_success()) outcome.result = SLUICE_ERROR_UNSUPPORTED;
  return outcome;
}

Outcome find_group(const Calls &calls, Device device, std::uint32_t *ordinal) {
  static constexpr const char *kCall = "zeDeviceGetCommandQueueGroupProperties";
  std::uint32_t n_groups = 0;
  Outcome outcome = outcome_of(kCall, calls.get_queue_groups(device, &n_groups, nullptr));
  if (!outcome.is_success()) return refused(outcome);
  std::vector<QueueGroup> groups(n_groups);
  outcome = outcome_of(kCall, calls.get_queue_groups(device, &n_groups, groups.data()));
  if (!outcome.is_success()) return refused(outcome);
  groups.resize(std::min<std::size_t>(n_groups, groups.size()));
  const std::optional<std::uint32_t> chosen = choose_group(groups);
  if (!chosen.has_value()) return {SLUICE_ERROR_UNSUPPORTED, std::string(kCall) + ": no group of engines copies"};
  *ordinal = *chosen;
  return {};
}

}  // namespace

std::optional<std::uint32_t> choose_group(std::span<const QueueGroup> groups) {
  std::optional<std::uint32_t> chosen;
  const auto is_better = [&](const QueueGroup &one) {
    if (!chosen.has_value()) return true;
    const QueueGroup &other = groups[*chosen];
    const bool computes = (one.flags & kComputes) != 0;
    const bool other_computes = (other.flags & kComputes) != 0;
    if (computes != other_computes) return other_computes;
    return !computes && one.n_engines < other.n_engines;
  };
  for (std::uint32_t ordinal = 0; ordinal < groups.size(); ++ordinal) {
    const QueueGroup &group = groups[ordinal];
    if ((group.flags & kCopies) != 0 && group.n_engines > 0 && is_better(group)) chosen = ordinal;
  }
  return chosen;
}

CopyLists::CopyLists(const Calls &calls, Context context, Device device, std::uint32_t ordinal)
    : calls_(calls), context_(context), device_(device), ordinal_(ordinal) {}

Outcome CopyLists::make(const Calls &calls, Context context, Device device, std::unique_ptr<CopyLists> *made) {
  std::uint32_t ordinal = 0;
  Outcome outcome = find_group(calls, device, &ordinal);
  if (!outcome.is_success()) return outcome;
  std::unique_ptr<CopyLists> lists(new CopyLists(calls, context, device, ordinal));
  outcome = lists->create_queue();
  if (outcome.is_success()) *made = std::move(lists);
  return outcome;
}

CopyLists::~CopyLists() {
  close();
}

Outcome CopyLists::create_queue() {
  const QueueDescription description{.ordinal = ordinal_, .mode = kAsynchronous};
  return refused(outcome_of("zeCommandQueueCreate", calls_.create_queue(context_, device_, &description, &queue_)));
}

Outcome CopyLists::create(List *list) {
  const ListDescription description{.ordinal = ordinal_};
  Outcome outcome =
      outcome_of("zeCommandListCreate", calls_.create_list(context_, device_, &description, &list->native));
  if (!outcome.is_success()) return refused(outcome);
  const FenceDescription fence;
  outcome = outcome_of("zeFenceCreate", calls_.create_fence(queue_, &fence, &list->fence));
  if (outcome.is_success()) return outcome;
  destroy({list->native, nullptr});
  return refused(outcome);
}

// Nothing uses it. An error would mean that it is gone already.
void CopyLists::destroy(const List &list) {
  if (list.fence != nullptr) calls_.destroy_fence(list.fence);
  if (list.native != nullptr) calls_.destroy_list(list.native);
}

Outcome CopyLists::take(List *list) {
  if (idle_.empty()) return create(list);
  *list = idle_.back();
  idle_.pop_back();
  return {};
}

// Lists start in the order in which they are given to the queue, but one may begin before the one before it has ended.
Outcome CopyLists::fill(const List &list, std::span<const sluice_copy_t> copies) {
  Outcome outcome;
  if (!in_flight_.empty())
    outcome = outcome_of("zeCommandListAppendBarrier", calls_.append_barrier(list.native, nullptr, 0, nullptr));
  for (const sluice_copy_t &copy : copies) {
    if (!outcome.is_success()) break;
    if (copy.size_bytes == 0) continue;
    outcome = outcome_of("zeCommandListAppendMemoryCopy",
                         calls_.append_copy(list.native, copy.dst, copy.src, copy.size_bytes, nullptr, 0, nullptr));
  }
  if (outcome.is_success()) outcome = outcome_of("zeCommandListClose", calls_.close_list(list.native));
  return outcome;
}

Outcome CopyLists::enqueue(std::span<const sluice_copy_t> copies, std::uint64_t *batch) {
  if (!end_.is_success()) return end_;
  Outcome outcome = retire_done();
  if (outcome.is_success() && in_flight_.size() >= kMostInFlight) outcome = wait(in_flight_.front().batch);
  if (!outcome.is_success()) return outcome;
  List list;
  outcome = take(&list);
  if (!outcome.is_success()) return outcome;
  outcome = fill(list, copies);
  if (!outcome.is_success()) {
    destroy(list);
    return refused(outcome);
  }
  in_flight_.push_back({list, last_batch_ + 1});
  outcome = outcome_of("zeCommandQueueExecuteCommandLists", calls_.execute_lists(queue_, 1, &list.native, list.fence));
  if (!outcome.is_success()) return end_by(outcome);
  *batch = ++last_batch_;
  return {};
}

// Reset now and not when it is needed again: until then the driver keeps what it made for memory of the program.
Outcome CopyLists::retire_oldest() {
  const InFlight oldest = in_flight_.front();
  Outcome outcome = outcome_of("zeCommandListReset", calls_.reset_list(oldest.list.native));
  if (outcome.is_success()) outcome = outcome_of("zeFenceReset", calls_.reset_fence(oldest.list.fence));
  if (!outcome.is_success()) return end_by(outcome);
  in_flight_.pop_front();
  idle_.push_back(oldest.list);
  done_batch_ = oldest.batch;
  return {};
}

Outcome CopyLists::retire_done() {
  while (!in_flight_.empty()) {
    const Result native = calls_.query_fence(in_flight_.front().list.fence);
    if (native == kNotReady) return {};
    Outcome outcome = outcome_of("zeFenceQueryStatus", native);
    outcome = outcome.is_success() ? retire_oldest() : end_by(outcome);
    if (!outcome.is_success()) return outcome;
  }
  return {};
}

Outcome CopyLists::test(std::uint64_t batch) {
  if (batch <= done_batch_) return {};
  if (!end_.is_success()) return end_;
  Outcome outcome = retire_done();
  if (outcome.is_success() && batch > done_batch_) return {SLUICE_NOT_READY, ""};
  return outcome;
}

Outcome CopyLists::wait(std::uint64_t batch) {
  while (batch > done_batch_) {
    if (!end_.is_success()) return end_;
    if (in_flight_.empty()) return {SLUICE_ERROR_INVALID_ARGUMENT, "there is no such list of copies"};
    const Result native = calls_.wait_fence(in_flight_.front().list.fence, kForEver);
    if (native == kNotReady) continue;
    Outcome outcome = outcome_of("zeFenceHostSynchronize", native);
    outcome = outcome.is_success() ? retire_oldest() : end_by(outcome);
    if (!outcome.is_success()) return outcome;
  }
  return {};
}

Outcome CopyLists::end_by(Outcome outcome) {
  if (outcome.result == SLUICE_ERROR_UNSUPPORTED) outcome.result = SLUICE_ERROR_NATIVE;
  end_ = std::move(outcome);
  return end_;
}

Outcome CopyLists::close() {
  if (queue_ == nullptr) return {};
  Outcome outcome = end_;
  if (outcome.is_success()) outcome = wait(last_batch_);
  if (outcome.is_success()) {
    for (const List &list : idle_) destroy(list);
    outcome = outcome_of("zeCommandQueueDestroy", calls_.destroy_queue(queue_));
  }
  idle_.clear();
  in_flight_.clear();
  queue_ = nullptr;
  return outcome;
}

}  // namespace sluice::backends::sycl::level_zero
