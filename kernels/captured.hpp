// SPDX-License-Identifier: BSD-3-Clause
// The body of the kernel of a message that was captured into a graph (docs/adr/0057). Its arguments are the same at
// each launch of the graph, so what changes from one to the next lies in device memory of each side: how many launches
// are over, from which follow the message's number and which of the two slots is its own. What the work-items of one
// block do, in three steps as those of message.hpp; a long message has several blocks, its parts.
#pragma once

#include "message.hpp"

namespace sluice::kernels {

// As sluice_captured_end_t of sluice/stream_message.h.
struct CapturedEnd {
  unsigned char *slots;
  std::uint64_t slot_bytes;
  std::uint64_t size_bytes;  // of the message, as both sides know it
  std::uint64_t *filled;     // the newest message that is in its slot; the sender's
  std::uint64_t *taken;      // the newest that is out of it; the receiver's
  std::uint64_t is_ready;    // 0: what is above is not known yet
  std::uint64_t n_launches;  // that are over
  std::uint64_t seen;        // by the first part, for the others
  std::uint32_t n_done;      // parts
};

struct CapturedTask {
  CapturedEnd *end;
  unsigned char *data;  // what a send reads and a receive writes
  std::uint32_t is_send;
  std::uint32_t n_parts;  // blocks that share it, at least 1
};

// There are two slots: message k waits until k - 2 is out of its own.
inline constexpr std::uint64_t kCapturedSlots = 2;

struct CapturedCopy {
  CopyOfBytes copy;
  std::uint64_t number;
};

// Part `part` may go on. One part looks at the word of the other side, as in message.hpp, and tells the others.
SLUICE_KERNELS_FUNCTION bool captured_has_come(const CapturedTask &task, std::uint64_t part) {
  const CapturedEnd &end = *task.end;
  if (SLUICE_KERNELS_LOOK(&end.is_ready) == 0) return false;
  const std::uint64_t number = end.n_launches + 1;
  if (part != 0) return SLUICE_KERNELS_LOOK(&end.seen) >= number;
  return task.is_send != 0 ? SLUICE_KERNELS_LOOK(end.taken) + kCapturedSlots >= number
                           : SLUICE_KERNELS_LOOK(end.filled) >= number;
}

// The first step, of one work-item of each block, for the others.
SLUICE_KERNELS_FUNCTION CapturedCopy captured_begin(const CapturedTask &task, std::uint64_t part) {
  while (!captured_has_come(task, part)) SLUICE_KERNELS_PAUSE();
  CapturedEnd *const end = task.end;
  const std::uint64_t number = end->n_launches + 1;
  if (part == 0 && task.n_parts > 1) {
    SLUICE_KERNELS_SYSTEM_FENCE();
    SLUICE_KERNELS_SET(&end->seen, number);
  }
  unsigned char *const slot = end->slots + number % kCapturedSlots * end->slot_bytes;
  return {
      task.is_send != 0 ? CopyOfBytes{slot, task.data, end->size_bytes} : CopyOfBytes{task.data, slot, end->size_bytes},
      number};
}

// The second, of all: work-item `item` of the `n_items` of all parts.
SLUICE_KERNELS_FUNCTION void captured_share(const CapturedCopy &begun, std::uint64_t item, std::uint64_t n_items) {
  copy_bytes(begun.copy, item, n_items);
}

// As in message.hpp, what is received lies in the device's own memory.
SLUICE_KERNELS_FUNCTION void captured_fence(const CapturedTask &task) {
  if (task.is_send != 0) {
    SLUICE_KERNELS_SYSTEM_FENCE();
  } else {
    SLUICE_KERNELS_DEVICE_FENCE();
  }
}

// The last, of one work-item of each block. The last part of all says that the message is there, or out of its slot.
SLUICE_KERNELS_FUNCTION void captured_end(const CapturedTask &task, std::uint64_t number) {
  CapturedEnd *const end = task.end;
  captured_fence(task);
  if (task.n_parts > 1) {
    if (SLUICE_KERNELS_COUNT_UP(&end->n_done) + 1 != task.n_parts) return;
    end->n_done = 0;
    // The other parts' fences came before their counts, which this one has seen.
    captured_fence(task);
  }
  end->n_launches = number;
  SLUICE_KERNELS_SET(task.is_send != 0 ? end->filled : end->taken, number);
}

// Messages side by side, as MessageList.
inline constexpr unsigned kMostCaptured = 32;
struct CapturedList {
  CapturedTask tasks[kMostCaptured];  // NOLINT(modernize-avoid-c-arrays): handed to devices as plain bytes
  std::uint32_t n_tasks;              // 1 to kMostCaptured
  std::uint32_t n_parts;              // of all of them
};

}  // namespace sluice::kernels
