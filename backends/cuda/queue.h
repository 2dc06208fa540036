// SPDX-License-Identifier: BSD-3-Clause
// One command queue: a stream of the module's own, and how the end of its work is seen.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "module.h"

// The largest copy from host memory that goes through the queue's bounce buffer (see copies.cpp).
inline constexpr size_t kBounceBytes = 8192;
// Tickets in flight at once when events mark them; the next one waits for the oldest.
inline constexpr size_t kEvents = 64;

struct sluice_queue {
  int32_t device = 0;
  CUcontext context = nullptr;
  bool is_retained = false;
  CUstream stream = nullptr;
  sluice::backends::cuda::CopyMode mode = sluice::backends::cuda::CopyMode::kFlag;

  uint64_t last_ticket = 0;    // the newest that was enqueued
  uint64_t done_ticket = 0;    // the newest that was seen done
  bool has_untracked = false;  // copies were enqueued after last_ticket

  uint64_t *word = nullptr;  // kFlag: host word that the stream writes each ticket to
  CUdeviceptr word_address = 0;
  std::array<CUevent, kEvents> events{};  // kEvent: one for each ticket in flight

  uint32_t n_polls = 0;
  sluice_result_t failure = SLUICE_SUCCESS;  // once a command failed, all that follow do
  std::string failure_text;

  alignas(64) std::array<char, kBounceBytes> bounce;
};

namespace sluice::backends::cuda {

// tickets.cpp. The queue's context is current in all but ticket_test and ticket_wait, which see to it themselves.
sluice_result_t tickets_open(sluice_queue *queue);
// Gives back what marks the tickets. The stream is idle.
sluice_result_t tickets_close(sluice_queue *queue);
// Marks the end of what was enqueued so far; the number is queue->last_ticket.
sluice_result_t ticket_enqueue(sluice_queue *queue);
sluice_result_t ticket_test(sluice_queue *queue, uint64_t ticket);
sluice_result_t ticket_wait(sluice_queue *queue, uint64_t ticket);

}  // namespace sluice::backends::cuda
