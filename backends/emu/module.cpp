// SPDX-License-Identifier: BSD-3-Clause
// The table of the emulated device, its life, and its errors.
#include "module.h"

#include <algorithm>
#include <atomic>
#include <cstring>

#include "../knob_range.h"

namespace sluice::backends::emu {
namespace {

// Plain characters: an error may be asked for while the process exits, after the thread's objects are gone.
constexpr size_t kMaxText = 1000;
thread_local char t_last_error[kMaxText + 1] = "";

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

std::atomic<const sluice_host_services_t *> g_services{nullptr};

// The runtime reads its knobs itself, because programs use it without Sluice too; the services are needed for those
// that only the module acts on.
sluice_result_t init(const sluice_host_services_t *services) {
  g_services.store(services);
  report_wrong_knobs(services, kRanges);
  read_stream_operations();
  int32_t count = 0;
  const sluice_result_t result = translate(emu_device_count(&count));
  if (result != SLUICE_SUCCESS) return result;
  if (count == 0) return fail(SLUICE_ERROR_NO_DEVICE, "no emulated device (SLUICE_EMU_DEVICES=0)");
  return SLUICE_SUCCESS;
}

// Queues and memory belong to their users; the module itself holds nothing.
void fini() {
  g_services.store(nullptr);
}

const char *last_error() {
  return t_last_error;
}

constexpr sluice_backend_t kTable = {
    .api_version = SLUICE_BACKEND_API_VERSION,
    .struct_size = sizeof(sluice_backend_t),
    .name = "emu",
    .knobs = kKnobs,
    .n_knobs = std::size(kKnobs),
    .init = init,
    .fini = fini,
    .last_error = last_error,
    .device_count = device_count,
    .device_info = device_info,
    .query_pointer = query_pointer,
    .register_context = register_context,
    .host_alloc = host_alloc,
    .host_free = host_free,
    .preferred_staging = preferred_staging,
    .queue_create = queue_create,
    .queue_destroy = queue_destroy,
    .enqueue_copies = enqueue_copies,
    .enqueue_ticket = enqueue_ticket,
    .test_ticket = test_ticket,
    .wait_ticket = wait_ticket,
    .copy = copy,
    .program_set_device = program_set_device,
    .program_alloc = program_alloc,
    .program_free = program_free,
    .program_copy = program_copy,
    .program_synchronize = program_synchronize,
    .ipc_export = ipc_export,
    .ipc_open = ipc_open,
    .ipc_close = ipc_close,
    .support_words = support_words,
    .memory_kind_words = memory_kind_words,
    .device_traits = nullptr,
    .can_reduce = can_reduce,
    .enqueue_reduction = enqueue_reduction,
    .stream_query = stream_query,
    .stream_open = stream_open,
    .stream_close = stream_close,
    .stream_write = stream_write,
    .stream_wait = stream_wait,
    .program_stream_create = program_stream_create,
    .program_stream_destroy = program_stream_destroy,
    .program_stream_copy = program_stream_copy,
    .program_stream_synchronize = program_stream_synchronize,
    .enqueue_kernel_copies = enqueue_kernel_copies,
    .can_pack = can_pack,
    .enqueue_pack = enqueue_pack,
    .device_alloc = device_alloc,
    .device_free = device_free,
    .host_register = host_register,
    .host_unregister = host_unregister,
    .stream_copy = stream_copy,
    .stream_take = stream_take,
    .enqueue_wait_for_queue = enqueue_wait_for_queue,
};

}  // namespace

sluice_result_t fail(sluice_result_t result, std::string_view text) {
  t_last_error[text.copy(t_last_error, kMaxText)] = '\0';
  return result;
}

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

extern "C" __attribute__((visibility("default"))) const sluice_backend_t *sluice_backend_table() {
  return &sluice::backends::emu::kTable;
}
