// SPDX-License-Identifier: BSD-3-Clause
// HostRegistration: pages of the host that a device's runtime has pinned, and that stay mapped as long as it has.
#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>

#include "base/status.hpp"
#include "device/backend.hpp"

namespace sluice::device {

// One thread at a time. A runtime that is not let go of pages takes whatever lies under their addresses later for the
// old pages: copies there go astray, and no error says so. A runtime may have to keep pages while a stream waits, so
// the mapping belongs to whoever lets go last.
class HostRegistration {
 public:
  HostRegistration() noexcept = default;
  ~HostRegistration() { reset(); }
  HostRegistration(const HostRegistration &) = delete;
  HostRegistration &operator=(const HostRegistration &) = delete;
  HostRegistration(HostRegistration &&) = delete;
  HostRegistration &operator=(HostRegistration &&) = delete;

  // Has `device` reach `size_bytes` of whole pages at `pages`, which are mapped for as long as `owner` lives; when this
  // is closed, for a backend with the group `channel`. Blocks for the runtime. Errors: it refuses, or not now, because
  // a stream waits (a later call may work).
  [[nodiscard]] Status open(const Backend *backend, std::int32_t device, void *pages, std::size_t size_bytes,
                            std::shared_ptr<const void> owner);
  [[nodiscard]] bool is_open() const noexcept { return !own_.empty(); }
  // No command on the pages is pending. They stay mapped until the runtime lets go of them: now, or when a later call
  // of open() or reset() of any registration finds that it can.
  void reset() noexcept;

 private:
  friend void release_host_registrations() noexcept;
  struct Entry {
    const Backend *backend = nullptr;
    std::int32_t device = 0;
    void *pages = nullptr;
    std::shared_ptr<const void> owner;
    [[nodiscard]] bool let_go() const noexcept;
  };
  struct Kept;
  static void retry() noexcept;

  std::list<Entry> own_;  // one at most; it goes to those that are kept without an allocation that might fail
};

// Asks once more for what is kept. What a runtime does not let go of stays mapped until the process ends. Before the
// backends are shut down. One thread. Blocks for the runtimes.
void release_host_registrations() noexcept;

}  // namespace sluice::device
