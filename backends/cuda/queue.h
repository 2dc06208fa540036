// SPDX-License-Identifier: BSD-3-Clause
// One command queue: a stream of the module's own, and how the end of its work is seen.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "graphs.h"
#include "kernels.h"
#include "module.h"

// The largest copy that small_copies.cpp carries. Above, its pass over the data costs what it saves
// (docs/measurements/2026-11-21-calls-h200).
inline constexpr size_t kSmallBytes = 8192;
// Tickets in flight at once when events mark them; the next one waits for the oldest.
inline constexpr size_t kEvents = 64;

// Host memory into which the device copies, and whose words are blank until then (small_copies.cpp).
struct Landing {
  char *memory = nullptr;
  // What is not blank any more, or soon will not be.
  size_t first = 0;
  size_t size_bytes = 0;
};

struct sluice_queue {
  alignas(64) std::array<char, kSmallBytes> bounce;  // small data on its way up

  CUcontext context = nullptr;
  CUstream stream = nullptr;
  int32_t device = 0;
  sluice::backends::cuda::CopyMode mode = sluice::backends::cuda::CopyMode::kFlag;

  uint64_t last_ticket = 0;  // the newest that was enqueued
  uint64_t done_ticket = 0;  // the newest that was seen done

  uint64_t *word = nullptr;  // kFlag: host word that the stream writes each ticket to
  CUdeviceptr word_address = 0;
  uint64_t marked_ticket = 0;             // kFlag: the newest that the stream writes; it stands for all before it
  std::array<CUevent, kEvents> events{};  // kEvent: one for each ticket in flight

  CUevent order = nullptr;  // marks what other queues wait for; null until the first does

  // The kernel that it ran last, and of which text that is; a queue belongs to one context, as a kernel does.
  const sluice::backends::cuda::KernelText *kernel_text = nullptr;
  sluice::backends::cuda::Kernel kernel;

  sluice::backends::cuda::KernelGraphs graphs;
  sluice::backends::cuda::EndWords end_words;
  // What was enqueued last is a kernel that tells of its end, and so of that of all before it; no word: it is not.
  sluice::backends::cuda::AwaitedEnd end;

  std::string failure_text;
  sluice_result_t failure = SLUICE_SUCCESS;  // once a command failed, all that follow do
  uint32_t n_polls = 0;

  std::array<Landing, 2> landings;  // one in use while the other is made blank; without memory when there was none
  unsigned landing = 0;
  uint32_t blank = 0;  // the word that says "nothing has arrived here"

  unsigned long long context_number = 0;  // 0: the driver gives contexts none

  bool is_retained = false;
  bool has_untracked = false;    // copies were enqueued after last_ticket
  bool can_write_words = false;  // small data may be written by the stream itself
};

namespace sluice::backends::cuda {

// A command goes into the queue, of which no ticket is the end yet.
inline void note_command(sluice_queue *queue) {
  queue->has_untracked = true;
  queue->end = {};
}

// tickets.cpp. The queue's context is current in all but ticket_test and ticket_wait, which see to it themselves.
sluice_result_t tickets_open(sluice_queue *queue);
// Gives back what marks the tickets. The stream is idle.
sluice_result_t tickets_close(sluice_queue *queue);
// The same where the device was reset, which has taken all else.
void tickets_forget(sluice_queue *queue);
// Marks the end of what was enqueued so far; the number is queue->last_ticket.
sluice_result_t ticket_enqueue(sluice_queue *queue);
// The same for one that is rather tested than waited for: as long as nothing is enqueued behind it, an empty stream
// says as much as a mark, and the device has a command less to do.
sluice_result_t ticket_enqueue_unmarked(sluice_queue *queue);
// Before anything is enqueued behind such a ticket.
sluice_result_t tickets_mark(sluice_queue *queue);
sluice_result_t ticket_test(sluice_queue *queue, uint64_t ticket);
sluice_result_t ticket_wait(sluice_queue *queue, uint64_t ticket);

// small_copies.cpp. The queue's context is current, and nothing that was enqueued earlier is unfinished.
// Without host memory for it the queue does without: never an error.
void small_copies_open(sluice_queue *queue);
// The stream is idle.
sluice_result_t small_copies_close(sluice_queue *queue);
// One whole copy; the two differ in the side that is memory of the queue's device. dst (down) and src (up) are memory
// that the CPU reaches. size_bytes: 1 to kSmallBytes.
sluice_result_t small_copy_down(sluice_queue *queue, void *dst, const void *src, size_t size_bytes);
sluice_result_t small_copy_up(sluice_queue *queue, void *dst, const void *src, size_t size_bytes);

}  // namespace sluice::backends::cuda
