// SPDX-License-Identifier: BSD-3-Clause
// Owns every allocation of the process: makes them, finds them, frees them, keeps freed addresses out of use a while.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "emurt.h"
#include "runtime/address_index.h"
#include "runtime/export_ledger.h"
#include "runtime/mapping.h"

namespace emurt {

// One allocation. Copies hold it alive as an object; its memory goes when it is freed.
class Allocation {
 public:
  Allocation(const AddressEntry &entry, AddressRange view, AddressRange alias, uint64_t file_offset,
             bool is_imported = false);

  const AddressEntry &entry() const { return entry_; }
  // Where the runtime itself reads and writes the byte that programs know as `address`.
  std::byte *reachable(uintptr_t address) const;

  // Around the moving of bytes: false when the allocation was freed meanwhile. A free waits for end_use().
  bool begin_use();
  void end_use();

 private:
  friend class MemoryTable;
  void close_and_wait();  // no use begins any more, and none is under way

  AddressEntry entry_;
  AddressRange view_;   // what the program holds
  AddressRange alias_;  // device memory only
  uint64_t file_offset_;
  bool is_imported_;                     // memory of another process
  std::optional<uint32_t> export_slot_;  // where the ledger says that it lives
  std::atomic<bool> is_freed_{false};
  std::atomic<int> n_uses_{0};
};

// What one end of a copy is: ordinary host memory when `allocation` is null.
struct Endpoint {
  std::shared_ptr<Allocation> allocation;
  uintptr_t address = 0;

  emu_memory_kind_t kind() const { return allocation ? allocation->entry().kind : EMU_MEMORY_HOST; }
  int32_t device() const { return allocation ? allocation->entry().device : -1; }
};

// An allocation as its owner describes it to other processes.
struct ExportedMemory {
  int memory_descriptor = -1;  // of the memory file; the owner's
  int ledger_descriptor = -1;  // of the export ledger; the owner's
  uint32_t ledger_slot = 0;
  int32_t device = 0;
  uint64_t file_offset = 0;
  uint64_t size_bytes = 0;
  uint64_t allocation_id = 0;
};

struct MemoryLimits {
  std::vector<uint64_t> device_bytes;  // one for each device
  size_t quarantine_ranges = 0;
  size_t quarantine_bytes = 0;
  bool reuse_addresses = false;
};

class MemoryTable {
 public:
  explicit MemoryTable(MemoryLimits limits);

  // kind: PINNED, DEVICE or SHARED; alignment: 0 or a power of two. On an error nothing is changed.
  emu_result_t allocate(emu_memory_kind_t kind, int32_t device, size_t size_bytes, size_t alignment, void **memory);
  // memory: the start of an allocation.
  emu_result_t free(void *memory) { return release(memory, false); }

  // memory_table_ipc.cpp. Describes the live device allocation that holds `address`; EMU_ERROR_NOT_SUPPORTED for any
  // other memory.
  emu_result_t export_allocation(const void *address, ExportedMemory *exported);
  // Maps another process's memory; the descriptors are this process's own and stay the caller's. device: of this
  // process. The caller sees to it that the memory lives.
  emu_result_t import_allocation(const ExportedMemory &exported, int32_t device, void **memory);
  // memory: as imported.
  emu_result_t close_import(void *memory) { return release(memory, true); }

  // What [address, address + size_bytes) is for a copy; size_bytes at least 1. EMU_ERROR_INVALID_POINTER when it
  // touches freed memory or runs over the end or the start of an allocation.
  emu_result_t resolve(const void *address, size_t size_bytes, Endpoint *endpoint);

  // Lock-free. False: not known.
  bool query(const void *address, AddressEntry *entry) const {
    return index_.find(reinterpret_cast<uintptr_t>(address), entry);
  }
  uint64_t bytes_in_use(int32_t device);

  // cpu_access.cpp. While one lives, the CPU may touch all device memory of the process: for kernels that cores of the
  // CPU run and that follow pointers. A stray access of the host's is not caught meanwhile.
  class OpenToCpu {
   public:
    explicit OpenToCpu(MemoryTable &memory);
    ~OpenToCpu();
    OpenToCpu(const OpenToCpu &) = delete;
    OpenToCpu &operator=(const OpenToCpu &) = delete;

   private:
    MemoryTable &memory_;
  };

 private:
  emu_result_t release(void *memory, bool is_import);
  // All below with mutex_ held.
  void set_cpu_access(bool is_open);
  emu_result_t take_address_range(size_t size_bytes, size_t alignment, AddressRange *range, bool *is_reused);
  emu_result_t back_with_memory(emu_memory_kind_t kind, int32_t device, AddressRange *view, AddressRange *alias,
                                uint64_t *offset);
  emu_result_t charge(emu_memory_kind_t kind, int32_t device, size_t size_bytes);
  void refund(const Allocation &allocation);
  void quarantine(AddressRange range);
  void trim_quarantine();

  const MemoryLimits limits_;
  AddressIndex index_;
  std::mutex mutex_;
  std::map<uintptr_t, std::shared_ptr<Allocation>> live_;  // by first address
  std::deque<AddressRange> quarantine_;                    // oldest first
  size_t quarantine_bytes_ = 0;
  std::vector<DeviceMemoryFile> files_;  // one for each device
  std::vector<uint64_t> bytes_in_use_;   // one for each device
  ExportLedger ledger_;
  uint64_t last_id_ = 0;
  int n_open_to_cpu_ = 0;
};

}  // namespace emurt
