// SPDX-License-Identifier: BSD-3-Clause
// Loads device modules and lends their program-side functions.
#include "bench/memory/device_module.hpp"

#include <dlfcn.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <mutex>
#include <string_view>

namespace sluice::bench {
namespace {

namespace fs = std::filesystem;

// Backends, and modules that only lend memory to programs.
constexpr std::array<std::string_view, 2> kPrefixes{"libsluice_backend_", "libsluice_memory_"};
constexpr const char *kSuffix = ".so";
constexpr int kWarningLevel = 1;

// The tables that were handed our services: the knob service is a plain C function and has to look the name up.
std::mutex tables_mutex;
std::vector<const sluice_backend_t *> tables;

void write_log(int level, const char *text) {
  if (level <= kWarningLevel) {
    fmt::print(stderr, "sluice-bench: device module: {}\n", text);
  }
}

const char *query_knob(const char *name) {
  const std::lock_guard lock(tables_mutex);
  for (const sluice_backend_t *table : tables) {
    for (std::size_t i = 0; i < table->n_knobs; ++i) {
      if (std::strcmp(table->knobs[i].name, name) == 0) {
        const char *value = std::getenv(name);
        return value != nullptr ? value : table->knobs[i].default_value;
      }
    }
  }
  return nullptr;
}

constexpr sluice_host_services_t kServices{sizeof(sluice_host_services_t), write_log, query_knob};

const char *result_name(sluice_result_t result) {
  switch (result) {
    case SLUICE_ERROR_OUT_OF_MEMORY:
      return "out of memory";
    case SLUICE_ERROR_INVALID_ARGUMENT:
      return "invalid argument";
    case SLUICE_ERROR_NO_DEVICE:
      return "no device";
    case SLUICE_ERROR_UNSUPPORTED:
      return "not supported";
    default:
      return "the runtime refused";
  }
}

// The result's name and the native text behind it.
std::string failure_text(const sluice_backend_t &table, sluice_result_t result) {
  const char *native = table.last_error();
  const bool has_native = native != nullptr && *native != '\0';
  return has_native ? fmt::format("{}: {}", result_name(result), native) : result_name(result);
}

struct Tables {
  void *handle;
  const sluice_backend_t *table;
  const sluice_probe_t *probe;  // null: none that fits
};

Tables open_tables(const std::string &dir, const std::string &name) {
  std::string path;
  for (const std::string_view prefix : kPrefixes) {
    path = fmt::format("{}/{}{}{}", dir, prefix, name, kSuffix);
    if (fs::exists(path)) break;
  }
  if (!fs::exists(path)) {
    const std::vector<std::string> names = query_module_names(dir);
    throw DeviceError(
        fmt::format("no device module '{}' in {}: {}", name, dir,
                    names.empty() ? "there is none" : fmt::format("there are {}", fmt::join(names, ", "))));
  }
  void *handle = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    throw DeviceError(fmt::format("device module '{}' is not usable here: {}", name, ::dlerror()));
  }
  auto query_table = reinterpret_cast<sluice_backend_table_fn>(::dlsym(handle, SLUICE_BACKEND_TABLE_SYMBOL));
  if (query_table == nullptr) {
    throw DeviceError(fmt::format("{} is no device module: it has no {}", path, SLUICE_BACKEND_TABLE_SYMBOL));
  }
  const auto query_probe = reinterpret_cast<sluice_probe_fn>(::dlsym(handle, SLUICE_PROBE_SYMBOL));
  const sluice_probe_t *probe = query_probe != nullptr ? query_probe() : nullptr;
  const bool is_fit = probe != nullptr && probe->api_version == SLUICE_PROBE_API_VERSION;
  return {handle, query_table(), is_fit ? probe : nullptr};
}

void require_fit(const sluice_backend_t &table, const std::string &name) {
  if (table.api_version != SLUICE_BACKEND_API_VERSION) {
    throw DeviceError(
        fmt::format("device module '{}' has contract version {}, this program {}: build both from one tree", name,
                    table.api_version, SLUICE_BACKEND_API_VERSION));
  }
  if (table.struct_size < sizeof(sluice_backend_t) || table.program_set_device == nullptr) {
    throw DeviceError(fmt::format("device module '{}' offers programs nothing (group `program` of backend.h)", name));
  }
}

}  // namespace

