// SPDX-License-Identifier: BSD-3-Clause
// The table of this backend, its life, and its errors.
#include "module.h"

#include <cstddef>
#include <iterator>

#include "../knob_range.h"

namespace sluice::backends::template_backend {
namespace {

// Plain characters: an error may be asked for while the process exits, after the thread's objects are gone.
constexpr size_t kMaxText = 1000;
thread_local char t_last_error[kMaxText + 1] = "";

const sluice_host_services_t *g_services = nullptr;

constexpr sluice_backend_knob_t kKnobs[] = {
#define TEMPLATE_KNOB(name, default_value, range, doc) {"SLUICE_TEMPLATE_" #name, default_value, doc},
#include "knobs.def"
#undef TEMPLATE_KNOB
};

constexpr Knob kRanges[] = {
#define TEMPLATE_KNOB(name, default_value, range, doc) {"SLUICE_TEMPLATE_" #name, default_value, range},
#include "knobs.def"
#undef TEMPLATE_KNOB
};

// Find the runtime's entry points: dlopen its library (it is in the process already when Sluice loads this module by
// itself) and dlsym each function. Compare its version with what this backend was written for. Create no context and
// allocate nothing on a device. No runtime, or a runtime without a device: SLUICE_ERROR_NO_DEVICE.
sluice_result_t init(const sluice_host_services_t *services) {
  g_services = services;
  report_wrong_knobs(services, kRanges);
  return fail(SLUICE_ERROR_NO_DEVICE, "the template has no device");
}

// Give back what this module itself holds (cached contexts, events kept for reuse). Call nothing of a runtime that has
// been shut down: a program may exit without MPI_Finalize.
void fini() {
  g_services = nullptr;
}

const char *last_error() {
  return t_last_error;
}

constexpr sluice_backend_t kTable = {
    .api_version = SLUICE_BACKEND_API_VERSION,
    .struct_size = sizeof(sluice_backend_t),
    .name = "template",
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
    // All three of ipc.cpp, once the runtime can do it: .ipc_export = ipc_export, and so on.
    .ipc_export = nullptr,
    .ipc_open = nullptr,
    .ipc_close = nullptr,
    // Both of words.cpp, once programs have a name for this memory: .support_words = support_words, and so on.
    .support_words = nullptr,
    .memory_kind_words = nullptr,
    .device_traits = nullptr,  // nothing particular
    // Both of reduce.cpp, once the device's compiler takes kernels/: .can_reduce = can_reduce, and so on.
    .can_reduce = nullptr,
    .enqueue_reduction = nullptr,
    // All nine of stream.cpp, once streams can write and await words: .stream_query = stream_query, and so on.
    .stream_query = nullptr,
    .stream_open = nullptr,
    .stream_close = nullptr,
    .stream_write = nullptr,
    .stream_wait = nullptr,
    .program_stream_create = nullptr,
    .program_stream_destroy = nullptr,
    .program_stream_copy = nullptr,
    .program_stream_synchronize = nullptr,
    // Of kernel_copies.cpp, once the device's compiler takes kernels/: .enqueue_kernel_copies = enqueue_kernel_copies.
    .enqueue_kernel_copies = nullptr,
    // All four of pack.cpp, once the device's compiler takes kernels/: .can_pack = can_pack, and so on.
    .can_pack = nullptr,
    .enqueue_pack = nullptr,
    .device_alloc = nullptr,
    .device_free = nullptr,
    // Streams that send and receive by themselves: all four, once `stream`, `ipc` and `pack` are there.
    .host_register = nullptr,
    .host_unregister = nullptr,
    .stream_copy = nullptr,
    .stream_take = nullptr,
    // Of copies.cpp, if the runtime can: .enqueue_wait_for_queue = enqueue_wait_for_queue.
    .enqueue_wait_for_queue = nullptr,
};

}  // namespace

sluice_result_t fail(sluice_result_t result, std::string_view text) {
  t_last_error[text.copy(t_last_error, kMaxText)] = '\0';
  return result;
}

const sluice_host_services_t *services() {
  return g_services;
}

}  // namespace sluice::backends::template_backend

extern "C" __attribute__((visibility("default"))) const sluice_backend_t *sluice_backend_table() {
  return &sluice::backends::template_backend::kTable;
}
