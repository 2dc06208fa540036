// SPDX-License-Identifier: BSD-3-Clause
// The table of the SYCL backend, its life, and its errors.
#include "module.h"

#include <link.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <set>
#include <string>

#include "../knob_range.h"
#include "../stream_waits.h"
#include "runtime.h"
#include "watcher.h"

namespace sluice::backends::sycl {

namespace {

// Plain characters: an error may be asked for while the process exits, after the thread's objects are gone.
constexpr size_t kMaxText = 1000;
thread_local char t_last_error[kMaxText + 1] = "";

const sluice_host_services_t *g_services = nullptr;
std::atomic<int> g_n_users{0};  // that called init() and not fini() yet
std::atomic<bool> g_is_exiting{false};

constexpr sluice_backend_knob_t kKnobs[] = {
#define SYCL_KNOB(name, default_value, range, doc) {"SLUICE_SYCL_" #name, default_value, doc},
#include "knobs.def"
#undef SYCL_KNOB
};

constexpr Knob kRanges[] = {
#define SYCL_KNOB(name, default_value, range, doc) {"SLUICE_SYCL_" #name, default_value, range},
#include "knobs.def"
#undef SYCL_KNOB
};

int collect_runtimes(dl_phdr_info *library, size_t /*size*/, void *names) {
  const std::string_view path = library->dlpi_name != nullptr ? library->dlpi_name : "";
  const std::string_view leaf = path.substr(path.rfind('/') + 1);
  if (leaf.starts_with("libsycl.so")) static_cast<std::set<std::string> *>(names)->insert(std::string(path));
  return 0;
}

// Two runtimes in one process do not know each other's memory: the program was built for another version.
sluice_result_t check_runtimes() {
  std::set<std::string> names;
  dl_iterate_phdr(collect_runtimes, &names);
  if (names.size() <= 1) return SLUICE_SUCCESS;
  std::string list;
  for (const std::string &name : names) list += (list.empty() ? "" : " and ") + name;
  return fail(SLUICE_ERROR_UNSUPPORTED, "the program and this module use different SYCL runtimes (" + list +
                                            "); build Sluice with the program's oneAPI");
}

// The runtime is started by the program, or by the first question for a device; not here.
sluice_result_t init(const sluice_host_services_t *services) {
  g_services = services;
  report_wrong_knobs(services, kRanges);
  if (const sluice_result_t result = check_runtimes(); result != SLUICE_SUCCESS) return result;
  return guarded("init", [] {
    // Registered after the runtime was loaded, hence called before its own clean-up.
    const auto leave = [] {
      g_is_exiting.store(true, std::memory_order_release);
      stop_watching();
    };
    if (std::atexit(leave) != 0) return fail(SLUICE_ERROR_OUT_OF_MEMORY, "atexit: no memory");
    const Runtime *runtime = Runtime::if_in_use();
    if (runtime != nullptr && device_count() <= 0) return SLUICE_ERROR_NO_DEVICE;
    ++g_n_users;
    return SLUICE_SUCCESS;
  });
}

// Queues and memory belong to their users. What the module knows of the runtime stays: see Runtime::start(). The module
// itself holds the threads that hand memory over and that watch words.
void fini() {
  if (--g_n_users <= 0) {
    stop_exports();
    stop_watching();
    run_releases();
    g_services = nullptr;
  }
}

const char *last_error() {
  return t_last_error;
}

constexpr sluice_backend_t kTable = {
    .api_version = SLUICE_BACKEND_API_VERSION,
    .struct_size = sizeof(sluice_backend_t),
    .name = "sycl",
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
    .device_traits = device_traits,
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

bool is_exiting() {
  return g_is_exiting.load(std::memory_order_acquire);
}

std::string_view knob_text(const char *name) {
  return find_in_force(g_services, kRanges, name);
}

sluice_result_t fail(sluice_result_t result, std::string_view text) {
  t_last_error[text.copy(t_last_error, kMaxText)] = '\0';
  return result;
}

void log_error() {
  const sluice_host_services_t *services = g_services;
  if (services != nullptr && services->log != nullptr) services->log(1, t_last_error);
}

sluice_result_t translate(const char *call, const ::sycl::exception &error) {
  const std::string text = std::string(call) + ": " + error.what();
  const std::error_code code = error.code();
  if (code == ::sycl::errc::memory_allocation) return fail(SLUICE_ERROR_OUT_OF_MEMORY, text);
  if (code == ::sycl::errc::invalid) return fail(SLUICE_ERROR_INVALID_ARGUMENT, text);
  if (code == ::sycl::errc::feature_not_supported) return fail(SLUICE_ERROR_UNSUPPORTED, text);
  return fail(SLUICE_ERROR_NATIVE, text);
}

}  // namespace sluice::backends::sycl

extern "C" __attribute__((visibility("default"))) const sluice_backend_t *sluice_backend_table() {
  return &sluice::backends::sycl::kTable;
}
