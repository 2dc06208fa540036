// SPDX-License-Identifier: BSD-3-Clause
// The body of the kernel that carries a queue's message: it may wait for a word, copies what that names, and sets
// another when it is there (docs/adr/0033). What the work-items of one block do, in three steps; between the steps all
// of them wait for each other. A long message is copied by several blocks, its parts, which need not run side by side.
#pragma once

#include "copy.hpp"
#include "signal.hpp"

// A look at a word that others write, and its setting behind a fence.
#ifndef SLUICE_KERNELS_LOOK
#define SLUICE_KERNELS_LOOK(word) __atomic_load_n(word, __ATOMIC_ACQUIRE)
#define SLUICE_KERNELS_SET(word, value) __atomic_store_n(word, value, __ATOMIC_RELEASE)
#endif

// Counts a word of the kernel's own device up by one; what it was.
#ifndef SLUICE_KERNELS_COUNT_UP
#define SLUICE_KERNELS_COUNT_UP(counter) __atomic_fetch_add(counter, 1U, __ATOMIC_ACQ_REL)
#endif

namespace sluice::kernels {

// The same number as SLUICE_LENGTH_BITS of sluice/backend.h.
inline constexpr unsigned kLengthBits = 24;

struct MessageTask {
  CopyOfBytes copy;  // that many bytes at most
  // Null: all of them, from copy.src. Else the kernel waits until *word is at least that; its lowest kLengthBits are
  // the length, those above in its lower half the number of the unit, from copy.src on, where the bytes begin.
  const std::uint64_t *word;
  std::uint64_t least;
  std::uint64_t unit_bytes;
  // Null: none. Set when the last part is there.
  std::uint64_t *mark;
  std::uint64_t value;
  std::uint32_t n_parts;  // blocks that share it
  std::uint32_t counter;  // that these count up, where there are several and a mark: no other message's meanwhile
};

// What of it is to be copied.
struct MessageSource {
  const unsigned char *src;
  std::uint64_t size_bytes;
};

SLUICE_KERNELS_FUNCTION bool message_has_come(const MessageTask &task) {
  return task.word == nullptr || SLUICE_KERNELS_LOOK(task.word) >= task.least;
}

// The first step, of one work-item of each block, for the others. What was done before the word came to its value is
// there for all steps.
SLUICE_KERNELS_FUNCTION MessageSource message_begin(const MessageTask &task) {
  if (task.word == nullptr) return {task.copy.src, task.copy.size_bytes};
  std::uint64_t seen = SLUICE_KERNELS_LOOK(task.word);
  for (; seen < task.least; seen = SLUICE_KERNELS_LOOK(task.word)) SLUICE_KERNELS_PAUSE();
  SLUICE_KERNELS_SYSTEM_FENCE();
  const std::uint64_t length = seen & ((1U << kLengthBits) - 1);
  const std::uint64_t unit = (seen & 0xFFFFFFFFU) >> kLengthBits;
  return {task.copy.src + unit * task.unit_bytes, length < task.copy.size_bytes ? length : task.copy.size_bytes};
}

// The second, of all: work-item `item` of the `n_items` of all parts.
SLUICE_KERNELS_FUNCTION void message_share(const MessageTask &task, const MessageSource &source, std::uint64_t item,
                                           std::uint64_t n_items) {
  const CopyOfBytes copy = {task.copy.dst, source.src, source.size_bytes};
  copy_bytes(copy, item, n_items);
}

// The last, of one work-item of each block. What was copied is there for whoever sees the value, and so is what the
// stream did before. `counters` are all 0 before the first launch, and again behind each.
SLUICE_KERNELS_FUNCTION void message_end(const MessageTask &task, std::uint32_t *counters) {
  if (task.mark == nullptr) return;
  SLUICE_KERNELS_SYSTEM_FENCE();
  if (task.n_parts > 1) {
    std::uint32_t *const counter = counters + task.counter;
    if (SLUICE_KERNELS_COUNT_UP(counter) + 1 != task.n_parts) return;
    *counter = 0;
    // The other parts' fences came before their counts, which this one has seen.
    SLUICE_KERNELS_SYSTEM_FENCE();
  }
  SLUICE_KERNELS_SET(task.mark, task.value);
}

// Messages side by side: the parts of all of them in one row, of which block b of n_blocks makes those with the numbers
// b, b + n_blocks, ..., one after the other, and needs nothing of the other blocks.
inline constexpr unsigned kMostMessages = 32;
struct MessageList {
  MessageTask tasks[kMostMessages];  // NOLINT(modernize-avoid-c-arrays): handed to devices as plain bytes
  std::uint32_t n_tasks;             // 1 to kMostMessages
  std::uint32_t n_parts;             // of all of them
};

// Which message a part of the row belongs to, and which of its parts it is. Asked for parts in their order.
struct MessagePart {
  std::uint32_t task;
  std::uint32_t first;  // of that task, in the row
};
SLUICE_KERNELS_FUNCTION void find_part(const MessageList &list, std::uint32_t part, MessagePart *found) {
  while (part - found->first >= list.tasks[found->task].n_parts) {
    found->first += list.tasks[found->task].n_parts;
    ++found->task;
  }
}

// Kernels of one device that may run at the same time, those of different streams, count in different places. There is
// room for so many streams.
inline constexpr unsigned kMostCountingStreams = 1024;

}  // namespace sluice::kernels
