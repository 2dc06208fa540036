// SPDX-License-Identifier: BSD-3-Clause
// The table of this backend, its life, and its errors.
#include "module.h"

#include <cstring>
#include <iterator>
#include <string>

#include "../knob_range.h"

namespace sluice::backends::hip {

Runtime g_runtime;
Choices g_choices;

namespace {

constexpr sluice_backend_knob_t kKnobs[] = {
#define HIP_KNOB(name, default_value, range, doc) {"SLUICE_HIP_" #name, default_value, doc},
#include "knobs.def"
#undef HIP_KNOB
};

constexpr Knob kRanges[] = {
#define HIP_KNOB(name, default_value, range, doc) {"SLUICE_HIP_" #name, default_value, range},
#include "knobs.def"
#undef HIP_KNOB
};

// The knob's text, its default when the host says nothing.
std::string_view knob_text(const char *name) {
  return find_in_force(g_services, kRanges, name);
}

void read_knobs() {
  const std::string_view operations = knob_text("SLUICE_HIP_STREAMS");
  g_choices.streams = operations != "off";
  g_choices.stream_operations = operations == "memory"    ? StreamOperations::kMemory
                                : operations == "kernels" ? StreamOperations::kKernels
                                                          : StreamOperations::kAuto;
}

// A runtime that nobody loaded is loaded here: the module is opened then only because the user named it.
sluice_result_t init(const sluice_host_services_t *services) {
  g_services = services;
  report_wrong_knobs(services, kRanges);
  read_knobs();
  std::string why = open_runtime(&g_runtime, false);
  if (!why.empty()) why = open_runtime(&g_runtime, true);
  if (!why.empty()) return fail(SLUICE_ERROR_NO_DEVICE, why);
  return device_count() > 0 ? SLUICE_SUCCESS : SLUICE_ERROR_NO_DEVICE;
}

// Queues and memory belong to their users. What was to be given back later stays: the runtime may be gone by now.
void fini() {
  g_services = nullptr;
}

}  // namespace

sluice_result_t translate(const char *call, hipError_t native) {
  switch (native) {
    case hipSuccess:
      return SLUICE_SUCCESS;
    case hipErrorOutOfMemory:
      return fail(SLUICE_ERROR_OUT_OF_MEMORY, native_text(g_runtime, call, native));
    case hipErrorInvalidValue:
      return fail(SLUICE_ERROR_INVALID_ARGUMENT, native_text(g_runtime, call, native));
    case hipErrorNoDevice:
    case hipErrorInvalidDevice:
      return fail(SLUICE_ERROR_NO_DEVICE, native_text(g_runtime, call, native));
    case hipErrorNotSupported:
      return fail(SLUICE_ERROR_UNSUPPORTED, native_text(g_runtime, call, native));
    default:
      return fail(SLUICE_ERROR_NATIVE, native_text(g_runtime, call, native));
  }
}

}  // namespace sluice::backends::hip

// Nothing is particular about a device.
#undef SLUICE_GROUP_traits
#define SLUICE_GROUP_traits(name) nullptr

#define SLUICE_MODULE_NAMESPACE hip
#define SLUICE_MODULE_NAME "hip"
#include "../exported_table.inc"
