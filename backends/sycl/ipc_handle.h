// SPDX-License-Identifier: BSD-3-Clause
// The bytes of a handle for other processes: which mechanism leads to the memory, and what that mechanism needs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "../outcome.h"

namespace sluice::backends::sycl {

// The number is in the handle; one that a process does not know is a later version's.
enum class Mechanism : uint8_t {
  kExtension = 1,  // the runtime's own handle (extension ipc_memory)
  kLevelZero = 2,  // a level_zero::MemoryName
};

struct HandleLayout {
  uint32_t magic;
  int32_t pid;
  uint32_t process;  // checksum of what else tells the process from others
  uint16_t checksum;
  uint8_t native_bytes;
  Mechanism mechanism;
  uint64_t offset;        // of the address that the mechanism's part stands for, from the allocation's first byte
  std::byte native[104];  // the mechanism's part; the runtime's handle has that many bytes where it was seen
};
static_assert(sizeof(HandleLayout) == sizeof(sluice_ipc_handle_t) && std::is_trivially_copyable_v<HandleLayout>);

// A handle of this process for the memory that `native` stands for. SLUICE_ERROR_UNSUPPORTED when that is too long.
Outcome write_handle(Mechanism mechanism, const void *native, size_t native_bytes, uint64_t offset,
                     sluice_ipc_handle_t *handle);
// SLUICE_SUCCESS when the bytes are a handle of another process that is in itself right; its mechanism may be unknown.
Outcome read_handle(const sluice_ipc_handle_t &handle, HandleLayout *layout);

}  // namespace sluice::backends::sycl
