// SPDX-License-Identifier: BSD-3-Clause
// Where an allocation begins, how large it is, and its number: the runtime does not say, the driver under it does.
#pragma once

#include <array>
#include <cstdint>
#include <sycl/detail/backend_traits_level_zero.hpp>
#include <sycl/sycl.hpp>

#include "level_zero.h"
#include "native_query.h"

namespace sluice::backends::sycl {

// All that needs the real runtime on Level Zero: what it calls a context and a device there.
inline level_zero::Context level_zero_context(const ::sycl::context &context) {
  return ::sycl::get_native<::sycl::backend::ext_oneapi_level_zero>(context);
}
inline level_zero::Device level_zero_device(const ::sycl::device &device) {
  return ::sycl::get_native<::sycl::backend::ext_oneapi_level_zero>(device);
}

inline Outcome find_range_of_cuda(const void *address, NativeRange *range) {
  const PointerAttributesFunction function = pointer_attributes_function();
  if (function == nullptr) return {SLUICE_ERROR_UNSUPPORTED, "the driver has no cuPointerGetAttributes"};
  // From the driver's interface: RANGE_START_ADDR 11, RANGE_SIZE 12, BUFFER_ID 7.
  static constexpr std::array<int, 3> kAttributes = {11, 12, 7};
  std::array<void *, 3> values = {&range->begin, &range->size_bytes, &range->id};
  const int native =
      function(kAttributes.size(), kAttributes.data(), values.data(), reinterpret_cast<std::uintptr_t>(address));
  if (native == 0 && range->begin != 0) return {};
  return {SLUICE_ERROR_UNSUPPORTED, "cuPointerGetAttributes: error " + std::to_string(native)};
}

// The driver's allocation that holds `address`; SLUICE_ERROR_UNSUPPORTED where the driver cannot be asked.
inline Outcome find_native_range(const ::sycl::context &context, const void *address, NativeRange *range) {
  switch (context.get_backend()) {
    case ::sycl::backend::ext_oneapi_cuda:
      return find_range_of_cuda(address, range);
    case ::sycl::backend::ext_oneapi_level_zero: {
      const level_zero::Calls *calls = nullptr;
      Outcome outcome = level_zero::find_calls_of_process(&calls);
      if (outcome.is_success()) {
        outcome = level_zero::find_range(*calls, level_zero_context(context), address, range);
      }
      if (!outcome.is_success()) outcome.result = SLUICE_ERROR_UNSUPPORTED;
      return outcome;
    }
    default:
      return {SLUICE_ERROR_UNSUPPORTED, "the driver under the runtime does not say where an allocation begins"};
  }
}

}  // namespace sluice::backends::sycl
