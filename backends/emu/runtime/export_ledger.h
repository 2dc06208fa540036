// SPDX-License-Identifier: BSD-3-Clause
// The list of exported allocations that live, in a memory file that other processes read: a freed allocation's stretch
// of device memory is still there to be mapped, so that somebody has to say that it is no longer what it was.
#pragma once

#include <cstdint>
#include <vector>

#include "emurt.h"

namespace emurt {

// Slots of 64 bits: the id of a live exported allocation, or 0. The owner's table lock is held around every call.
class ExportLedger {
 public:
  ExportLedger() = default;
  ~ExportLedger();
  ExportLedger(const ExportLedger &) = delete;
  ExportLedger &operator=(const ExportLedger &) = delete;

  // Writes an allocation's id into a free slot; makes the file on the first call.
  emu_result_t publish(uint64_t allocation_id, uint32_t *slot);
  // Empties the slot, which may be used again.
  void withdraw(uint32_t slot);
  int descriptor() const { return descriptor_; }

  // Whether a ledger, which may be another process's, has this id in this slot.
  static bool is_live(int descriptor, uint32_t slot, uint64_t allocation_id);

 private:
  int descriptor_ = -1;
  uint64_t *slots_ = nullptr;  // this process's own view
  uint32_t capacity_ = 0;
  std::vector<uint32_t> free_;  // the next one at the end
};

}  // namespace emurt
