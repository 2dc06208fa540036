// SPDX-License-Identifier: BSD-3-Clause
// SharedLock: one process of a node at a time has it. The system keeps it, so it goes with a process that ends, and no
// process can harm it but by holding it.
#pragma once

#include "base/file_descriptor.hpp"
#include "base/status.hpp"
#include "wire/segment_offers.hpp"

namespace sluice::wire {

// Move only. One thread of the process at a time.
class SharedLock {
 public:
  // Makes a lock, which processes of this user open by *name until SegmentOffers::remove(). Errors: the system refuses.
  [[nodiscard]] Status create(SegmentName *name);
  // Blocks as ask_for_segment(). Errors: there is none of that name; the system refuses.
  [[nodiscard]] Status open(const SegmentName &name);

  [[nodiscard]] bool is_there() const noexcept { return file_.get() >= 0; }
  // *is_taken: this process has it now, until release(). Never blocks. Errors: the system refuses; it is not taken
  // then.
  [[nodiscard]] Status try_take(bool *is_taken) const;
  void release() const noexcept;

 private:
  FileDescriptor file_;
};

}  // namespace sluice::wire
