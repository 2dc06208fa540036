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

// Plain characters: an error may be asked for while the process exits, after the thread's objects are gone.
constexpr size_t kMaxText = 1000;
thread_local char t_last_error[kMaxText + 1] = "";

const sluice_host_services_t *g_services = nullptr;

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

bool is_on(const char *name) {
  return knob_text(name) == "on";
}

void read_knobs() {
  g_choices.ipc = is_on("SLUICE_HIP_IPC");
  g_choices.streams = is_on("SLUICE_HIP_STREAMS");
  g_choices.reduce = is_on("SLUICE_HIP_REDUCE");
  const std::string_view operations = knob_text("SLUICE_HIP_STREAM_OPERATIONS");
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

const char *last_error() {
  return t_last_error;
}

constexpr sluice_backend_t kTable = {
    .api_version = SLUICE_BACKEND_API_VERSION,
    .struct_size = sizeof(sluice_backend_t),
    .name = "hip",
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
    .device_traits = nullptr,  // nothing particular
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

const char *error_text() {
  return t_last_error;
}

void log_error() {
  if (g_services != nullptr && g_services->log != nullptr) g_services->log(1, t_last_error);
}

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

extern "C" __attribute__((visibility("default"))) const sluice_backend_t *sluice_backend_table() {
  return &sluice::backends::hip::kTable;
}
