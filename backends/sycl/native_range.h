// SPDX-License-Identifier: BSD-3-Clause
// Where an allocation begins, how large it is, and its number: the runtime does not say, the driver under it does.
#pragma once

#include <dlfcn.h>

#include <cstdint>
#include <sycl/detail/backend_traits_level_zero.hpp>
#include <sycl/sycl.hpp>

#include "native_query.h"

namespace sluice::backends::sycl {

// What the driver gave out in one piece. The runtime may have cut several allocations from it.
struct NativeRange {
  std::uintptr_t begin = 0;
  std::size_t size_bytes = 0;
  std::uint64_t id = 0;  // never used twice in a process
};

inline bool find_range_of_cuda(const void *address, NativeRange *range) {
  const PointerAttributesFunction function = pointer_attributes_function();
  if (function == nullptr) return false;
  // From the driver's interface: RANGE_START_ADDR 11, RANGE_SIZE 12, BUFFER_ID 7.
  static constexpr std::array<int, 3> kAttributes = {11, 12, 7};
  std::array<void *, 3> values = {&range->begin, &range->size_bytes, &range->id};
  return function(kAttributes.size(), kAttributes.data(), values.data(), reinterpret_cast<std::uintptr_t>(address)) ==
             0 &&
         range->begin != 0;
}

// Not seen on a machine with this driver yet.
inline bool find_range_of_level_zero(const ::sycl::context &context, const void *address, NativeRange *range) {
  // ze_memory_allocation_properties_t, structure type 0x17.
  struct Properties {
    std::int32_t structure_type;
    void *next;
    std::int32_t kind;
    std::uint64_t id;
    std::uint64_t page_size;
  };
  using RangeFunction = int (*)(ze_context_handle_t, const void *, void **, std::size_t *);
  using PropertiesFunction = int (*)(ze_context_handle_t, const void *, Properties *, ze_device_handle_t *);
  static void *const driver = dlopen("libze_loader.so.1", RTLD_NOW | RTLD_NOLOAD);
  if (driver == nullptr) return false;
  static const auto range_of = reinterpret_cast<RangeFunction>(dlsym(driver, "zeMemGetAddressRange"));
  static const auto properties_of = reinterpret_cast<PropertiesFunction>(dlsym(driver, "zeMemGetAllocProperties"));
  if (range_of == nullptr || properties_of == nullptr) return false;
  const ze_context_handle_t native = ::sycl::get_native<::sycl::backend::ext_oneapi_level_zero>(context);
  Properties properties = {0x17, nullptr, 0, 0, 0};
  ze_device_handle_t device = nullptr;
  void *begin = nullptr;
  if (range_of(native, address, &begin, &range->size_bytes) != 0) return false;
  if (properties_of(native, address, &properties, &device) != 0) return false;
  range->begin = reinterpret_cast<std::uintptr_t>(begin);
  range->id = properties.id;
  return true;
}

// False where the driver cannot be asked.
inline bool find_native_range(const ::sycl::context &context, const void *address, NativeRange *range) {
  switch (context.get_backend()) {
    case ::sycl::backend::ext_oneapi_cuda:
      return find_range_of_cuda(address, range);
    case ::sycl::backend::ext_oneapi_level_zero:
      return find_range_of_level_zero(context, address, range);
    default:
      return false;
  }
}

}  // namespace sluice::backends::sycl
