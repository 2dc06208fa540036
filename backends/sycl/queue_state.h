// SPDX-License-Identifier: BSD-3-Clause
// What a queue of Sluice is made of, for copies.cpp, which owns it, and batches.cpp, which fills it. One is an in-order
// queue of the runtime for each context whose memory it has met: a runtime's queue copies memory of its own context
// only. Beside it stand lists of Level Zero, for batches, where they are asked for.
#pragma once

#include <array>
#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "copy_lists.h"
#include "runtime.h"

namespace sluice::backends::sycl {

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
  std::unique_ptr<level_zero::CopyLists> lists;  // none: not asked for yet, or refused
};

// Where a command goes: to the runtime's queue of a lane, or into its lists.
struct Way {
  size_t lane = 0;
  bool is_list = false;

  bool operator==(const Way &) const = default;
};

// The last command of several that were enqueued: the end of all of them.
struct End {
  std::optional<::sycl::event> event;
  level_zero::CopyLists *lists = nullptr;  // whose batch it is
  uint64_t batch = 0;
};

}  // namespace sluice::backends::sycl

struct sluice_queue {
  explicit sluice_queue(::sycl::device on)
      : device(std::move(on)), may_have_lists(sluice::backends::sycl::may_have_copy_lists(device)) {}

  ::sycl::device device;
  std::vector<sluice::backends::sycl::Lane> lanes;  // the first is the default context's
  bool may_have_lists;
  sluice::backends::sycl::Way last_way;
  sluice::backends::sycl::End last;
  std::array<sluice::backends::sycl::End, sluice::backends::sycl::kTickets> tickets;
  uint64_t last_ticket = 0;
  uint64_t done_ticket = 0;
  std::shared_ptr<sluice::backends::sycl::Failure> failure = std::make_shared<sluice::backends::sycl::Failure>();
};

namespace sluice::backends::sycl {

// copies.cpp. All throw what the runtime throws, and what Level Zero refuses, which ends the queue.

// Throws the text of an error.
void require(const Outcome &outcome);
// The lane whose context owns the memory of a command.
size_t lane_of(sluice_queue *queue, std::span<const void *const> addresses);
// The lane, once what is enqueued next there comes behind all that was enqueued before; may wait for that.
Lane &change_to(sluice_queue *queue, Way way);

// batches.cpp

// Enqueues one copy of at least one byte.
void enqueue_one(sluice_queue *queue, const sluice_copy_t &copy);
// Enqueues all copies of a call; those of no bytes are left out.
void enqueue_batch(sluice_queue *queue, std::span<const sluice_copy_t> copies);

}  // namespace sluice::backends::sycl
