// SPDX-License-Identifier: BSD-3-Clause
// What the files of FailureCases share.
#pragma once

#include <cstddef>

#include "tests/ranks/coll/variants.hpp"

namespace sluice::tests {

inline std::size_t as_size(int number) {
  return static_cast<std::size_t>(number);
}

inline std::size_t n_ranks() {
  return as_size(Session::get().size());
}

// Nothing may be read there.
inline void *nowhere() {
  return reinterpret_cast<void *>(0x10);
}

inline Case between_devices() {
  return {device_or_host(), device_or_host(), 0};
}

}  // namespace sluice::tests
