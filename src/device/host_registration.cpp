// SPDX-License-Identifier: BSD-3-Clause
#include "device/host_registration.hpp"

#include <mutex>
#include <utility>

#include "base/log.hpp"

namespace sluice::device {

// Never destroyed: registrations may go while the process exits.
struct HostRegistration::Kept {
  std::mutex mutex;
  std::list<Entry> all;
  std::list<Entry> left;  // in the end, and not asked for any more
  static Kept &process() {
    static auto *const made = new Kept();
    return *made;
  }
};

// False: not now. An error is told once, and the pages are no longer the runtime's as far as it says.
bool HostRegistration::Entry::let_go() const noexcept {
  const sluice_result_t result = backend->table().host_unregister(device, pages);
  if (result == SLUICE_NOT_READY) return false;
  const Status status = backend->check(result, "give back pages of the host");
  if (!status.is_ok()) log::warn_once("host_unregister", "device", status.message());
  return true;
}

// Each is asked for by one thread alone.
void HostRegistration::retry() noexcept {
  Kept &kept = Kept::process();
  std::list<Entry> asked;
  {
    const std::scoped_lock lock(kept.mutex);
    asked.swap(kept.all);
  }
  asked.remove_if([](const Entry &entry) { return entry.let_go(); });
  const std::scoped_lock lock(kept.mutex);
  kept.all.splice(kept.all.end(), asked);
}

Status HostRegistration::open(const Backend *backend, std::int32_t device, void *pages, std::size_t size_bytes,
                              std::shared_ptr<const void> owner) {
  retry();
  std::list<Entry> made;
  made.push_back({backend, device, pages, std::move(owner)});
  Status status =
      backend->check(backend->table().host_register(device, pages, size_bytes), "let a device reach pages of the host");
  if (status.is_ok()) own_.swap(made);
  return status;
}

void HostRegistration::reset() noexcept {
  if (own_.empty()) return;
  {
    Kept &kept = Kept::process();
    const std::scoped_lock lock(kept.mutex);
    kept.all.splice(kept.all.end(), own_);
  }
  retry();
}

void release_host_registrations() noexcept {
  HostRegistration::retry();
  HostRegistration::Kept &kept = HostRegistration::Kept::process();
  const std::scoped_lock lock(kept.mutex);
  kept.left.splice(kept.left.end(), kept.all);
}

}  // namespace sluice::device
