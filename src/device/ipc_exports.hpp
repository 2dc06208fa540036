// SPDX-License-Identifier: BSD-3-Clause
// IpcExports: the handles under which other processes reach this one's device memory, kept by allocation.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <utility>

#include "base/short_mutex.hpp"
#include "base/status.hpp"
#include "device/place.hpp"
#include "sluice/backend.h"

namespace sluice::device {

// What a peer needs to find an address: the handle of its allocation, and how far it lies behind the first byte.
struct Exported {
  sluice_ipc_handle_t handle{};
  std::uint64_t offset_bytes = 0;
  std::uint64_t allocation_bytes = 0;
};

// Any thread.
class IpcExports {
 public:
  // The process's. Never destroyed.
  static IpcExports &process();

  // Exports the allocation that holds the `size_bytes` from `address` on, which lie in `place`, or finds the handle
  // that was made before: the allocation's number is the key, and no number is used twice, so a handle never outlives
  // what it names. Memory without a number is asked about each time, and the backend knows what it said before. Errors:
  // kUnsupported, for memory that cannot be exported, or of which only a part can; that is remembered too, and said
  // once. The lock is held while the runtime exports, once for each allocation. Hot when known.
  [[nodiscard]] Status find(const Place &place, const void *address, std::uint64_t size_bytes, Exported *exported);

  // Forgets all handles.
  void clear() noexcept;
  // The most allocations remembered. A handle holds nothing of the runtime, so this bounds memory alone.
  static constexpr std::size_t kMost = 4096;

 private:
  using Key = std::pair<const Backend *, std::uint64_t>;
  struct Entry {
    bool is_exportable = false;
    sluice_ipc_handle_t handle{};
    const std::byte *base = nullptr;
    std::uint64_t size_bytes = 0;
  };

  ShortMutex mutex_;
  std::map<Key, Entry> entries_;
};

}  // namespace sluice::device
