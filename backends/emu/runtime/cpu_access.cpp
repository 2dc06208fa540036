// SPDX-License-Identifier: BSD-3-Clause
// Device memory that the CPU may touch for a while.
#include "runtime/memory_table.h"

namespace emurt {

void MemoryTable::set_cpu_access(bool is_open) {
  for (const auto &[begin, allocation] : live_) {
    if (allocation->entry().kind != EMU_MEMORY_DEVICE) continue;
    // Where the system refuses to open, the kernel faults, which names the address.
    static_cast<void>(allocation->view_.set_cpu_access(is_open));
  }
}

MemoryTable::OpenToCpu::OpenToCpu(MemoryTable &memory) : memory_(memory) {
  const std::scoped_lock lock(memory_.mutex_);
  ++memory_.n_open_to_cpu_;
  memory_.set_cpu_access(true);  // also where others have opened it: there may be memory since
}

MemoryTable::OpenToCpu::~OpenToCpu() {
  const std::scoped_lock lock(memory_.mutex_);
  if (--memory_.n_open_to_cpu_ == 0) memory_.set_cpu_access(false);
}

}  // namespace emurt
