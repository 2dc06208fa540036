// SPDX-License-Identifier: BSD-3-Clause
// OwnMemory: what this rank has in a window, and what it does there for ranks that cannot reach it themselves.
#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <span>
#include <vector>

#include "base/status.hpp"
#include "ops/rma/locks.hpp"
#include "ops/rma/numbers.hpp"
#include "transfer/window_message.hpp"

namespace sluice::ops::rma {

// Threads: any, but for set(), by who makes the window, before others know of it.
class OwnMemory {
 public:
  // The memory of a window that is not dynamic; its place was found when the window was made.
  void set(void *base, std::uint64_t size_bytes, const device::Place &place);
  // Of a dynamic one. Errors: memory that was freed, that overlaps what is attached; what is not attached.
  [[nodiscard]] Status attach(void *base, std::uint64_t size_bytes);
  [[nodiscard]] Status detach(const void *base);

  // Carries out a put, a get, an update or a swap, which a peer has asked for: nothing of it is believed. *answer gets
  // what is told the peer. Blocks for the copies. False where `words` hold an update of another's: the caller tries
  // again later, and nothing was done. *status: errors, after which nothing was written; the runtime's, after which a
  // part may be.
  [[nodiscard]] bool serve(const transfer::WindowMessage &message, LockWords *words, std::vector<std::byte> *answer,
                           Status *status);

 private:
  struct Part {
    std::byte *base = nullptr;
    std::uint64_t size_bytes = 0;
    device::Place place;
  };
  [[nodiscard]] Status find(const std::vector<transfer::Block> &runs, transfer::Region *region);

  std::mutex mutex_;
  bool is_dynamic_ = true;
  std::vector<Part> parts_;
};

// Reads, changes and writes elements of `target`, all of `operand_bytes` or, where there is no operand, nothing but the
// read: what was there before goes to *before. `compare`, if there is one, has to be there for anything to be written.
// The caller holds the update lock of that memory. Blocks. Errors: the runtime's. Any thread.
[[nodiscard]] Status update(const transfer::Region &target, const Arithmetic &arithmetic,
                            std::span<const std::byte> operand, const std::byte *compare,
                            std::vector<std::byte> *before);

}  // namespace sluice::ops::rma
