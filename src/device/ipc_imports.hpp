// SPDX-License-Identifier: BSD-3-Clause
// IpcImports: device memory of other processes, mapped here and kept for the next message.
#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <mutex>

#include "base/short_mutex.hpp"
#include "base/status.hpp"
#include "device/place.hpp"
#include "sluice/backend.h"

namespace sluice::device {

// A mapping in use. While one of these is held the mapping stays. Any thread.
class Imported {
 public:
  Imported(const Backend *backend, std::int32_t device, void *base, std::uint64_t size_bytes) noexcept
      : backend_(backend), device_(device), base_(static_cast<std::byte *>(base)), size_bytes_(size_bytes) {}
  ~Imported();
  Imported(const Imported &) = delete;
  Imported &operator=(const Imported &) = delete;
  Imported(Imported &&) = delete;
  Imported &operator=(Imported &&) = delete;

  // The first byte of the other process's allocation, for queues of the device it was mapped for; no CPU access.
  [[nodiscard]] std::byte *base() const noexcept { return base_; }
  // How much is mapped from there on, by this process's runtime and not by the exporter's word.
  [[nodiscard]] std::uint64_t size_bytes() const noexcept { return size_bytes_; }
  // Whether `size_bytes` that begin `offset_bytes` behind base() lie in it; any numbers.
  [[nodiscard]] bool holds(std::uint64_t offset_bytes, std::uint64_t size_bytes) const noexcept {
    return offset_bytes <= size_bytes_ && size_bytes <= size_bytes_ - offset_bytes;
  }

 private:
  const Backend *backend_;
  std::int32_t device_;
  std::byte *base_;
  std::uint64_t size_bytes_;
};

using ImportedPtr = std::shared_ptr<const Imported>;

// Identifies the exporter's allocation. A new allocation at the same address means that the old one was freed. Its
// mapping is then closed, because an open mapping keeps the memory alive.
struct ExportOrigin {
  std::uint64_t process = 0;       // world rank
  std::uint64_t base_address = 0;  // in that process
  std::uint64_t size_bytes = 0;
};

// Any thread.
class IpcImports {
 public:
  // Keeps at most `most` mappings that are not in use.
  explicit IpcImports(std::size_t most) noexcept : most_(most) {}
  IpcImports(const IpcImports &) = delete;
  IpcImports &operator=(const IpcImports &) = delete;

  // The process's, bounded by p2p_ipc_handles. Never destroyed.
  static IpcImports &process();

  // Maps what `handle` names for `device` of `backend`, or finds the mapping. The least recently used mapping beyond
  // the bound is closed, never one in use. What was refused once is refused again without asking the runtime, so that
  // memory out of reach costs each message nothing. Errors: the runtime's; kBadPeer: the memory is shorter than
  // `origin` says, so nothing that its exporter tells of it is to be believed, or another process gave out the same
  // handle. The lock is held while the runtime maps.
  [[nodiscard]] Status open(const Backend *backend, std::int32_t device, const sluice_ipc_handle_t &handle,
                            const ExportOrigin &origin, ImportedPtr *imported);

  // Closes all that is not in use, and forgets refusals.
  void clear() noexcept;
  [[nodiscard]] std::size_t size() const;
  // The most refusals remembered; the oldest are forgotten.
  static constexpr std::size_t kMostRefusals = 64;

 private:
  struct Entry {
    const Backend *backend;
    std::int32_t device;
    sluice_ipc_handle_t handle;
    ExportOrigin origin;
    ImportedPtr imported;
  };

  struct Refusal {
    const Backend *backend;
    std::int32_t device;
    sluice_ipc_handle_t handle;
    Status why;
  };

  // All with the lock held.
  // Asks the runtime. *is_final: it would say the same another time.
  [[nodiscard]] Status map(const Backend *backend, std::int32_t device, const sluice_ipc_handle_t &handle,
                           const ExportOrigin &origin, ImportedPtr *imported, bool *is_final);
  // Closes what is not in use and lies where `origin` does; whether there was any.
  bool drop_overlapping(const Backend *backend, std::int32_t device, const ExportOrigin &origin);
  void remember(Refusal refusal);

  mutable ShortMutex mutex_;
  std::list<Entry> entries_;     // most recently used first
  std::list<Refusal> refusals_;  // latest first
  const std::size_t most_;
};

}  // namespace sluice::device
