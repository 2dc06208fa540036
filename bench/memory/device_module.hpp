// SPDX-License-Identifier: BSD-3-Clause
// Device memory by name. The device modules that lie beside the program (lib/sluice/libsluice_backend_<name>.so,
// and libsluice_memory_<name>.so of runtimes whose memory only programs use) are used for nothing but what a program
// would do with the vendor's runtime: choose a device, allocate, copy.
#pragma once

#include <sluice/backend.h>
#include <sluice/testing/probe.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

namespace sluice::bench {

// A device runtime refused. The text holds what was tried and the native error text. Usually one rank's own trouble.
class DeviceError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// The folder that holds the modules when the user names none: that of the installation, seen from the program's own
// folder, if it is there; else ../lib/sluice, as in a build tree.
std::string default_module_dir();

// Names of the modules in a folder, sorted; empty when there is no such folder.
std::vector<std::string> query_module_names(const std::string &dir);

// One loaded module and, after select(), one device of it. Loaded modules stay loaded until the process ends, and are
// never shut down by us: a library below us may be using the same one. Not thread safe.
class DeviceModule {
 public:
  // Loads and initialises. Throws DeviceError when there is no such module, it does not fit, its runtime is missing or
  // has no device, or it cannot be used by programs.
  DeviceModule(const std::string &dir, const std::string &name);

  const std::string &name() const { return name_; }
  std::int32_t n_devices() const { return n_devices_; }
  sluice_device_info_t query_device(std::int32_t device) const;

  // True for a device that is the host's own cores.
  bool is_made_of_cores(std::int32_t device) const {
    return table_->device_traits != nullptr && (table_->device_traits(device) & SLUICE_DEVICE_COPIES_BY_CPU) != 0;
  }

  // Makes `device` the one that memory comes from. Throws DeviceError.
  void select(std::int32_t device);
  std::int32_t device() const { return device_; }

  // Memory of the selected device (PINNED, DEVICE or SHARED), owned by the caller. Throws DeviceError.
  void *allocate(sluice_memory_kind_t kind, std::uint64_t size_bytes);
  // Returns what allocate() gave. Returns the runtime's text when it refused, else "".
  std::string release(void *memory) noexcept;

  // Host memory of the runtime, as staging uses it; alignment 0: the runtime's own. Throws DeviceError.
  void *allocate_host(std::uint64_t size_bytes, std::size_t alignment);
  std::string release_host(void *memory) noexcept;

  // The vendor's plain blocking copy. Hot. Throws DeviceError.
  void copy(void *dst, const void *src, std::uint64_t size_bytes) {
    const sluice_result_t result = table_->program_copy(dst, src, size_bytes);
    if (result != SLUICE_SUCCESS) [[unlikely]] {
      fail("copy", result);
    }
  }
  // Waits until the selected device is idle. Throws DeviceError.
  void synchronize();

  // What the module tells benchmarks; null when it tells nothing.
  const sluice_probe_t *probe() const { return probe_; }
  // Memory of the selected device that is in use; none when nobody tells.
  std::optional<std::uint64_t> query_memory_in_use() const;
  // Whether data in memory of the selected device are checked by a kernel of it. prove_device_check() comes first.
  void check_on_device(bool is_wanted) { is_checking_on_device_ = is_wanted; }
  bool is_checking_on_device() const { return is_checking_on_device_; }

  // The rest of the contract, for owners of what it makes (device_queue.hpp).
  const sluice_backend_t &table() const { return *table_; }
  // What the module hands out beside the contract, through a function of that name; null where it has none.
  const void *find_table(const char *symbol) const;
  // Throws DeviceError with the native text unless the result is SLUICE_SUCCESS. Hot.
  void require(sluice_result_t result, const char *what) const {
    if (result != SLUICE_SUCCESS) [[unlikely]] {
      fail(what, result);
    }
  }

 private:
  [[noreturn]] void fail(const std::string &what, sluice_result_t result) const;

  std::string name_;
  void *handle_ = nullptr;
  const sluice_backend_t *table_ = nullptr;
  const sluice_probe_t *probe_ = nullptr;
  std::int32_t n_devices_ = 0;
  std::int32_t device_ = -1;
  bool is_checking_on_device_ = false;
};

}  // namespace sluice::bench
