// SPDX-License-Identifier: BSD-3-Clause
// Descriptor: an open file of this process, closed at its end.
#pragma once

#include <unistd.h>

#include <utility>

#include "base/log.hpp"

namespace sluice::wire {

// Move only.
class Descriptor {
 public:
  Descriptor() noexcept = default;
  explicit Descriptor(int number) noexcept : number_(number) {}
  Descriptor(Descriptor &&other) noexcept : number_(std::exchange(other.number_, -1)) {}
  Descriptor &operator=(Descriptor &&other) noexcept {
    std::swap(number_, other.number_);
    return *this;
  }
  Descriptor(const Descriptor &) = delete;
  Descriptor &operator=(const Descriptor &) = delete;
  ~Descriptor() {
    if (number_ >= 0 && close(number_) != 0) log::debug("wire", "a file could not be closed");
  }
  // Negative: none.
  [[nodiscard]] int get() const noexcept { return number_; }

 private:
  int number_ = -1;
};

}  // namespace sluice::wire
