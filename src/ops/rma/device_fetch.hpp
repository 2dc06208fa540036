// SPDX-License-Identifier: BSD-3-Clause
// DeviceFetch: a short operation that brings back what was there, by one kernel of the device that the memory lies on,
// or by two copies where nothing is computed; the rank that asks waits once.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/status.hpp"
#include "device/queue.hpp"
#include "device/staging_pool.hpp"
#include "ops/rma/numbers.hpp"
#include "transfer/region.hpp"

namespace sluice::ops::rma {

// prepare(), run() and finish(), in this order, each once. One thread.
class DeviceFetch {
 public:
  // Whether `target`, reached by this rank, suits: short, one run of a device's memory, and there is a kernel for what
  // is computed. The first time of a pair on a device it may block for seconds.
  [[nodiscard]] static bool suits(const transfer::Region &target, const Arithmetic &arithmetic);

  // The same for an element that is compared and swapped.
  [[nodiscard]] static bool suits_swap(const transfer::Region &target);

  // Of regions that stay. `operand` is not looked at where nothing is written. `compare`: the element becomes `operand`
  // only where it is equal to that; null: whatever it is. Blocks where one of the two is to be brought to memory that
  // the device of `target` reaches. Errors: the runtime's; nothing was written.
  [[nodiscard]] Status prepare(const transfer::Region &target, const Arithmetic &arithmetic,
                               const transfer::Region &operand, const transfer::Region *compare,
                               const transfer::Region &result);
  // With the update lock of that memory held. Blocks until it is done. *is_done: it is; else the device refused, and
  // nothing was written. Errors: the runtime's.
  [[nodiscard]] Status run(bool *is_done);
  // Brings what was there to `result`, if it is not there yet. Blocks. Errors: the runtime's.
  [[nodiscard]] Status finish();

 private:
  [[nodiscard]] Status bring_near(const transfer::Region &region, std::byte *staged, const std::byte **memory);
  [[nodiscard]] Status enqueue_copy(std::byte *to, const std::byte *from);
  [[nodiscard]] Status enqueue(bool *is_refused);

  transfer::Region target_;
  transfer::Region result_;
  Arithmetic arithmetic_;
  device::StagingLease staging_;  // the operand, what was there and what it is compared with, one behind the other
  std::uint64_t size_bytes_ = 0;
  bool has_copy_kernel_ = false;
  const std::byte *operand_ = nullptr;
  const std::byte *compare_ = nullptr;  // null: nothing is compared
  std::byte *before_ = nullptr;
  device::Queue queue_;
};

}  // namespace sluice::ops::rma
