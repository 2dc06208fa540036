// SPDX-License-Identifier: BSD-3-Clause
// The body of the kernel that carries a queue's message: it may wait for a word, copies what that names, and sets
// another when it is there (docs/adr/0033). What the work-items of one block do, in three steps; between the steps all
// of them wait for each other. A long message is copied by several blocks, its parts, which need not run side by side.
#pragma once

#include "copy.hpp"
#include "signal.hpp"

// A look at a word that others write, which acquires what they did before; and its setting behind a fence.
#ifndef SLUICE_KERNELS_LOOK
#define SLUICE_KERNELS_LOOK(word) __atomic_load_n(word, __ATOMIC_ACQUIRE)
#define SLUICE_KERNELS_SET(word, value) __atomic_store_n(word, value, __ATOMIC_RELEASE)
#endif

// The device's own memory, as whoever reaches it sees it.
#ifndef SLUICE_KERNELS_DEVICE_FENCE
#define SLUICE_KERNELS_DEVICE_FENCE() SLUICE_KERNELS_SYSTEM_FENCE()
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
  std::uint64_t units_bytes;  // of all units
  // Null: none. Set when the last part is there.
  std::uint64_t *mark;
  std::uint64_t value;
  std::uint32_t n_parts;  // blocks that share it; 0: each by itself, of what has come already
  std::uint32_t shared;   // where they tell each other, if there are several: no other message's place meanwhile
};

// What the parts of a message tell each other, in memory of their own device. All of it is 0 before the first launch,
// and again behind each.
struct MessageShared {
  std::uint64_t seen;  // the word, when it had come to its value
  std::uint32_t n_done;
};

// What of it is to be copied.
struct MessageSource {
  const unsigned char *src;
  std::uint64_t size_bytes;
};

// What part `part` looks at, and the least that it waits for. Blocks that look at one word over the bus again and again
// keep each other waiting, and whoever writes it (256 KiB by 8 blocks took 79 us, and take 28): the first part does so,
// and tells the others.
struct MessageSign {
  const std::uint64_t *word;
  std::uint64_t least;
};
SLUICE_KERNELS_FUNCTION MessageSign message_sign(const MessageTask &task, std::uint64_t part,
                                                 const MessageShared *shared) {
  if (part == 0 || task.n_parts <= 1) return {task.word, task.least};
  return {&shared[task.shared].seen, 1};
}

SLUICE_KERNELS_FUNCTION bool message_has_come(const MessageTask &task, std::uint64_t part,
                                              const MessageShared *shared) {
  if (task.word == nullptr) return true;
  const MessageSign sign = message_sign(task, part, shared);
  return SLUICE_KERNELS_LOOK(sign.word) >= sign.least;
}

// The first step, of one work-item of each block, for the others. What was done before the word came to its value is
// there for all steps.
SLUICE_KERNELS_FUNCTION MessageSource message_begin(const MessageTask &task, std::uint64_t part,
                                                    MessageShared *shared) {
  if (task.word == nullptr) return {task.copy.src, task.copy.size_bytes};
  const MessageSign sign = message_sign(task, part, shared);
  std::uint64_t seen = SLUICE_KERNELS_LOOK(sign.word);
  for (; seen < sign.least; seen = SLUICE_KERNELS_LOOK(sign.word)) SLUICE_KERNELS_PAUSE();
  if (part == 0 && task.n_parts > 1) {
    SLUICE_KERNELS_SYSTEM_FENCE();
    SLUICE_KERNELS_SET(&shared[task.shared].seen, seen);
  }
  const std::uint64_t length = seen & ((1U << kLengthBits) - 1);
  const std::uint64_t unit = (seen & 0xFFFFFFFFU) >> kLengthBits;
  // Another process writes the word: what would lie behind the last unit is not there.
  const std::uint64_t first = unit * task.unit_bytes;
  const std::uint64_t room = first < task.units_bytes ? task.units_bytes - first : 0;
  const std::uint64_t most = task.copy.size_bytes < room ? task.copy.size_bytes : room;
  return {task.copy.src + (room != 0 ? first : 0), length < most ? length : most};
}

// The second, of all: work-item `item` of the `n_items` of all parts.
SLUICE_KERNELS_FUNCTION void message_share(const MessageTask &task, const MessageSource &source, std::uint64_t item,
                                           std::uint64_t n_items) {
  const CopyOfBytes copy = {task.copy.dst, source.src, source.size_bytes};
  copy_bytes(copy, item, n_items);
}

// What is received lies in the device's own memory, to which all others come through the device: so the fence for all
// memory, which takes 1.2 us longer on an H100 (docs/adr/0033), is for what is sent.
SLUICE_KERNELS_FUNCTION void message_fence(const MessageTask &task) {
  if (task.word != nullptr) {
    SLUICE_KERNELS_DEVICE_FENCE();
  } else {
    SLUICE_KERNELS_SYSTEM_FENCE();
  }
}

// The last, of one work-item of each block. What was copied is there for whoever sees the value, and so is what the
// stream did before.
SLUICE_KERNELS_FUNCTION void message_end(const MessageTask &task, MessageShared *shared) {
  if (task.mark == nullptr) return;
  message_fence(task);
  if (task.n_parts > 1) {
    MessageShared *const own = shared + task.shared;
    if (SLUICE_KERNELS_COUNT_UP(&own->n_done) + 1 != task.n_parts) return;
    *own = {};
    // The other parts' fences came before their counts, which this one has seen.
    message_fence(task);
  }
  SLUICE_KERNELS_SET(task.mark, task.value);
}

// Messages side by side: the parts of all of them in one row, of which block b of n_blocks makes those with the numbers
// b, b + n_blocks, ..., one after the other, and needs nothing of the other blocks.
inline constexpr unsigned kMostMessages = 32;
template <unsigned kMost>
struct MessageListOf {
  MessageTask tasks[kMost];  // NOLINT(modernize-avoid-c-arrays): handed to devices as plain bytes
  std::uint32_t n_tasks;     // 1 to kMost
  std::uint32_t n_parts;     // of all of them
};
using MessageList = MessageListOf<kMostMessages>;
// What a launch costs the host grows with the length of what it is handed, so few messages have a kernel of their own.
inline constexpr unsigned kFewMessages = 4;
using ShortMessageList = MessageListOf<kFewMessages>;

// Which message a part of the row belongs to, and which of its parts it is. Asked for parts in their order.
struct MessagePart {
  std::uint32_t task;
  std::uint32_t first;  // of that task, in the row
};
template <typename List>
SLUICE_KERNELS_FUNCTION void find_part(const List &list, std::uint32_t part, MessagePart *found) {
  while (part - found->first >= list.tasks[found->task].n_parts) {
    found->first += list.tasks[found->task].n_parts;
    ++found->task;
  }
}

// Kernels of one device that may run at the same time, those of different streams, share different places. There is
// room for so many streams.
inline constexpr unsigned kMostSharingStreams = 256;

}  // namespace sluice::kernels
