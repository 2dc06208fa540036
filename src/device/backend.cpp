// SPDX-License-Identifier: BSD-3-Clause
#include "device/backend.hpp"

#include <dlfcn.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <mutex>
#include <vector>

#include "base/environment.hpp"
#include "base/file_descriptor.hpp"
#include "base/log.hpp"
#include "base/system_reason.hpp"

namespace sluice::device {
namespace {

void log_for_module(int level, const char *text) {
  if (level < 0 || level > 3 || text == nullptr) return;
  log::write(static_cast<log::Level>(level), "backend", text);
}

// The tables that were ever checked, for their knobs' defaults. Tables are constants of modules; a module that is gone
// has taken its entry along.
struct KnownTables {
  std::mutex mutex;
  std::vector<const sluice_backend_t *> tables;
};

KnownTables &known_tables() {
  static auto *known = new KnownTables();
  return *known;
}

void remember(const sluice_backend_t *table) {
  const std::scoped_lock lock(known_tables().mutex);
  known_tables().tables.push_back(table);
}

void forget(const sluice_backend_t *table) {
  const std::scoped_lock lock(known_tables().mutex);
  auto &tables = known_tables().tables;
  if (const auto found = std::find(tables.begin(), tables.end(), table); found != tables.end()) tables.erase(found);
}

const char *knob_for_module(const char *name) {
  if (name == nullptr) return nullptr;
  const std::scoped_lock lock(known_tables().mutex);
  for (const sluice_backend_t *table : known_tables().tables) {
    for (std::size_t i = 0; i < table->n_knobs; ++i) {
      if (std::strcmp(table->knobs[i].name, name) != 0) continue;
      const char *value = environment_variable(name);
      return value != nullptr ? value : table->knobs[i].default_value;
    }
  }
  return nullptr;
}

constexpr sluice_host_services_t kServices = {sizeof(sluice_host_services_t), log_for_module, knob_for_module};

template <typename... Functions>
bool are_all_set(Functions... functions) {
  return ((functions != nullptr) && ...);
}

// Of an optional group all members are set, or none.
template <typename... Functions>
bool is_whole_or_absent(Functions... functions) {
  return ((functions != nullptr) && ...) || ((functions == nullptr) && ...);
}

// What is wrong with the optional groups; empty when nothing is.
std::string check_groups(const sluice_backend_t &table) {
  if (!is_whole_or_absent(table.program_set_device, table.program_alloc, table.program_free, table.program_copy,
                          table.program_synchronize)) {
    return "program";
  }
  if (!is_whole_or_absent(table.ipc_export, table.ipc_open, table.ipc_close)) return "ipc";
  if (!is_whole_or_absent(table.can_reduce, table.enqueue_reduction)) return "reduce";
  if (!is_whole_or_absent(table.stream_query, table.stream_open, table.stream_close, table.stream_write,
                          table.stream_wait, table.stream_words)) {
    return "stream";
  }
  if (!is_whole_or_absent(table.program_stream_create, table.program_stream_destroy, table.program_stream_copy,
                          table.program_stream_synchronize)) {
    return "program_stream";
  }
  if (!is_whole_or_absent(table.enqueue_kernel_copies, table.enqueue_compare_and_swap)) return "kernel_copies";
  if (!is_whole_or_absent(table.can_pack, table.enqueue_pack, table.device_alloc, table.device_free)) return "pack";
  if (!is_whole_or_absent(table.host_register, table.host_unregister, table.stream_copy, table.stream_take)) {
    return "channel";
  }
  return is_whole_or_absent(table.support_words, table.memory_kind_words) ? "" : "words";
}

Status check_table(const sluice_backend_t *table, std::string_view path) {
  if (table == nullptr) {
    return Status::error(ErrorKind::kBackend, fmt::format("{}: the module has no table; reinstall it", path));
  }
  if (table->api_version != SLUICE_BACKEND_API_VERSION) {
    return Status::error(ErrorKind::kBackend,
                         fmt::format("{}: the module was built for version {} of sluice/backend.h and this library for "
                                     "version {}; install the module that came with the library",
                                     path, table->api_version, SLUICE_BACKEND_API_VERSION));
  }
  const bool is_whole =
      table->struct_size >= sizeof(sluice_backend_t) && table->name != nullptr &&
      are_all_set(table->init, table->fini, table->last_error, table->device_count, table->device_info,
                  table->query_pointer, table->register_context, table->host_alloc, table->host_free,
                  table->preferred_staging, table->queue_create, table->queue_destroy, table->enqueue_copies,
                  table->enqueue_ticket, table->test_ticket, table->wait_ticket, table->copy);
  if (!is_whole) {
    return Status::error(ErrorKind::kBackend,
                         fmt::format("{}: the module leaves a mandatory function empty; reinstall it", path));
  }
  if (const std::string group = check_groups(*table); !group.empty()) {
    return Status::error(ErrorKind::kBackend,
                         fmt::format("{}: the module fills a part of the optional group `{}`, which "
                                     "must be there whole or not at all; reinstall it",
                                     path, group));
  }
  return {};
}

// 0: the file can be opened. The dynamic linker keeps no number of what refused it.
int error_of_opening(const std::string &path) {
  const FileDescriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  return file.get() < 0 ? errno : 0;
}

}  // namespace

std::unique_ptr<Backend> Backend::load(const std::string &path, Status *status) {
  const auto close_library = [](void *opened) { dlclose(opened); };
  std::unique_ptr<void, decltype(close_library)> library(dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL), close_library);
  if (library == nullptr) {
    const char *why = dlerror();
    *status = Status::error(
        ErrorKind::kBackend,
        fmt::format("{}: cannot be loaded: {}; {}", path, why != nullptr ? why : "no reason given",
                    system_remedy(error_of_opening(path), "reinstall the module, or leave it out of SLUICE_BACKENDS")));
    return nullptr;
  }
  auto table_fn = reinterpret_cast<sluice_backend_table_fn>(dlsym(library.get(), SLUICE_BACKEND_TABLE_SYMBOL));
  const sluice_backend_t *table = table_fn != nullptr ? table_fn() : nullptr;
  *status = check_table(table, path);
  if (!status->is_ok()) return nullptr;
  std::unique_ptr<Backend> backend = over_table(table, status);
  if (backend != nullptr) backend->library_ = library.release();
  return backend;
}

