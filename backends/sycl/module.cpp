// SPDX-License-Identifier: BSD-3-Clause
// The table of the SYCL backend, its life, and its errors.
#include "module.h"

#include <link.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <mutex>
#include <set>
#include <string>

#include "../knob_range.h"
#include "../stream_waits.h"
#include "runtime.h"
#include "watcher.h"

namespace sluice::backends::sycl {

namespace {

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

// What holds for each knob, as the latest user has it. It stays in force when that user goes, and its services with it.
std::array<std::atomic<const std::string *>, std::size(kRanges)> g_texts{};

// Texts are never destroyed: somebody may be reading one.
void keep_knobs(const sluice_host_services_t *services) {
  static std::mutex mutex;
  static auto *const kept = new std::set<std::string, std::less<>>();
  const std::scoped_lock lock(mutex);
  for (size_t i = 0; i < g_texts.size(); ++i) {
    g_texts[i] = &*kept->emplace(find_in_force(services, kRanges, kKnobs[i].name)).first;
  }
}

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
  const sluice_host_services_t *const before = g_services.exchange(services);
  const sluice_result_t result = guarded("init", [services] {
    report_wrong_knobs(services, kRanges);
    keep_knobs(services);
    if (const sluice_result_t checked = check_runtimes(); checked != SLUICE_SUCCESS) return checked;
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
  if (result != SLUICE_SUCCESS) g_services = before;
  return result;
}

// Queues and memory belong to their users. What the module knows of the runtime stays: see Runtime::start(). The module
// itself holds the threads that hand memory over and that watch words.
void fini() {
  if (--g_n_users <= 0) {
    stop_exports();
    stop_watching();
    run_releases();
  }
  g_services = nullptr;  // they may be those of the user that goes
}

}  // namespace

bool is_exiting() {
  return g_is_exiting.load(std::memory_order_acquire);
}

std::string_view knob_text(const char *name) {
  for (size_t i = 0; i < g_texts.size(); ++i) {
    const std::string *const text = g_texts[i];
    if (kRanges[i].name == name) return text != nullptr ? std::string_view(*text) : kRanges[i].default_value;
  }
  return "";
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

#define SLUICE_MODULE_NAMESPACE sycl
#define SLUICE_MODULE_NAME "sycl"
#include "../exported_table.inc"
