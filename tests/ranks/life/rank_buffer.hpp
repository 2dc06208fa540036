// SPDX-License-Identifier: BSD-3-Clause
// Memory of the device, or of the host, for programs without the harness.
#pragma once

#include <cstddef>
#include <vector>

#include "tests/support/backend_module.hpp"

namespace sluice::tests {

// Given back when destroyed.
template <typename Value>
class RankBuffer {
 public:
  // `module`: null for memory of the host.
  RankBuffer(const BackendModule *module, std::size_t length) : module_(module), host_(length) {
    if (module_ != nullptr) device_ = module_->allocate(SLUICE_MEMORY_DEVICE, length * sizeof(Value));
  }
  ~RankBuffer() {
    if (module_ != nullptr) module_->release(device_);
  }
  RankBuffer(const RankBuffer &) = delete;
  RankBuffer &operator=(const RankBuffer &) = delete;
  RankBuffer(RankBuffer &&) = delete;
  RankBuffer &operator=(RankBuffer &&) = delete;
  void put(const std::vector<Value> &values) {
    host_ = values;
    if (module_ != nullptr) module_->copy(device_, host_.data(), host_.size() * sizeof(Value));
  }
  [[nodiscard]] std::vector<Value> get() {
    if (module_ != nullptr) module_->copy(host_.data(), device_, host_.size() * sizeof(Value));
    return host_;
  }
  [[nodiscard]] void *data() { return module_ != nullptr ? device_ : host_.data(); }

 private:
  const BackendModule *module_;
  std::vector<Value> host_;
  void *device_ = nullptr;
};

}  // namespace sluice::tests