std::unique_ptr<Backend> Backend::over_table(const sluice_backend_t *table, Status *status) {
  *status = check_table(table, "backend table");
  if (!status->is_ok()) return nullptr;
  std::unique_ptr<Backend> backend(new Backend(table, nullptr));
  remember(table);
  const sluice_result_t result = table->init(&kServices);
  if (result != SLUICE_SUCCESS) forget(table);
  if (result == SLUICE_ERROR_NO_DEVICE) {
    *status =
        Status::error(ErrorKind::kUnsupported, fmt::format("{}: no device: {}", table->name, table->last_error()));
    return nullptr;
  }
  *status = backend->check(result, "start");
  if (!status->is_ok()) return nullptr;
  backend->is_initialised_ = true;
  return backend;
}

Backend::~Backend() {
  if (is_initialised_) {
    table_->fini();
    forget(table_);
  }
  if (library_ != nullptr) dlclose(library_);
}

Status Backend::check(sluice_result_t result, std::string_view what) const {
  if (result == SLUICE_SUCCESS) return {};
  ErrorKind kind = ErrorKind::kBackend;
  const char *remedy = "see the vendor's documentation of this error; SLUICE_LOG=debug shows the calls before it";
  if (result == SLUICE_ERROR_OUT_OF_MEMORY) {
    kind = ErrorKind::kOutOfMemory;
    remedy = "lower the setting device_pool_bytes (SLUICE_TUNING) or the program's own use of memory";
  } else if (result == SLUICE_NOT_READY) {
    remedy = "docs/queue/guide.md says what is not done while a stream waits for a message";
  } else if (result == SLUICE_ERROR_INVALID_ARGUMENT) {
    kind = ErrorKind::kBadBuffer;
    remedy = "check that the buffer was not freed and holds as many elements as the call says";
  }
  const char *native = table_->last_error();
  return Status::error(kind, fmt::format("{} could not {}: {}; {}", name(), what,
                                         native != nullptr && native[0] != '\0' ? native : "no native text", remedy));
}

}  // namespace sluice::device
