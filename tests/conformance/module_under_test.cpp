// SPDX-License-Identifier: BSD-3-Clause
// Loads the module.
#include "module_under_test.h"

#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "probe_under_test.h"
#include "stream_message_under_test.h"

namespace conformance {
namespace {

std::string g_name;
std::string g_needs_path;
const sluice_backend_t *g_table = nullptr;
const sluice_probe_t *g_probe = nullptr;
const sluice_stream_message_t *g_stream_message = nullptr;

void log_line(int level, const char *text) {
  // Warnings and errors only; what a module says about itself is not under test.
  if (level <= 1) std::fprintf(stderr, "module: %s\n", text);
}

const char *knob_text(const char *name) {
  for (size_t i = 0; i < g_table->n_knobs; ++i) {
    if (std::strcmp(g_table->knobs[i].name, name) != 0) continue;
    const char *set = std::getenv(name);  // NOLINT(concurrency-mt-unsafe): nothing here changes the environment
    return set != nullptr ? set : g_table->knobs[i].default_value;
  }
  return nullptr;
}

constexpr sluice_host_services_t kServices = {
    .struct_size = sizeof(sluice_host_services_t), .log = log_line, .knob = knob_text};

}  // namespace

LoadResult load_module(const std::string &name, const std::string &module_dir, std::string *reason) {
  g_name = name;
  const std::string path = module_dir + "/libsluice_backend_" + name + ".so";
  g_needs_path = module_dir + "/libsluice_backend_" + name + ".needs";
  void *module = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (module == nullptr) {
    *reason = dlerror();
    // The module is there and a library that it needs is not: the runtime is missing on this machine.
    const bool is_library_missing = reason->find("cannot open shared object file") != std::string::npos;
    return is_library_missing && reason->find(path) == std::string::npos ? LoadResult::kMissing : LoadResult::kBroken;
  }
  auto entry = reinterpret_cast<sluice_backend_table_fn>(dlsym(module, SLUICE_BACKEND_TABLE_SYMBOL));
  if (entry == nullptr || entry() == nullptr) {
    *reason = path + " hands out no table (symbol " + SLUICE_BACKEND_TABLE_SYMBOL + ")";
    return LoadResult::kBroken;
  }
  g_table = entry();
  if (g_table->api_version != SLUICE_BACKEND_API_VERSION) {
    *reason = path + " has api version " + std::to_string(g_table->api_version);
    return LoadResult::kBroken;
  }
  auto ask = reinterpret_cast<sluice_probe_fn>(dlsym(module, SLUICE_PROBE_SYMBOL));
  g_probe = ask != nullptr ? ask() : nullptr;
  auto find = reinterpret_cast<sluice_stream_message_fn>(dlsym(module, SLUICE_STREAM_MESSAGE_SYMBOL));
  g_stream_message = find != nullptr ? find() : nullptr;
  if (g_stream_message != nullptr && g_stream_message->api_version != SLUICE_STREAM_MESSAGE_API_VERSION) {
    *reason = path + " has stream message version " + std::to_string(g_stream_message->api_version);
    return LoadResult::kBroken;
  }
  // One of messages of graphs only, which tests/ranks/queue/captured.cpp looks at.
  if (g_stream_message != nullptr && g_stream_message->can_carry == nullptr) g_stream_message = nullptr;
  if (g_probe != nullptr && g_probe->api_version != SLUICE_PROBE_API_VERSION) {
    *reason = path + " has probe version " + std::to_string(g_probe->api_version);
    return LoadResult::kBroken;
  }
  const sluice_result_t result = g_table->init(&kServices);
  if (result == SLUICE_SUCCESS) return LoadResult::kReady;
  *reason = "init: " + describe(result);
  const bool is_missing = result == SLUICE_ERROR_NO_DEVICE || result == SLUICE_ERROR_UNSUPPORTED;
  return is_missing ? LoadResult::kMissing : LoadResult::kBroken;
}

void unload_module() {
  g_table->fini();
}

const sluice_backend_t &table() {
  return *g_table;
}
const sluice_stream_message_t *stream_message() {
  return g_stream_message;
}

const sluice_probe_t *probe() {
  return g_probe;
}
const std::string &backend_name() {
  return g_name;
}
const std::string &needs_path() {
  return g_needs_path;
}
bool has_program_group() {
  return g_table->program_alloc != nullptr;
}

sluice_result_t await(const sluice_backend_t &backend, sluice_queue_t *queue, sluice_result_t answered) {
  uint64_t ticket = 0;
  if (answered == SLUICE_SUCCESS) answered = backend.enqueue_ticket(queue, &ticket);
  return answered == SLUICE_SUCCESS ? backend.wait_ticket(queue, ticket) : answered;
}

std::string describe(sluice_result_t result) {
  static constexpr const char *kNames[] = {"SLUICE_SUCCESS",
                                           "SLUICE_NOT_READY",
                                           "SLUICE_ERROR_OUT_OF_MEMORY",
                                           "SLUICE_ERROR_INVALID_ARGUMENT",
                                           "SLUICE_ERROR_NO_DEVICE",
                                           "SLUICE_ERROR_UNSUPPORTED",
                                           "SLUICE_ERROR_NATIVE"};
  const auto code = static_cast<size_t>(result);
  const std::string name = code < std::size(kNames) ? kNames[code] : "result " + std::to_string(code);
  return name + ": " + g_table->last_error();
}

}  // namespace conformance
