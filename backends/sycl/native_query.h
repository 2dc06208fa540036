// SPDX-License-Identifier: BSD-3-Clause
// A cheaper question about a pointer where the runtime sits on a driver that refuses unknown addresses slowly.
#pragma once

#include <dlfcn.h>

#include <array>
#include <cstdint>
#include <sycl/sycl.hpp>

namespace sluice::backends::sycl {

// cuPointerGetAttributes of the driver under the runtime: it answers for ordinary host memory in 80 ns, where the
// runtime's own query asks for one attribute and is refused after 440 ns (measured on H200). Null without that driver.
// Looked up once; the runtime keeps the driver loaded.
using PointerAttributesFunction = int (*)(unsigned count, const int *attributes, void **values, std::uintptr_t address);

inline PointerAttributesFunction pointer_attributes_function() {
  static const auto function = [] {
    void *driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
    void *symbol = driver != nullptr ? dlsym(driver, "cuPointerGetAttributes") : nullptr;
    return reinterpret_cast<PointerAttributesFunction>(symbol);
  }();
  return function;
}

// `ask` is the runtime's own query.
template <typename Ask>
::sycl::usm::alloc ask_natively_or(::sycl::backend backend, const void *address, const Ask &ask) {
  if (backend != ::sycl::backend::ext_oneapi_cuda) return ask();
  const PointerAttributesFunction function = pointer_attributes_function();
  if (function == nullptr) return ask();
  // From the driver's interface: MEMORY_TYPE 2, IS_MANAGED 8; a type is 0 (unknown), 1 (host) or 2 (device).
  static constexpr std::array<int, 2> kAttributes = {2, 8};
  unsigned type = 0;
  unsigned is_managed = 0;
  std::array<void *, 2> values = {&type, &is_managed};
  if (function(kAttributes.size(), kAttributes.data(), values.data(), reinterpret_cast<std::uintptr_t>(address)) != 0)
    return ask();
  if (is_managed != 0) return ::sycl::usm::alloc::shared;
  if (type == 2) return ::sycl::usm::alloc::device;
  return type == 1 ? ::sycl::usm::alloc::host : ::sycl::usm::alloc::unknown;
}

}  // namespace sluice::backends::sycl
