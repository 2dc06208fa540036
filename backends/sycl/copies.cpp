// SPDX-License-Identifier: BSD-3-Clause
// Owns the queues and the copies on them. One queue of Sluice is an in-order queue of the runtime for each context
// whose memory it has met: a runtime's queue copies memory of its own context only.
#include <algorithm>
#include <array>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <sstream>
#include <stdexcept>
#include <vector>

#include "queue.h"
#include "runtime.h"
#include "waits.h"

namespace sluice::backends::sycl {

namespace {

// Tickets in flight at once; the next one waits for the oldest.
constexpr size_t kTickets = 64;

// What the runtime reports of failures that no call returned. It may outlive the queue, hence shared.
struct Failure {
  std::atomic<bool> is_set{false};
  std::mutex mutex;
  std::string text;  // the first one

  void set(const std::string &what) {
    const std::scoped_lock lock(mutex);
    if (!is_set.load(std::memory_order_relaxed)) text = what;
    is_set.store(true, std::memory_order_release);
  }

  void take(const ::sycl::exception_list &errors) {
    for (const std::exception_ptr &error : errors) {
      try {
        std::rethrow_exception(error);
      } catch (const std::exception &e) {
        set(e.what());
      }
    }
  }
};

struct Lane {
  const KnownContext *context;
  ::sycl::queue queue;
};

}  // namespace

}  // namespace sluice::backends::sycl

struct sluice_queue {
  explicit sluice_queue(::sycl::device on) : device(std::move(on)) {}

  ::sycl::device device;
  std::vector<sluice::backends::sycl::Lane> lanes;  // the first is the default context's
  size_t last_lane = 0;
  std::optional<::sycl::event> last_copy;  // or kernel
  std::array<std::optional<::sycl::event>, sluice::backends::sycl::kTickets> tickets;
  uint64_t last_ticket = 0;
  uint64_t done_ticket = 0;
  std::shared_ptr<sluice::backends::sycl::Failure> failure = std::make_shared<sluice::backends::sycl::Failure>();
};

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
      {context, ::sycl::queue(context->context, queue->device, handler, ::sycl::property::queue::in_order())});
  return queue->lanes.size() - 1;
}

bool has_device(const KnownContext &context, const ::sycl::device &device) {
  for (const auto &entry : context.devices) {
    if (entry.first == device) return true;
  }
  return false;
}

// The lane whose context owns the memory of a command. Without contexts of the program's own there is only one.
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

Lane &change_to(sluice_queue *queue, size_t lane) {
  // Order holds within a lane only; changing lanes is rare, so it may wait.
  if (lane != queue->last_lane && queue->last_copy.has_value()) queue->last_copy->wait();
  queue->last_lane = lane;
  return queue->lanes[lane];
}

void enqueue_one(sluice_queue *queue, void *dst, const void *src, size_t size_bytes) {
  const std::array<const void *, 2> addresses = {dst, src};
  Lane &lane = change_to(queue, lane_of(queue, addresses));
  try {
    queue->last_copy = lane.queue.memcpy(dst, src, size_bytes);
  } catch (const std::exception &error) {
    // Of a list only the runtime knows which one it refused, and it says nothing but a number.
    std::ostringstream text;
    text << error.what() << ": " << size_bytes << " bytes at " << src << " to " << dst
         << ", one of which may reach out of its allocation";
    throw std::runtime_error(text.str());
  }
}

sluice_result_t wait_for(sluice_queue *queue, ::sycl::event *event, uint64_t ticket) {
  event->wait_and_throw();
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
    for (Lane &lane : queue->lanes) lane.queue.wait_and_throw();
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
    queue->last_copy = command(&change_to(queue, lane_of(queue, addresses)).queue);
    return SLUICE_SUCCESS;
  });
}

sluice_result_t enqueue_copies(sluice_queue_t *queue, const sluice_copy_t *copies, size_t n_copies) {
  return guarded_queue(queue, "memcpy", [&] {
    for (size_t i = 0; i < n_copies; ++i) {
      if (copies[i].size_bytes != 0) enqueue_one(queue, copies[i].dst, copies[i].src, copies[i].size_bytes);
    }
    return SLUICE_SUCCESS;
  });
}

// The queue is in order, so the last copy's end is the end of all.
sluice_result_t enqueue_ticket(sluice_queue_t *queue, uint64_t *ticket) {
  return guarded_queue(queue, "event", [&] {
    const uint64_t next = queue->last_ticket + 1;
    std::optional<::sycl::event> &slot = queue->tickets[next % kTickets];
    if (slot.has_value() && next > kTickets && next - kTickets > queue->done_ticket) {
      const sluice_result_t result = wait_for(queue, &*slot, next - kTickets);
      if (result != SLUICE_SUCCESS) return result;
    }
    slot = queue->last_copy;
    queue->last_ticket = next;
    *ticket = next;
    return SLUICE_SUCCESS;
  });
}

sluice_result_t test_ticket(sluice_queue_t *queue, uint64_t ticket) {
  if (ticket <= queue->done_ticket) return SLUICE_SUCCESS;
  return guarded_queue(queue, "event status", [&] {
    std::optional<::sycl::event> &slot = queue->tickets[ticket % kTickets];
    if (slot.has_value() &&
        slot->get_info<::sycl::info::event::command_execution_status>() != ::sycl::info::event_command_status::complete)
      return SLUICE_NOT_READY;
    // Complete, so this returns at once; it brings the errors that the runtime kept back.
    if (slot.has_value()) return wait_for(queue, &*slot, ticket);
    queue->done_ticket = ticket;
    return SLUICE_SUCCESS;
  });
}

sluice_result_t wait_ticket(sluice_queue_t *queue, uint64_t ticket) {
  if (ticket <= queue->done_ticket) return SLUICE_SUCCESS;
  return guarded_queue(queue, "event wait", [&] {
    std::optional<::sycl::event> &slot = queue->tickets[ticket % kTickets];
    if (slot.has_value()) return wait_for(queue, &*slot, ticket);
    queue->done_ticket = ticket;
    return SLUICE_SUCCESS;
  });
}

sluice_result_t copy(sluice_queue_t *queue, void *dst, const void *src, size_t size_bytes) {
  return guarded_queue(queue, "memcpy", [&] {
    if (size_bytes != 0) enqueue_one(queue, dst, src, size_bytes);
    return queue->last_copy.has_value() ? wait_for(queue, &*queue->last_copy, queue->last_ticket) : SLUICE_SUCCESS;
  });
}

}  // namespace sluice::backends::sycl
