// SPDX-License-Identifier: BSD-3-Clause
// How copies are enqueued: one by one, many with one event at the end, or as one list of Level Zero.
#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <sstream>
#include <stdexcept>

#include "queue_state.h"

namespace sluice::backends::sycl {

namespace {

// Of a list only the runtime knows which copy it refused, and it says nothing but a number.
std::runtime_error refusal_of(const sluice_copy_t &copy, const char *native) {
  std::ostringstream text;
  text << native << ": " << copy.size_bytes << " bytes at " << copy.src << " to " << copy.dst
       << ", one of which may reach out of its allocation";
  return std::runtime_error(text.str());
}

// One that others follow in the same lane, which is in order: nobody asks for its event, which costs the runtime time.
void enqueue_one_of_many(Lane *lane, const sluice_copy_t &copy) {
  try {
#ifdef SYCL_EXT_ONEAPI_ENQUEUE_FUNCTIONS
    ::sycl::ext::oneapi::experimental::memcpy(lane->queue, copy.dst, copy.src, copy.size_bytes);
#else
    lane->queue.memcpy(copy.dst, copy.src, copy.size_bytes);
#endif
  } catch (const std::exception &error) {
    throw refusal_of(copy, error.what());
  }
}

// Copies go one by one from now on in this queue. Said once in a process.
void give_lists_up(sluice_queue *queue, const Outcome &why) {
  queue->may_have_lists = false;
  static std::atomic<bool> is_said{false};
  if (is_said.exchange(true)) return;
  fail(why.result, why.text + "; copies go one by one without lists of Level Zero (SLUICE_SYCL_LISTS=off is quiet)");
  log_error();
}

// All in one list, opened when it is first needed. False: nothing was enqueued, and the runtime may do it or say what
// is wrong.
bool enqueue_list(sluice_queue *queue, size_t at, std::span<const sluice_copy_t> copies) {
  std::unique_ptr<level_zero::CopyLists> &lists = queue->lanes[at].lists;
  Outcome outcome;
  if (lists == nullptr) outcome = open_copy_lists(queue->lanes[at].context->context, queue->device, &lists);
  uint64_t batch = 0;
  if (outcome.is_success()) {
    change_to(queue, {at, true});
    outcome = lists->enqueue(copies, &batch);
    if (outcome.result != SLUICE_ERROR_UNSUPPORTED) require(outcome);
  }
  if (outcome.is_success()) {
    queue->last = {.event = std::nullopt, .lists = lists.get(), .batch = batch};
  } else {
    give_lists_up(queue, outcome);
  }
  return outcome.is_success();
}

constexpr size_t kNoLane = SIZE_MAX;

// The lane of all copies; kNoLane where their memory is of several contexts.
size_t lane_of_all(sluice_queue *queue, std::span<const sluice_copy_t> copies) {
  if (!Runtime::start().has_registered_contexts()) return 0;
  size_t all = kNoLane;
  for (const sluice_copy_t &copy : copies) {
    if (copy.size_bytes == 0) continue;
    const std::array<const void *, 2> addresses = {copy.dst, copy.src};
    const size_t lane = lane_of(queue, addresses);
    if (all != kNoLane && all != lane) return kNoLane;
    all = lane;
  }
  return all;
}

void enqueue_in(sluice_queue *queue, size_t at, const sluice_copy_t &copy) {
  Lane &lane = change_to(queue, {at, false});
  try {
    queue->last = {.event = lane.queue.memcpy(copy.dst, copy.src, copy.size_bytes)};
  } catch (const std::exception &error) {
    throw refusal_of(copy, error.what());
  }
}

}  // namespace

void enqueue_one(sluice_queue *queue, const sluice_copy_t &copy) {
  const std::array<const void *, 2> addresses = {copy.dst, copy.src};
  enqueue_in(queue, lane_of(queue, addresses), copy);
}

void enqueue_batch(sluice_queue *queue, std::span<const sluice_copy_t> copies) {
  auto n_left = std::ranges::count_if(copies, [](const sluice_copy_t &copy) { return copy.size_bytes != 0; });
  const size_t lane = n_left > 1 ? lane_of_all(queue, copies) : kNoLane;
  if (lane != kNoLane && queue->may_have_lists && enqueue_list(queue, lane, copies)) return;
  for (const sluice_copy_t &copy : copies) {
    if (copy.size_bytes == 0) continue;
    --n_left;
    if (lane == kNoLane) {
      enqueue_one(queue, copy);
    } else if (n_left > 0) {
      enqueue_one_of_many(&change_to(queue, {lane, false}), copy);
    } else {
      enqueue_in(queue, lane, copy);  // the same lane, although the program may have registered a context meanwhile
    }
  }
}

}  // namespace sluice::backends::sycl
