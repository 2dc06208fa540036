// SPDX-License-Identifier: BSD-3-Clause
// The bodies of the kernels that take queues' messages out of their slots, and bring them there, where waiting for them
// and telling of them are commands of others (docs/adr/0033).
#pragma once

#include "message.hpp"

namespace sluice::kernels {

// What one of `n_items` work-items does. Each looks at the word itself, which has come and stays as it is.
SLUICE_KERNELS_FUNCTION void take_share(const MessageTask &task, std::uint64_t item, std::uint64_t n_items) {
  message_share(task, message_begin(task, 0, nullptr), item, n_items);
}

// Several messages side by side, each by as many blocks as every other. Those without a word are copied whole.
struct TakeList {
  MessageTask tasks[kMostMessages];  // NOLINT(modernize-avoid-c-arrays): handed to devices as plain bytes
  std::uint64_t n_tasks;             // 1 to kMostMessages
};

// What block `block` of n_blocks, a multiple of n_tasks, has to do with one of them.
struct TakePart {
  std::uint64_t task;
  std::uint64_t part;
  std::uint64_t n_parts;
};
SLUICE_KERNELS_FUNCTION TakePart find_part(const TakeList &list, std::uint64_t block, std::uint64_t n_blocks) {
  return {block % list.n_tasks, block / list.n_tasks, n_blocks / list.n_tasks};
}

}  // namespace sluice::kernels
