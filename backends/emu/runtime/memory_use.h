// SPDX-License-Identifier: BSD-3-Clause
// What a copy and a kernel do before they touch memory.
#pragma once

#include <cstddef>

#include "runtime/memory_table.h"

namespace emurt {

// Keeps the memory of an endpoint from being freed while its bytes are read or written.
class MemoryUse {
 public:
  explicit MemoryUse(const Endpoint &endpoint)
      : allocation_(endpoint.allocation.get()), is_valid_(allocation_ == nullptr || allocation_->begin_use()) {}
  ~MemoryUse() {
    if (allocation_ != nullptr && is_valid_) allocation_->end_use();
  }
  MemoryUse(const MemoryUse &) = delete;
  MemoryUse &operator=(const MemoryUse &) = delete;

  bool is_valid() const { return is_valid_; }

 private:
  Allocation *allocation_;
  bool is_valid_;
};

// Where the runtime itself finds the bytes of an endpoint.
inline std::byte *reachable(const Endpoint &endpoint) {
  return endpoint.allocation ? endpoint.allocation->reachable(endpoint.address)
                             : reinterpret_cast<std::byte *>(endpoint.address);
}

}  // namespace emurt
