// SPDX-License-Identifier: BSD-3-Clause
// The body of the kernel that carries a queue's message: it may wait for a word, copies as many bytes as that says, and
// sets another when they are there (docs/adr/0033). What the work-items of one block do, in three steps; between the
// steps all of them wait for each other.
#pragma once

#include "copy.hpp"
#include "signal.hpp"

// A look at a word that others write, and its setting behind a fence.
#ifndef SLUICE_KERNELS_LOOK
#define SLUICE_KERNELS_LOOK(word) __atomic_load_n(word, __ATOMIC_ACQUIRE)
#define SLUICE_KERNELS_SET(word, value) __atomic_store_n(word, value, __ATOMIC_RELEASE)
#endif

namespace sluice::kernels {

struct MessageTask {
  CopyOfBytes copy;  // that many bytes at most
  // Null: all of them. Else the kernel waits until *word is at least that, and its lower half is the length.
  const std::uint64_t *word;
  std::uint64_t least;
  // Null: none. With one the kernel has one block.
  std::uint64_t *mark;
  std::uint64_t value;
};

SLUICE_KERNELS_FUNCTION bool message_has_come(const MessageTask &task) {
  return task.word == nullptr || SLUICE_KERNELS_LOOK(task.word) >= task.least;
}

// The first step, of one work-item of each block, for the others: how many bytes. What was done before the word came
// to its value is there for all steps.
SLUICE_KERNELS_FUNCTION std::uint64_t message_begin(const MessageTask &task) {
  if (task.word == nullptr) return task.copy.size_bytes;
  std::uint64_t seen = SLUICE_KERNELS_LOOK(task.word);
  for (; seen < task.least; seen = SLUICE_KERNELS_LOOK(task.word)) SLUICE_KERNELS_PAUSE();
  SLUICE_KERNELS_SYSTEM_FENCE();
  const std::uint64_t length = seen & 0xFFFFFFFFU;
  return length < task.copy.size_bytes ? length : task.copy.size_bytes;
}

// The second, of all: work-item `item` of `n_items`.
SLUICE_KERNELS_FUNCTION void message_share(const MessageTask &task, std::uint64_t size_bytes, std::uint64_t item,
                                           std::uint64_t n_items) {
  const CopyOfBytes copy = {task.copy.dst, task.copy.src, size_bytes};
  copy_bytes(copy, item, n_items);
}

// The last, of one work-item. What was copied is there for whoever sees the value, and so is what the stream did
// before.
SLUICE_KERNELS_FUNCTION void message_end(const MessageTask &task) {
  if (task.mark == nullptr) return;
  SLUICE_KERNELS_SYSTEM_FENCE();
  SLUICE_KERNELS_SET(task.mark, task.value);
}

// Messages side by side: block b of n_blocks makes those with the numbers b, b + n_blocks, ..., one after the other,
// and needs nothing of the other blocks.
inline constexpr unsigned kMostMessages = 32;
struct MessageList {
  MessageTask tasks[kMostMessages];  // NOLINT(modernize-avoid-c-arrays): handed to devices as plain bytes
  std::uint64_t n_tasks;             // 1 to kMostMessages
};

}  // namespace sluice::kernels
