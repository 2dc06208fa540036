// SPDX-License-Identifier: BSD-3-Clause
// Opening of backend modules.
#include "tests/support/backend_module.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <stdexcept>
#include <string_view>

namespace sluice::tests {
namespace {

const sluice_backend_t *opened_table = nullptr;

void write_log(int level, const char *text) {
  if (level <= 1) {
    fmt::print(stderr, "test backend: {}\n", text);
  }
}

const char *query_knob(const char *name) {
  for (size_t i = 0; i < opened_table->n_knobs; ++i) {
    if (std::string_view(opened_table->knobs[i].name) == name) {
      const char *value = std::getenv(name);
      return value != nullptr ? value : opened_table->knobs[i].default_value;
    }
  }
  return nullptr;
}

constexpr sluice_host_services_t kServices = {sizeof(sluice_host_services_t), write_log, query_knob};

}  // namespace

std::string program_folder() {
  return std::filesystem::read_symlink("/proc/self/exe").parent_path().string();
}

BackendModule *BackendModule::open(const std::string &name, std::string &reason) {
  const std::string path = program_folder() + "/../lib/sluice/libsluice_backend_" + name + ".so";
  void *library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    reason = dlerror();
    return nullptr;
  }
  auto table_of = reinterpret_cast<sluice_backend_table_fn>(dlsym(library, SLUICE_BACKEND_TABLE_SYMBOL));
  const sluice_backend_t *table = table_of != nullptr ? table_of() : nullptr;
  if (table == nullptr || table->api_version != SLUICE_BACKEND_API_VERSION) {
    reason = path + " has no table of this version";
    return nullptr;
  }
  if (table->program_alloc == nullptr) {
    reason = "backend " + name + " has no `program` group";
    return nullptr;
  }
  opened_table = table;
  if (table->init(&kServices) != SLUICE_SUCCESS) {
    reason = fmt::format("backend {}: {}", name, table->last_error());
    return nullptr;
  }
  // Never closed: device memory of static objects may live until the process ends.
  static BackendModule module{name, table};
  return &module;
}

void BackendModule::require(sluice_result_t result, const char *what) const {
  if (result != SLUICE_SUCCESS) {
    throw std::runtime_error(
        fmt::format("backend {}: {} failed ({}): {}", name_, what, static_cast<int>(result), table_->last_error()));
  }
}

void BackendModule::set_device(int device) const {
  require(table_->program_set_device(device), "program_set_device");
}

void *BackendModule::allocate(sluice_memory_kind_t kind, size_t size_bytes) const {
  void *memory = nullptr;
  const sluice_result_t result = table_->program_alloc(kind, size_bytes, &memory);
  if (result == SLUICE_ERROR_UNSUPPORTED) {
    return nullptr;
  }
  require(result, "program_alloc");
  return memory;
}

void BackendModule::release(void *memory) const {
  require(table_->program_free(memory), "program_free");
}

void BackendModule::copy(void *dst, const void *src, size_t size_bytes) const {
  require(table_->program_copy(dst, src, size_bytes), "program_copy");
}

void BackendModule::synchronize() const {
  require(table_->program_synchronize(), "program_synchronize");
}

int BackendModule::device_count() const {
  return table_->device_count();
}

}  // namespace sluice::tests