std::string default_module_dir() {
  std::error_code error;
  const fs::path program = fs::read_symlink("/proc/self/exe", error);
  const fs::path here = program.parent_path();
  const fs::path installed = (here / SLUICE_LIBDIR_FROM_BINDIR / "sluice").lexically_normal();
  return (fs::is_directory(installed, error) ? installed : here.parent_path() / "lib/sluice").string();
}

std::vector<std::string> query_module_names(const std::string &dir) {
  std::vector<std::string> names;
  std::error_code error;
  for (const fs::directory_entry &entry : fs::directory_iterator(dir, error)) {
    const std::string file = entry.path().filename().string();
    for (const std::string_view prefix : kPrefixes) {
      if (file.starts_with(prefix) && file.ends_with(kSuffix)) {
        names.push_back(file.substr(prefix.size(), file.size() - prefix.size() - std::strlen(kSuffix)));
      }
    }
  }
  std::sort(names.begin(), names.end());
  return names;
}

DeviceModule::DeviceModule(const std::string &dir, const std::string &name) : name_(name) {
  const Tables tables_of_module = open_tables(dir, name);
  handle_ = tables_of_module.handle;
  table_ = tables_of_module.table;
  probe_ = tables_of_module.probe;
  require_fit(*table_, name);
  {
    const std::lock_guard lock(tables_mutex);
    tables.push_back(table_);
  }
  const sluice_result_t result = table_->init(&kServices);
  if (result != SLUICE_SUCCESS) {
    throw DeviceError(fmt::format("device module '{}' is not usable here: {}", name, failure_text(*table_, result)));
  }
  n_devices_ = table_->device_count();
  if (n_devices_ <= 0) {
    throw DeviceError(fmt::format("device module '{}' is not usable here: it finds no device", name));
  }
}

void DeviceModule::fail(const std::string &what, sluice_result_t result) const {
  throw DeviceError(fmt::format("{}: {}: {}", name_, what, failure_text(*table_, result)));
}

sluice_device_info_t DeviceModule::query_device(std::int32_t device) const {
  sluice_device_info_t info{};
  require(table_->device_info(device, &info), "device information");
  return info;
}

const void *DeviceModule::find_table(const char *symbol) const {
  const auto query = reinterpret_cast<const void *(*)()>(::dlsym(handle_, symbol));
  return query == nullptr ? nullptr : query();
}

void DeviceModule::select(std::int32_t device) {
  require(table_->program_set_device(device), "choice of device");
  device_ = device;
}

void *DeviceModule::allocate(sluice_memory_kind_t kind, std::uint64_t size_bytes) {
  const std::uint64_t device_bytes = query_device(device_).memory_bytes;
  if (kind == SLUICE_MEMORY_DEVICE && device_bytes != 0 && size_bytes > device_bytes) {
    throw DeviceError(fmt::format("{}: a buffer of {} bytes does not fit: device {} has {} bytes", name_, size_bytes,
                                  device_, device_bytes));
  }
  void *memory = nullptr;
  const sluice_result_t result = table_->program_alloc(kind, size_bytes, &memory);
  if (result != SLUICE_SUCCESS) {
    fail(fmt::format("allocation of {} bytes", size_bytes), result);
  }
  return memory;
}

std::string DeviceModule::release(void *memory) noexcept {
  return table_->program_free(memory) == SLUICE_SUCCESS ? "" : table_->last_error();
}

void *DeviceModule::allocate_host(std::uint64_t size_bytes, std::size_t alignment) {
  void *memory = nullptr;
  const sluice_result_t result = table_->host_alloc(device_, size_bytes, alignment, &memory);
  if (result != SLUICE_SUCCESS) {
    fail(fmt::format("host allocation of {} bytes", size_bytes), result);
  }
  return memory;
}

std::string DeviceModule::release_host(void *memory) noexcept {
  return table_->host_free(device_, memory) == SLUICE_SUCCESS ? "" : table_->last_error();
}

std::optional<std::uint64_t> DeviceModule::query_memory_in_use() const {
  std::uint64_t size_bytes = 0;
  const bool is_told = probe_ != nullptr && probe_->memory_in_use != nullptr &&
                       probe_->memory_in_use(device_, &size_bytes) == SLUICE_SUCCESS;
  return is_told ? std::optional(size_bytes) : std::nullopt;
}

void DeviceModule::synchronize() {
  require(table_->program_synchronize(), "synchronisation");
}

}  // namespace sluice::bench
