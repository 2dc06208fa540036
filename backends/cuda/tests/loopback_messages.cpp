// SPDX-License-Identifier: BSD-3-Clause
// The kernels that carry messages of queues, on the loop-back driver: their blocks by turns, the last one first.
#include <algorithm>
#include <thread>
#include <vector>

#include "loopback.h"
#include "message.hpp"

namespace kernels = sluice::kernels;

namespace {

bool is_inside(const kernels::MessageTask &task, CUdevice device) {
  for (const std::uint64_t *word : {task.word, static_cast<const std::uint64_t *>(task.mark)}) {
    if (word != nullptr && !loopback::is_reachable(word, sizeof(*word), device)) return false;
  }
  return task.copy.size_bytes == 0 || loopback::is_reachable(task.copy.dst, task.copy.size_bytes, device);
}

// What the kernels of messages share. A stream has a place of its own.
kernels::MessageShared *shared() {
  static std::vector<kernels::MessageShared> made(size_t{kernels::kMostSharingStreams} * kernels::kMostMessages);
  return made.data();
}

// Part `part` of a message that has come, by n_items work-items, the last one first. False: it would touch what the
// device does not reach.
bool carry_part(const kernels::MessageTask &task, uint64_t part, uint64_t n_parts, uint64_t n_items, CUdevice device) {
  const kernels::MessageSource source = kernels::message_begin(task, part, shared());
  if (!loopback::may_run(
          [&] { return source.size_bytes == 0 || loopback::is_reachable(source.src, source.size_bytes, device); })) {
    return false;
  }
  for (uint64_t item = n_items; item-- > 0;) {
    kernels::message_share(task, source, part * n_items + item, n_parts * n_items);
  }
  kernels::message_end(task, shared());
  std::this_thread::yield();  // others may look at what is there of it
  return true;
}

bool is_inside(const kernels::CapturedTask &task, CUdevice device) {
  return loopback::is_reachable(task.end, sizeof(*task.end), device);
}

// What it names can be looked at when it has come: its end says so then.
bool carry_captured(const kernels::CapturedTask &task, uint64_t part, CUdevice device) {
  const kernels::CapturedCopy begun = kernels::captured_begin(task, part);
  const kernels::CopyOfBytes &copy = begun.copy;
  const auto reaches = [&](const void *address, size_t size_bytes) {
    return size_bytes == 0 || loopback::is_reachable(address, size_bytes, device);
  };
  if (!loopback::may_run([&] {
        return reaches(copy.src, copy.size_bytes) && reaches(copy.dst, copy.size_bytes) &&
               reaches(task.end->filled, sizeof(uint64_t)) && reaches(task.end->taken, sizeof(uint64_t));
      })) {
    return false;
  }
  kernels::captured_share(begun, part, task.n_parts);
  kernels::captured_end(task, begun.number);
  std::this_thread::yield();
  return true;
}

}  // namespace

loopback::Launch loopback::launch_of_message(const kernels::MessageTask &task, uint64_t n_blocks, uint64_t n_threads,
                                             CUdevice device) {
  const bool waits = task.word != nullptr && task.least != 0;
  const auto run = [=] {
    // A few work-items stand for all: as many as there are would each touch memory far apart.
    const uint64_t n_items = std::min<uint64_t>(n_threads, 3);
    std::vector<bool> is_done(n_blocks);
    bool is_good = loopback::may_run([&] { return is_inside(task, device); });
    for (uint64_t n_left = n_blocks; is_good && n_left != 0 && !loopback::is_over(); std::this_thread::yield()) {
      for (uint64_t part = n_blocks; is_good && part-- > 0;) {
        if (is_done[part] || !kernels::message_has_come(task, part, shared())) continue;
        is_good = carry_part(task, part, n_blocks, n_items, device);
        is_done[part] = true;
        --n_left;
      }
    }
    if (waits) --state().n_waits;
  };
  return {run, waits};
}

namespace {

// The blocks of a list, of which those that need not wait go on; the last one first. `has_come` says whether a part may
// go on, and `carry` carries it; false: it would touch what the device does not reach.
template <typename List, typename HasCome, typename Carry>
loopback::Launch launch_of_list(const List &list, bool waits, uint64_t n_blocks, CUdevice device, HasCome has_come,
                                Carry carry) {
  const auto run = [=] {
    std::vector<uint32_t> next(n_blocks);
    for (uint64_t block = 0; block < n_blocks; ++block) next[block] = static_cast<uint32_t>(block);
    std::vector<kernels::MessagePart> found(n_blocks);
    const bool is_good = loopback::may_run([&] {
      return std::all_of(list.tasks, list.tasks + list.n_tasks,
                         [&](const auto &task) { return is_inside(task, device); });
    });
    uint64_t n_left = is_good ? list.n_parts : 0;
    while (n_left != 0 && !loopback::is_over()) {
      for (uint64_t block = n_blocks; block-- > 0;) {
        if (next[block] >= list.n_parts) continue;
        kernels::find_part(list, next[block], &found[block]);
        const auto &task = list.tasks[found[block].task];
        const uint64_t part = next[block] - found[block].first;
        if (!has_come(task, part)) continue;
        if (!carry(task, part)) break;
        next[block] += static_cast<uint32_t>(n_blocks);
        --n_left;
      }
      if (n_left != 0) std::this_thread::yield();
    }
    if (waits) --loopback::state().n_waits;
  };
  return {run, waits};
}

}  // namespace

loopback::Launch loopback::launch_of_messages(const kernels::MessageList &list, uint64_t n_blocks, CUdevice device) {
  const bool waits = std::any_of(list.tasks, list.tasks + list.n_tasks,
                                 [](const auto &task) { return task.word != nullptr && task.least != 0; });
  return launch_of_list(
      list, waits, n_blocks, device,
      [](const auto &task, uint64_t part) { return kernels::message_has_come(task, part, shared()); },
      [=](const auto &task, uint64_t part) { return carry_part(task, part, task.n_parts, 1, device); });
}

// Sends wait, too, for room.
loopback::Launch loopback::launch_of_captured(const kernels::CapturedList &list, uint64_t n_blocks, CUdevice device) {
  return launch_of_list(list, true, n_blocks, device, kernels::captured_has_come,
                        [=](const auto &task, uint64_t part) { return carry_captured(task, part, device); });
}
