// SPDX-License-Identifier: BSD-3-Clause
// Registry: which backends are in the process, and when to load one.
//
// A module is loaded when a library that its .needs file names is already in the process (the vendor's runtime is in
// use) and SLUICE_BACKENDS allows it. The check costs one look at the dynamic loader's counter of loaded libraries, so
// that a runtime that appears after MPI_Init is seen at the next MPI call.
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "base/status.hpp"
#include "device/backend.hpp"
#include "device/modules.hpp"

namespace sluice::device {

// Any thread, but for clear().
class Registry {
 public:
  // The process's registry. Never destroyed: the program's exit handlers may still call MPI.
  static Registry &process();

  Registry() = default;
  Registry(const Registry &) = delete;
  Registry &operator=(const Registry &) = delete;

  // The loaded backends by priority. Hot: if no library was loaded since the last call, two loads.
  [[nodiscard]] std::span<Backend *const> backends() noexcept {
    if (may_grow_.load(std::memory_order_acquire) &&
        library_loads() != seen_library_loads_.load(std::memory_order_acquire)) {
      refresh();
    }
    return known();
  }

  // The same, without a look whether one more is to be loaded: for the rest of a call that has looked. Hot.
  [[nodiscard]] std::span<Backend *const> known() const noexcept { return *active_.load(std::memory_order_acquire); }

  // Loads what has become loadable. Called by backends(). A module that cannot be loaded is warned about once.
  void refresh() noexcept;

  // Loads the named module whether its runtime is in the process or not (`sluice info`). Null with `status` set.
  Backend *load(const std::string &name, Status *status);

  // The loaded backend of that name, or null.
  [[nodiscard]] Backend *find(const char *name) noexcept;

  // Device memory may turn up in this process, now or later: a backend is loaded, SLUICE_BACKENDS names some, or the
  // runtime of an allowed one is installed on this machine. Setup cost: milliseconds.
  [[nodiscard]] bool may_have_devices();

  // Names of backends that are not loaded and may be later: allowed ones whose runtime is installed on this machine, or
  // which SLUICE_BACKENDS names. Setup cost: milliseconds.
  [[nodiscard]] std::vector<std::string> expected();

  // The allowed modules of which this process could use a device, loaded or with a runtime that is installed, which
  // have device files. Cost: microseconds; the first time milliseconds.
  [[nodiscard]] std::vector<Module> usable();

  // Adds a backend that is not a module, for tests.
  void add(std::unique_ptr<Backend> backend);

  // Shuts all backends down. Call it only before exit and in tests. No other call may be running.
  void clear() noexcept;

  // More than any machine has; a bound keeps a look-up short.
  static constexpr std::size_t kMaxBackends = 8;

 private:
  [[nodiscard]] static unsigned long long library_loads() noexcept;
  using Snapshot = std::vector<Backend *>;
  void activate(std::unique_ptr<Backend> backend, int priority);
  void publish();

  std::mutex mutex_;
  bool is_scanned_ = false;
  std::vector<Module> modules_;  // found and allowed, not yet loaded
  std::vector<Module> loaded_;   // by the order in which they came
  struct Owned {
    std::unique_ptr<Backend> backend;
    int priority;
  };
  std::vector<Owned> owned_;  // by priority
  // What readers see: never changed once published, and kept, because a reader may still look at an older one.
  std::vector<std::unique_ptr<const Snapshot>> snapshots_;
  std::atomic<const Snapshot *> active_{&no_backends};
  static inline const Snapshot no_backends;
  std::atomic<unsigned long long> seen_library_loads_{0};
  std::atomic<bool> may_grow_{true};  // not scanned yet, or a module waits for its runtime
};

}  // namespace sluice::device
