// SPDX-License-Identifier: BSD-3-Clause
// All that lists of copies need of the runtime above. Run on the emulated GPU only.
#include "copy_lists.h"

#include "native_range.h"

namespace sluice::backends::sycl {

// `auto` is off until lists were run on a device.
bool may_have_copy_lists(const ::sycl::device &device) {
  return knob_text("SLUICE_SYCL_LISTS") == "on" && device.get_backend() == ::sycl::backend::ext_oneapi_level_zero;
}

Outcome open_copy_lists(const ::sycl::context &context, const ::sycl::device &device,
                        std::unique_ptr<level_zero::CopyLists> *lists) {
  const level_zero::Calls *calls = nullptr;
  Outcome outcome = level_zero::find_calls_of_process(&calls);
  if (outcome.is_success()) outcome = level_zero::check_list_calls(*calls);
  if (!outcome.is_success()) return outcome;
  return level_zero::CopyLists::make(*calls, level_zero_context(context), level_zero_device(device), lists);
}

}  // namespace sluice::backends::sycl
