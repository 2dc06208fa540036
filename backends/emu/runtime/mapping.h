// SPDX-License-Identifier: BSD-3-Clause
// Address space and the memory behind it: the only caller of mmap.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "emurt.h"

namespace emurt {

// The memory of one device: an unlinked, sparse memory file. Every allocation has a stretch of its own, that is never
// used again; what is freed is punched out, so that only live stretches hold memory. One descriptor per device.
class DeviceMemoryFile {
 public:
  DeviceMemoryFile() = default;
  ~DeviceMemoryFile();
  DeviceMemoryFile(const DeviceMemoryFile &) = delete;
  DeviceMemoryFile &operator=(const DeviceMemoryFile &) = delete;

  // Takes a new, zeroed stretch; makes the file on the first call. The caller holds the memory table's lock.
  emu_result_t take(size_t size_bytes, uint64_t *offset);
  // Gives the memory of a stretch back to the system. Any thread.
  void punch(uint64_t offset, size_t size_bytes) const;
  int descriptor() const { return descriptor_; }

 private:
  int descriptor_ = -1;
  uint64_t end_ = 0;
};

// An owned stretch of address space; unmapped when it dies.
class AddressRange {
 public:
  AddressRange() = default;
  ~AddressRange() { release(); }
  AddressRange(AddressRange &&other) noexcept;
  AddressRange &operator=(AddressRange &&other) noexcept;
  AddressRange(const AddressRange &) = delete;
  AddressRange &operator=(const AddressRange &) = delete;

  // Address space without access or memory, aligned to `alignment` (a power of two; at least a page).
  // size_bytes: whole pages. EMU_ERROR_OUT_OF_MEMORY when the system has none.
  static emu_result_t reserve(size_t size_bytes, size_t alignment, AddressRange *range);
  // Readable and writable file memory anywhere: the runtime's own view of device memory.
  // descriptor: of a memory file; not kept.
  static emu_result_t map_alias(int descriptor, uint64_t offset, size_t size_bytes, AddressRange *range);

  // Replace what lies behind the range, in place. EMU_ERROR_OUT_OF_MEMORY when refused; the range is then as before.
  emu_result_t map_host_memory();                                       // zeroed, the CPU may touch it
  emu_result_t map_inaccessible_file(int descriptor, uint64_t offset);  // device memory as programs see it
  // Lets the CPU touch what is mapped, or not. False: the system refused, and nothing has changed.
  bool set_cpu_access(bool is_open) const;
  // Takes the memory away and leaves only the address space, without access. Cannot fail in a way that matters: on
  // refusal the access is withdrawn and the pages are dropped instead.
  void make_inaccessible();

  uintptr_t begin() const { return reinterpret_cast<uintptr_t>(memory_); }
  std::byte *memory() const { return static_cast<std::byte *>(memory_); }
  size_t size_bytes() const { return size_bytes_; }

 private:
  AddressRange(void *memory, size_t size_bytes) : memory_(memory), size_bytes_(size_bytes) {}
  void release();

  void *memory_ = nullptr;
  size_t size_bytes_ = 0;
};

// The system's page size in bytes.
size_t page_bytes();
// Rounded up to whole pages; 0 when that overflows.
size_t whole_pages(size_t size_bytes);

}  // namespace emurt
