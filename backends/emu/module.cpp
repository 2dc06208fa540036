// SPDX-License-Identifier: BSD-3-Clause
// The table of the emulated device, its life, and its errors.
#include "module.h"

#include <algorithm>
#include <atomic>
#include <cstring>

#include "../knob_range.h"

namespace sluice::backends::emu {
namespace {

constexpr sluice_backend_knob_t kKnobs[] = {
#define EMU_KNOB(name, default_value, range, doc) {"SLUICE_EMU_" #name, default_value, doc},
#include "knobs.def"
#undef EMU_KNOB
};

constexpr Knob kRanges[] = {
#define EMU_KNOB(name, default_value, range, doc) {"SLUICE_EMU_" #name, default_value, range},
#include "knobs.def"
#undef EMU_KNOB
};

// The runtime reads its knobs itself, because programs use it without Sluice too; the services are needed for those
// that only the module acts on.
sluice_result_t init(const sluice_host_services_t *services) {
  g_services.store(services);
  report_wrong_knobs(services, kRanges);
  read_stream_operations();
  int32_t count = 0;
  const sluice_result_t result = translate(emu_device_count(&count));
  if (result != SLUICE_SUCCESS) return result;
  if (count == 0) return fail(SLUICE_ERROR_NO_DEVICE, "no emulated device (SLUICE_EMU_MACHINE=devices=0)");
  return SLUICE_SUCCESS;
}

// Queues and memory belong to their users; the module itself holds nothing.
void fini() {
  g_services.store(nullptr);
}

}  // namespace

std::string_view knob_text(const char *name) {
  return find_in_force(g_services.load(), kRanges, name);
}

sluice_result_t translate(emu_result_t native) {
  switch (native) {
    case EMU_SUCCESS:
      return SLUICE_SUCCESS;
    case EMU_NOT_READY:
      return SLUICE_NOT_READY;
    case EMU_ERROR_OUT_OF_MEMORY:
      return fail(SLUICE_ERROR_OUT_OF_MEMORY, emu_last_error_text());
    case EMU_ERROR_INVALID_VALUE:
    case EMU_ERROR_INVALID_POINTER:
      return fail(SLUICE_ERROR_INVALID_ARGUMENT, emu_last_error_text());
    case EMU_ERROR_INVALID_DEVICE:
      return fail(SLUICE_ERROR_NO_DEVICE, emu_last_error_text());
    case EMU_ERROR_NOT_SUPPORTED:
      return fail(SLUICE_ERROR_UNSUPPORTED, emu_last_error_text());
    case EMU_ERROR_COPY_FAILED:
    case EMU_ERROR_QUEUE_FAILED:
    case EMU_ERROR_CONFIGURATION:
    case EMU_ERROR_SHUT_DOWN:
    case EMU_ERROR_FORKED:
    case EMU_ERROR_SYSTEM:
      break;
  }
  return fail(SLUICE_ERROR_NATIVE, emu_last_error_text());
}

DeviceScope::DeviceScope(int32_t device) : result_(translate(emu_get_device(&before_))) {
  if (result_ != SLUICE_SUCCESS) return;
  result_ = translate(emu_set_device(device));
}

DeviceScope::~DeviceScope() {
  // The device was current a moment ago, so this can fail only while the process exits, when it does not matter.
  if (result_ == SLUICE_SUCCESS) static_cast<void>(emu_set_device(before_));
}

}  // namespace sluice::backends::emu

// Nothing is particular about a device.
#undef SLUICE_GROUP_traits
#define SLUICE_GROUP_traits(name) nullptr

#define SLUICE_MODULE_NAMESPACE emu
#define SLUICE_MODULE_NAME "emu"
#include "../exported_table.inc"
