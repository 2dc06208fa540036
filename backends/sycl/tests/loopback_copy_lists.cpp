// SPDX-License-Identifier: BSD-3-Clause
// In place of copy_lists.cpp, in a module for tests: lists on the loop-back loader, whatever the runtime sits on. The
// memory of its CPU device is memory that the loop-back copies as well.
#include <cstdlib>

#include "../copy_lists.h"
#include "loopback_loader.h"

namespace sluice::backends::sycl {

namespace {

int g_context_place = 0;
int g_device_place = 0;

}  // namespace

bool may_have_copy_lists(const ::sycl::device & /*device*/) {
  return knob_text("SLUICE_SYCL_LISTS") == "on";
}

Outcome open_copy_lists(const ::sycl::context & /*context*/, const ::sycl::device & /*device*/,
                        std::unique_ptr<level_zero::CopyLists> *lists) {
  if (std::getenv("LOOPBACK_DROPS_LAST") != nullptr) loopback_state()->drops_last = true;
  const level_zero::Calls *calls = nullptr;
  Outcome outcome = level_zero::find_calls_of_process(&calls);
  if (outcome.is_success()) outcome = level_zero::check_list_calls(*calls);
  if (!outcome.is_success()) return outcome;
  return level_zero::CopyLists::make(*calls, &g_context_place, &g_device_place, lists);
}

}  // namespace sluice::backends::sycl
