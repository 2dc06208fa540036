// SPDX-License-Identifier: BSD-3-Clause
// The loop-back loader's command queues: a thread each, which makes what it may make in any order backwards, and all
// checks of what it is given that the specification leaves to whoever calls.
#include <algorithm>
#include <array>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <limits>
#include <mutex>
#include <set>
#include <thread>
#include <utility>
#include <vector>

#include "../level_zero.h"
#include "loopback_loader.h"

namespace {

using namespace sluice::backends::sycl::level_zero;

constexpr Result kInvalidArgument = 0x78000004;
constexpr Result kInUse = 0x78000006;
constexpr Result kNotReady = 1;

struct Command {
  void *dst = nullptr;  // null: a barrier
  const void *src = nullptr;
  size_t size_bytes = 0;
};
struct List {
  uint32_t ordinal = 0;
  std::vector<Command> commands;
  size_t n_copies = 0;
  bool is_closed = false;
  bool is_in_flight = false;
};
struct Queue;
struct Fence {
  Queue *queue = nullptr;
  bool is_signalled = false;
  bool is_in_flight = false;
};
struct Submission {
  List *list;
  Fence *fence;
};

// Never destroyed: a queue that a test of errors leaves still has its thread when the process ends.
std::mutex &g_mutex = *new std::mutex();
std::condition_variable &g_changed = *new std::condition_variable();
bool g_holds = false;

struct Queue {
  uint32_t ordinal = 0;
  int n_fences = 0;
  bool is_stopping = false;
  std::deque<Submission> pending;
  std::thread thread;

  // What no barrier separates is made backwards, across lists too, and only then are their fences signalled.
  static void make(std::vector<Command> *commands, std::vector<Submission> *ended) {
    std::ranges::reverse(*commands);
    for (const Command &one : *commands) std::memcpy(one.dst, one.src, one.size_bytes);
    commands->clear();
    const std::scoped_lock lock(g_mutex);
    for (const Submission &one : *ended) {
      one.list->is_in_flight = false;
      one.fence->is_in_flight = false;
      one.fence->is_signalled = true;
    }
    ended->clear();
    g_changed.notify_all();
  }

  static void execute(const std::deque<Submission> &submissions) {
    std::vector<Command> commands;
    std::vector<Submission> ended;
    for (const Submission &one : submissions) {
      size_t n_left = one.list->n_copies;
      for (const Command &command : one.list->commands) {
        if (command.dst == nullptr) {
          if (!loopback_state()->ignores_barriers) make(&commands, &ended);
        } else if (--n_left > 0 || !loopback_state()->drops_last) {
          commands.push_back(command);
        }
      }
      ended.push_back(one);
    }
    make(&commands, &ended);
  }

  void run() {
    std::unique_lock lock(g_mutex);
    while (true) {
      g_changed.wait(lock, [&] { return is_stopping || (!pending.empty() && !g_holds); });
      if (is_stopping) return;
      const std::deque<Submission> taken = std::exchange(pending, {});
      lock.unlock();
      execute(taken);
      lock.lock();
    }
  }
};

template <typename Object>
std::set<void *> &all() {
  static auto *objects = new std::set<void *>();
  return *objects;
}
template <typename Object>
Object *find(void *handle) {
  return all<Object>().contains(handle) ? static_cast<Object *>(handle) : nullptr;
}

Result misuse(Result result = kInvalidArgument) {
  ++loopback_state()->n_misuses;
  return result;
}

QueueGroup group(uint32_t flags, uint32_t n_engines) {
  QueueGroup made;
  made.flags = flags;
  made.n_engines = n_engines;
  return made;
}

}  // namespace

