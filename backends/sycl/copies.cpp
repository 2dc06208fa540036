// SPDX-License-Identifier: BSD-3-Clause
// Owns the queues and their tickets.
#include <algorithm>
#include <array>
#include <stdexcept>

#include "queue.h"
#include "queue_state.h"
#include "waits.h"

namespace sluice::backends::sycl {

namespace {

sluice_result_t failure_of(sluice_queue *queue) {
  if (!queue->failure->is_set.load(std::memory_order_acquire)) return SLUICE_SUCCESS;
  const std::scoped_lock lock(queue->failure->mutex);
  return fail(SLUICE_ERROR_NATIVE, "a command failed: " + queue->failure->text);
}

size_t lane_for(sluice_queue *queue, const KnownContext *context) {
  for (size_t i = 0; i < queue->lanes.size(); ++i) {
    if (queue->lanes[i].context == context) return i;
  }
  const std::shared_ptr<Failure> failure = queue->failure;
  const auto handler = [failure](const ::sycl::exception_list &errors) { failure->take(errors); };
  queue->lanes.push_back(
      {context, ::sycl::queue(context->context, queue->device, handler, ::sycl::property::queue::in_order()), nullptr});
  return queue->lanes.size() - 1;
}

bool has_device(const KnownContext &context, const ::sycl::device &device) {
  for (const auto &entry : context.devices) {
    if (entry.first == device) return true;
  }
  return false;
}

}  // namespace

// Without contexts of the program's own there is only one.
size_t lane_of(sluice_queue *queue, std::span<const void *const> addresses) {
  const Runtime &runtime = Runtime::start();
  if (!runtime.has_registered_contexts()) return 0;
  for (const void *address : addresses) {
    const Found found = find_allocation(runtime, address);
    const bool is_owned = found.kind == ::sycl::usm::alloc::device || found.kind == ::sycl::usm::alloc::shared;
    if (is_owned && has_device(*found.context, queue->device)) return lane_for(queue, found.context);
  }
  return 0;
}

void require(const Outcome &outcome) {
  if (!outcome.is_success()) throw std::runtime_error(outcome.text);
}

namespace {

void wait_for(End *end) {
  if (end->lists != nullptr) require(end->lists->wait(end->batch));
  if (end->event.has_value()) end->event->wait_and_throw();
}

bool is_done(const End &end) {
  if (end.lists != nullptr) {
    const Outcome outcome = end.lists->test(end.batch);
    if (outcome.result == SLUICE_NOT_READY) return false;
    require(outcome);
  }
  return !end.event.has_value() || end.event->get_info<::sycl::info::event::command_execution_status>() ==
                                       ::sycl::info::event_command_status::complete;
}

}  // namespace

// Order holds within a lane's queue, and within a lane's lists, only: the runtime's queue and the command queue of
// Level Zero that executes lists know nothing of each other. An event that one of them waits for would have to be made
// of what the runtime has inside, which may change, so the host waits here. Changing is rare: batches are mostly waited
// for before anything else is enqueued.
Lane &change_to(sluice_queue *queue, Way way) {
  if (way != queue->last_way) wait_for(&queue->last);
  queue->last_way = way;
  return queue->lanes[way.lane];
}

namespace {

sluice_result_t wait_for(sluice_queue *queue, End *end, uint64_t ticket) {
  wait_for(end);
  const sluice_result_t result = failure_of(queue);
  if (result == SLUICE_SUCCESS) queue->done_ticket = ticket;
  return result;
}

// An error of a wait or a copy ends the queue: all its later tickets fail.
template <typename Body>
sluice_result_t guarded_queue(sluice_queue *queue, const char *call, const Body &body) {
  const sluice_result_t earlier = failure_of(queue);
  if (earlier != SLUICE_SUCCESS) return earlier;
  return guarded(call, [&] {
    try {
      return body();
    } catch (const std::exception &error) {
      queue->failure->set(std::string(call) + ": " + error.what());
      throw;
    }
  });
}

// Queues that were made, and used once, before a stream waited. Never destroyed.
struct Spares {
  std::mutex mutex;
  std::vector<std::unique_ptr<sluice_queue>> list;
};
Spares &spares() {
  static auto *made = new Spares();
  return *made;
}
// A message that is staged has one under way at a time.
constexpr size_t kMostSpares = 8;

std::unique_ptr<sluice_queue> take_spare(const ::sycl::device &device) {
  const std::scoped_lock lock(spares().mutex);
  const auto found = std::ranges::find(spares().list, device, [](const auto &spare) { return spare->device; });
  if (found == spares().list.end()) return nullptr;
  std::unique_ptr<sluice_queue> taken = std::move(*found);
  spares().list.erase(found);
  return taken;
}

std::unique_ptr<sluice_queue> make_queue(int32_t device) {
  Runtime &runtime = Runtime::start();
  auto made = std::make_unique<sluice_queue>(runtime.devices()[static_cast<size_t>(device)]);
  lane_for(made.get(), &runtime.default_context(device));
  return made;
}

}  // namespace

sluice_result_t prepare_queues(int32_t device) {
  const ::sycl::device &of = Runtime::start().devices()[static_cast<size_t>(device)];
  const std::scoped_lock lock(spares().mutex);
  const Quiet quiet;
  if (!quiet.is_kept()) return SLUICE_SUCCESS;
  auto n_there =
      static_cast<size_t>(std::ranges::count(spares().list, of, [](const auto &spare) { return spare->device; }));
  for (; n_there < kMostSpares; ++n_there) {
    std::unique_ptr<sluice_queue> made = make_queue(device);
    ::sycl::queue &native = made->lanes.front().queue;
    auto *const words = ::sycl::malloc_host<uint64_t>(2, native);
    if (words == nullptr) return fail(SLUICE_ERROR_OUT_OF_MEMORY, "malloc_host gave no 16 bytes");
    words[0] = 0;
    native.memcpy(words + 1, words, sizeof(*words)).wait();
    ::sycl::free(words, native);
    spares().list.push_back(std::move(made));
  }
  return SLUICE_SUCCESS;
}

// While a stream waits one that is there already: the runtime makes the driver's stream with the first command, and for
// that the CUDA adapter's driver was seen to wait for the stream (H200).
sluice_result_t queue_create(int32_t device, sluice_queue_t **queue) {
  *queue = nullptr;
  const sluice_result_t known = check_device(device);
  if (known != SLUICE_SUCCESS) return known;
  return guarded("queue", [&] {
    std::unique_ptr<sluice_queue> made;
    if (is_waiting()) made = take_spare(Runtime::start().devices()[static_cast<size_t>(device)]);
    *queue = made != nullptr ? made.release() : make_queue(device).release();
    return SLUICE_SUCCESS;
  });
}

// While the process exits the queue is left to its end.
sluice_result_t queue_destroy(sluice_queue_t *queue) {
  if (queue == nullptr || is_exiting()) return SLUICE_SUCCESS;
  return guarded("queue", [&] {
    const std::unique_ptr<sluice_queue> owner(queue);
    for (Lane &lane : queue->lanes) {
      const Outcome closed = lane.lists != nullptr ? lane.lists->close() : Outcome{};
      if (!closed.is_success()) queue->failure->set(closed.text);
      lane.queue.wait_and_throw();
    }
    return failure_of(queue);
  });
}

const ::sycl::device &device_of(const sluice_queue_t *queue) {
  return queue->device;
}

::sycl::context context_for(sluice_queue_t *queue, std::span<const void *const> addresses) {
  return queue->lanes[lane_of(queue, addresses)].context->context;
}

sluice_result_t enqueue_command(sluice_queue_t *queue, std::span<const void *const> addresses, const Command &command) {
  return guarded_queue(queue, "kernel", [&] {
    queue->last = {.event = command(&change_to(queue, {lane_of(queue, addresses), false}).queue)};
    return SLUICE_SUCCESS;
  });
}

sluice_result_t enqueue_copies(sluice_queue_t *queue, const sluice_copy_t *copies, size_t n_copies) {
  return guarded_queue(queue, "memcpy", [&] {
    enqueue_batch(queue, {copies, n_copies});
    return SLUICE_SUCCESS;
  });
}

// Lists are waited for by the host, as in change_to. A queue's last command is the end of all that it holds.
sluice_result_t enqueue_wait_for_queue(sluice_queue_t *queue, sluice_queue_t *other) {
  if (queue == other) return SLUICE_SUCCESS;
  const sluice_result_t earlier = failure_of(other);
  if (earlier != SLUICE_SUCCESS) return earlier;
  return guarded_queue(queue, "barrier", [&] {
    if (other->last.lists != nullptr) require(other->last.lists->wait(other->last.batch));
    if (!other->last.event.has_value()) return SLUICE_SUCCESS;
    Lane &lane = change_to(queue, {queue->last_way.lane, false});
    queue->last = {.event = lane.queue.ext_oneapi_submit_barrier({*other->last.event})};
    return SLUICE_SUCCESS;
  });
}

// The queue is in order, so the last copy's end is the end of all.
sluice_result_t enqueue_ticket(sluice_queue_t *queue, uint64_t *ticket) {
  return guarded_queue(queue, "event", [&] {
    const uint64_t next = queue->last_ticket + 1;
    End &slot = queue->tickets[next % kTickets];
    if (next > kTickets && next - kTickets > queue->done_ticket) {
      const sluice_result_t result = wait_for(queue, &slot, next - kTickets);
      if (result != SLUICE_SUCCESS) return result;
    }
    slot = queue->last;
    queue->last_ticket = next;
    *ticket = next;
    return SLUICE_SUCCESS;
  });
}

sluice_result_t test_ticket(sluice_queue_t *queue, uint64_t ticket) {
  if (ticket <= queue->done_ticket) return SLUICE_SUCCESS;
  return guarded_queue(queue, "event status", [&] {
    End &slot = queue->tickets[ticket % kTickets];
    if (!is_done(slot)) return SLUICE_NOT_READY;
    // So this returns at once; it brings the errors that the runtime kept back.
    return wait_for(queue, &slot, ticket);
  });
}

sluice_result_t wait_ticket(sluice_queue_t *queue, uint64_t ticket) {
  if (ticket <= queue->done_ticket) return SLUICE_SUCCESS;
  return guarded_queue(queue, "event wait",
                       [&] { return wait_for(queue, &queue->tickets[ticket % kTickets], ticket); });
}

sluice_result_t copy(sluice_queue_t *queue, void *dst, const void *src, size_t size_bytes) {
  return guarded_queue(queue, "memcpy", [&] {
    if (size_bytes != 0) enqueue_one(queue, {dst, src, size_bytes});
    return wait_for(queue, &queue->last, queue->last_ticket);
  });
}

}  // namespace sluice::backends::sycl
