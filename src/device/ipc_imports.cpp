// SPDX-License-Identifier: BSD-3-Clause
#include "device/ipc_imports.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/bad_peer.hpp"
#include "base/knobs.hpp"
#include "base/log.hpp"

namespace sluice::device {
namespace {

bool overlaps(const ExportOrigin &one, const ExportOrigin &other) noexcept {
  return one.process == other.process && one.base_address < other.base_address + other.size_bytes &&
         other.base_address < one.base_address + one.size_bytes;
}

// Gives out what is mapped, if the exporter tells no more of it than there is.
Status give_checked(const ImportedPtr &mapped, const ExportOrigin &origin, ImportedPtr *imported) {
  if (origin.size_bytes > mapped->size_bytes()) {
    return bad_peer(fmt::format("rank {} of MPI_COMM_WORLD tells of {} bytes of device memory where {} are mapped",
                                origin.process, origin.size_bytes, mapped->size_bytes()));
  }
  *imported = mapped;
  return {};
}

// A handle is one process's. Which of the two has it from the other, nobody can tell.
Status two_owners(std::uint64_t first, std::uint64_t second) {
  return bad_peer(fmt::format("ranks {} and {} of MPI_COMM_WORLD both give out the same device memory as their own",
                              first, second));
}

}  // namespace

Imported::~Imported() {
  const Status status = backend_->check(backend_->table().ipc_close(device_, base_), "unmap another process's memory");
  if (!status.is_ok()) log::warn_once("ipc_close", "device", status.message());
}

IpcImports &IpcImports::process() {
  static auto *imports = new IpcImports(Knobs::process().number("p2p_ipc_handles"));
  return *imports;
}

Status IpcImports::open(const Backend *backend, std::int32_t device, const sluice_ipc_handle_t &handle,
                        const ExportOrigin &origin, ImportedPtr *imported) {
  std::list<Entry> closing;  // unmapped when the lock is gone
  const std::scoped_lock lock(mutex_);
  const auto is_same = [&](const auto &entry) {
    return entry.backend == backend && entry.device == device &&
           std::memcmp(entry.handle.bytes, handle.bytes, sizeof handle.bytes) == 0;
  };
  const auto found = std::find_if(entries_.begin(), entries_.end(), is_same);
  if (found != entries_.end()) {
    if (found->origin.process != origin.process) return two_owners(found->origin.process, origin.process);
    entries_.splice(entries_.begin(), entries_, found);
    return give_checked(entries_.front().imported, origin, imported);
  }
  const auto refused = std::find_if(refusals_.begin(), refusals_.end(), is_same);
  if (refused != refusals_.end()) return refused->why;
  ImportedPtr mapped;
  bool is_final = true;
  Status status = map(backend, device, handle, origin, &mapped, &is_final);
  if (!status.is_ok()) {
    if (is_final) remember({backend, device, handle, status});
    return status;
  }
  entries_.push_front({backend, device, handle, origin, std::move(mapped)});
  status = give_checked(entries_.front().imported, origin, imported);
  for (auto entry = entries_.end(); entries_.size() > most_ && entry != entries_.begin();) {
    --entry;
    if (entry->imported.use_count() > 1) continue;
    const auto next = std::next(entry);
    closing.splice(closing.end(), entries_, entry);
    entry = next;
  }
  return status;
}

Status IpcImports::map(const Backend *backend, std::int32_t device, const sluice_ipc_handle_t &handle,
                       const ExportOrigin &origin, ImportedPtr *imported, bool *is_final) {
  // Before the new one is mapped: some runtimes refuse a second mapping of one address of the exporter.
  entries_.remove_if([&](const Entry &entry) {
    return entry.origin.process == origin.process && entry.origin.base_address == origin.base_address &&
           entry.backend == backend && entry.device == device && entry.imported.use_count() == 1;
  });
  void *base = nullptr;
  std::uint64_t size_bytes = 0;
  sluice_result_t result = backend->table().ipc_open(device, &handle, &base, &size_bytes);
  // And some refuse a mapping that only overlaps an old one. Not before it is refused: pieces may overlap and be good.
  if (result != SLUICE_SUCCESS && drop_overlapping(backend, device, origin)) {
    result = backend->table().ipc_open(device, &handle, &base, &size_bytes);
  }
  // A mapping that is in use now may be what is in the way; and memory may be there another time.
  *is_final = result != SLUICE_ERROR_OUT_OF_MEMORY && result != SLUICE_NOT_READY &&
              std::none_of(entries_.begin(), entries_.end(),
                           [&](const Entry &entry) { return overlaps(entry.origin, origin); });
  Status status = backend->check(result, "map another process's device memory");
  if (status.is_ok()) *imported = std::make_shared<const Imported>(backend, device, base, size_bytes);
  return status;
}

void IpcImports::remember(Refusal refusal) {
  refusals_.push_front(std::move(refusal));
  if (refusals_.size() > kMostRefusals) refusals_.pop_back();
}

bool IpcImports::drop_overlapping(const Backend *backend, std::int32_t device, const ExportOrigin &origin) {
  return entries_.remove_if([&](const Entry &entry) {
    return entry.backend == backend && entry.device == device && overlaps(entry.origin, origin) &&
           entry.imported.use_count() == 1;
  }) > 0;
}

void IpcImports::clear() noexcept {
  const std::scoped_lock lock(mutex_);
  entries_.remove_if([](const Entry &entry) { return entry.imported.use_count() == 1; });
  refusals_.clear();
}

std::size_t IpcImports::size() const {
  const std::scoped_lock lock(mutex_);
  return entries_.size();
}

}  // namespace sluice::device
