// SPDX-License-Identifier: BSD-3-Clause
// Under which names programs ask for this memory: those of the native runtime below. Only where that is Level Zero: its
// programs use this runtime's contexts. Under the other adapters the memory that programs of the native runtime make
// themselves is not known here for certain, and the CPU device has no name that a program could ask for.
#include <algorithm>

#include "runtime.h"

namespace sluice::backends::sycl {

namespace {

// Asked for by the program, so the runtime may be started for it.
bool has_level_zero() {
  bool found = false;
  const sluice_result_t result = is_exiting() ? SLUICE_ERROR_NO_DEVICE : guarded("get_platforms", [&] {
    found = std::ranges::any_of(Runtime::start().devices(), [](const ::sycl::device &device) {
      return device.get_backend() == ::sycl::backend::ext_oneapi_level_zero;
    });
    return SLUICE_SUCCESS;
  });
  return result == SLUICE_SUCCESS && found;
}

constexpr const char *kNone[] = {nullptr};

}  // namespace

const char *const *support_words() {
  static const char *const words[] = {"ze", nullptr};
  return has_level_zero() ? words : kNone;
}

const char *const *memory_kind_words() {
  static const char *const words[] = {"level_zero", "level_zero:host", "level_zero:device", "level_zero:shared",
                                      nullptr};
  return has_level_zero() ? words : kNone;
}

const char *const *stream_words() {
  static const char *const words[] = {"sycl::queue", nullptr};
  return words;
}

}  // namespace sluice::backends::sycl
