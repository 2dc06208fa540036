// SPDX-License-Identifier: BSD-3-Clause
// Owners of memory: any kind a message may lie in, and any kind a staging buffer may be made of.
#pragma once

#include <sluice/backend.h>

#include <cstddef>
#include <cstdint>

#include "bench/memory/device_module.hpp"

namespace sluice::bench {

inline constexpr std::size_t kPageBytes = 4096;

// One allocation, freed on destruction (a runtime that refuses to free is reported on stderr). Move only.
class Buffer {
 public:
  // Memory a program would keep its data in. HOST is page-aligned C memory and needs no module; the other kinds come
  // from the module's selected device. The module outlives the buffer. Throws DeviceError, also for a size that the
  // machine's memory cannot hold.
  static Buffer program_memory(DeviceModule *module, sluice_memory_kind_t kind, std::uint64_t size_bytes);
  // Host memory to stage in. The module may be null for the two C kinds. Throws DeviceError.
  static Buffer staging_memory(DeviceModule *module, sluice_staging_memory_t kind, std::uint64_t size_bytes);

  Buffer(const Buffer &) = delete;
  Buffer &operator=(const Buffer &) = delete;
  Buffer(Buffer &&other) noexcept;
  Buffer &operator=(Buffer &&other) noexcept;
  ~Buffer();

  std::byte *data() const { return static_cast<std::byte *>(memory_); }
  std::uint64_t size_bytes() const { return size_bytes_; }

 private:
  enum class Owner { c_library, program, runtime_host };
  Buffer(Owner owner, DeviceModule *module, void *memory, std::uint64_t size_bytes)
      : owner_(owner), module_(module), memory_(memory), size_bytes_(size_bytes) {}
  void release() noexcept;

  Owner owner_;
  DeviceModule *module_;
  void *memory_;
  std::uint64_t size_bytes_;
};

}  // namespace sluice::bench