// NOLINTBEGIN(readability-identifier-naming): the names are Level Zero's
extern "C" {

void loopback_hold_lists(bool holds) {
  const std::scoped_lock lock(g_mutex);
  g_holds = holds;
  g_changed.notify_all();
}

void loopback_wait_lists() {
  std::unique_lock lock(g_mutex);
  g_changed.wait(lock, [] {
    return std::ranges::none_of(all<List>(), [](void *one) { return static_cast<List *>(one)->is_in_flight; });
  });
}

// Engines for all, one that copies, and seven that copy to other devices.
Result zeDeviceGetCommandQueueGroupProperties(Device device, uint32_t *n_groups, QueueGroup *groups) {
  const std::array<QueueGroup, 3> there = {group(7, 4), group(2, 1), group(2, 7)};
  if (loopback_state()->groups_fault != 0) return loopback_state()->groups_fault;
  if (device == nullptr || n_groups == nullptr) return misuse();
  if (*n_groups == 0 || *n_groups > there.size()) *n_groups = there.size();
  for (uint32_t i = 0; groups != nullptr && i < *n_groups; ++i) {
    if (groups[i].structure_type != 0x6 || groups[i].next != nullptr) return misuse();
    groups[i] = there[i];
  }
  return 0;
}

Result zeCommandQueueCreate(Context context, Device device, const QueueDescription *description, void **queue) {
  const std::scoped_lock lock(g_mutex);
  if (loopback_state()->queue_fault != 0) return loopback_state()->queue_fault;
  const bool is_right = context != nullptr && device != nullptr && description->structure_type == 0xe &&
                        description->next == nullptr && description->ordinal < 3 && description->index == 0 &&
                        description->flags == 0 && description->mode == 2 && description->priority == 0;
  if (!is_right) return misuse();
  auto *made = new Queue();
  made->ordinal = description->ordinal;
  made->thread = std::thread([made] { made->run(); });
  loopback_state()->last_ordinal = made->ordinal;
  all<Queue>().insert(made);
  ++loopback_state()->n_queues;
  *queue = made;
  return 0;
}

Result zeCommandQueueDestroy(void *handle) {
  Queue *queue = nullptr;
  {
    const std::scoped_lock lock(g_mutex);
    queue = find<Queue>(handle);
    if (queue == nullptr) return misuse();
    if (queue->n_fences != 0 || !queue->pending.empty()) return misuse(kInUse);
    all<Queue>().erase(handle);
    queue->is_stopping = true;
    g_changed.notify_all();
  }
  queue->thread.join();
  delete queue;
  --loopback_state()->n_queues;
  return 0;
}

Result zeCommandQueueExecuteCommandLists(void *handle, uint32_t n_lists, void **lists, void *fence_handle) {
  const std::scoped_lock lock(g_mutex);
  if (loopback_state()->execute_fault != 0) return loopback_state()->execute_fault;
  auto *queue = find<Queue>(handle);
  auto *fence = find<Fence>(fence_handle);
  auto *list = n_lists == 1 ? find<List>(lists[0]) : nullptr;
  if (queue == nullptr || list == nullptr || fence == nullptr) return misuse();
  if (list->is_in_flight || fence->is_in_flight) return misuse(kInUse);
  if (!list->is_closed || list->ordinal != queue->ordinal || fence->queue != queue || fence->is_signalled)
    return misuse();
  list->is_in_flight = true;
  fence->is_in_flight = true;
  queue->pending.push_back({list, fence});
  ++loopback_state()->n_executed;
  g_changed.notify_all();
  return 0;
}

Result zeCommandListCreate(Context context, Device device, const ListDescription *description, void **list) {
  const std::scoped_lock lock(g_mutex);
  if (loopback_state()->list_fault != 0) return loopback_state()->list_fault;
  const bool is_right = context != nullptr && device != nullptr && description->structure_type == 0xf &&
                        description->next == nullptr && description->flags == 0;
  if (!is_right) return misuse();
  auto *made = new List();
  made->ordinal = description->ordinal;
  all<List>().insert(made);
  ++loopback_state()->n_lists;
  *list = made;
  return 0;
}

Result zeCommandListDestroy(void *handle) {
  const std::scoped_lock lock(g_mutex);
  auto *list = find<List>(handle);
  if (list == nullptr) return misuse();
  if (list->is_in_flight) return misuse(kInUse);
  all<List>().erase(handle);
  delete list;
  --loopback_state()->n_lists;
  return 0;
}

Result zeCommandListClose(void *handle) {
  const std::scoped_lock lock(g_mutex);
  if (loopback_state()->close_fault != 0) return loopback_state()->close_fault;
  auto *list = find<List>(handle);
  if (list == nullptr || list->is_closed) return misuse();
  list->is_closed = true;
  return 0;
}

Result zeCommandListReset(void *handle) {
  const std::scoped_lock lock(g_mutex);
  if (loopback_state()->reset_fault != 0) return loopback_state()->reset_fault;
  auto *list = find<List>(handle);
  if (list == nullptr) return misuse();
  if (list->is_in_flight) return misuse(kInUse);
  *list = {.ordinal = list->ordinal, .commands = {}};
  return 0;
}

Result zeCommandListAppendBarrier(void *handle, void *signal, uint32_t n_waits, void **waits) {
  const std::scoped_lock lock(g_mutex);
  auto *list = find<List>(handle);
  const bool is_right = list != nullptr && !list->is_closed && signal == nullptr && n_waits == 0 && waits == nullptr;
  if (!is_right) return misuse();
  list->commands.push_back({});
  return 0;
}

#ifndef LOOPBACK_OLD
Result zeCommandListAppendMemoryCopy(void *handle, void *dst, const void *src, size_t size_bytes, void *signal,
                                     uint32_t n_waits, void **waits) {
  const std::scoped_lock lock(g_mutex);
  auto *list = find<List>(handle);
  const bool is_right = list != nullptr && !list->is_closed && dst != nullptr && src != nullptr && size_bytes != 0 &&
                        signal == nullptr && n_waits == 0 && waits == nullptr;
  if (!is_right) return misuse();
  if (list->n_copies >= 2 && loopback_state()->append_fault != 0) return loopback_state()->append_fault;
  list->commands.push_back({dst, src, size_bytes});
  ++list->n_copies;
  return 0;
}
#endif

Result zeFenceCreate(void *handle, const FenceDescription *description, void **fence) {
  const std::scoped_lock lock(g_mutex);
  if (loopback_state()->fence_fault != 0) return loopback_state()->fence_fault;
  auto *queue = find<Queue>(handle);
  const bool is_right = queue != nullptr && description->structure_type == 0x12 && description->next == nullptr &&
                        description->flags == 0;
  if (!is_right) return misuse();
  auto *made = new Fence{.queue = queue};
  all<Fence>().insert(made);
  ++queue->n_fences;
  ++loopback_state()->n_fences;
  *fence = made;
  return 0;
}

Result zeFenceDestroy(void *handle) {
  const std::scoped_lock lock(g_mutex);
  auto *fence = find<Fence>(handle);
  if (fence == nullptr) return misuse();
  if (fence->is_in_flight) return misuse(kInUse);
  --fence->queue->n_fences;
  all<Fence>().erase(handle);
  delete fence;
  --loopback_state()->n_fences;
  return 0;
}

Result zeFenceHostSynchronize(void *handle, uint64_t timeout_ns) {
  std::unique_lock lock(g_mutex);
  if (loopback_state()->wait_fault != 0) return loopback_state()->wait_fault;
  auto *fence = find<Fence>(handle);
  if (fence == nullptr || timeout_ns != std::numeric_limits<uint64_t>::max()) return misuse();
  if (!fence->is_signalled && !fence->is_in_flight) return misuse();  // a wait for ever
  g_holds = false;
  g_changed.notify_all();
  g_changed.wait(lock, [&] { return fence->is_signalled; });
  return 0;
}

Result zeFenceQueryStatus(void *handle) {
  const std::scoped_lock lock(g_mutex);
  if (loopback_state()->wait_fault != 0) return loopback_state()->wait_fault;
  auto *fence = find<Fence>(handle);
  if (fence == nullptr) return misuse();
  return fence->is_signalled ? 0 : kNotReady;
}

Result zeFenceReset(void *handle) {
  const std::scoped_lock lock(g_mutex);
  auto *fence = find<Fence>(handle);
  if (fence == nullptr) return misuse();
  if (fence->is_in_flight) return misuse(kInUse);
  fence->is_signalled = false;
  return 0;
}

}  // extern "C"
// NOLINTEND(readability-identifier-naming)
