// SPDX-License-Identifier: BSD-3-Clause
#include "device/ipc_exports.hpp"

#include "base/log.hpp"
#include "base/statistics.hpp"

namespace sluice::device {

IpcExports &IpcExports::process() {
  static auto *exports = new IpcExports();
  return *exports;
}

Status IpcExports::find(const Place &place, const void *address, std::uint64_t size_bytes, Exported *exported) {
  const std::scoped_lock lock(mutex_);
  const Key key{place.backend, place.allocation_id};
  auto found = place.allocation_id == 0 ? entries_.end() : entries_.find(key);
  if (found == entries_.end()) {
    Entry entry;
    std::uint64_t offset = 0;
    entry.size_bytes = size_bytes;
    const sluice_result_t result =
        place.backend->table().ipc_export(address, &entry.handle, &offset, &entry.size_bytes);
    if (result == SLUICE_SUCCESS) {
      entry.is_exportable = true;
      entry.base = static_cast<const std::byte *>(address) - offset;
    } else {
      const Status why = place.backend->check(result, "export device memory");
      log::warn_once("ipc_export", "device",
                     why.message() + "; such memory is copied instead, into memory of Sluice's own or to the host");
    }
    // The lowest numbers are the oldest allocations.
    if (entries_.size() >= kMost) entries_.erase(entries_.begin());
    found = entries_.insert_or_assign(key, entry).first;
  }
  const Entry &entry = found->second;
  if (!entry.is_exportable) {
    statistics::record_fallback("ipc_export");
    return Status::error(ErrorKind::kUnsupported, "this memory has no handle for other processes");
  }
  const auto offset_bytes = static_cast<std::uint64_t>(static_cast<const std::byte *>(address) - entry.base);
  if (offset_bytes > entry.size_bytes || size_bytes > entry.size_bytes - offset_bytes) {
    log::warn_once("ipc_export_part", "device",
                   "a message lies in several allocations, or in memory of which only a part can be exported; such "
                   "messages are staged instead");
    statistics::record_fallback("ipc_export");
    return Status::error(ErrorKind::kUnsupported, "the message does not lie in one exported range");
  }
  exported->handle = entry.handle;
  exported->offset_bytes = offset_bytes;
  exported->allocation_bytes = entry.size_bytes;
  return {};
}

void IpcExports::clear() noexcept {
  const std::scoped_lock lock(mutex_);
  entries_.clear();
}

}  // namespace sluice::device
