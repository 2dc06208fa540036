// SPDX-License-Identifier: BSD-3-Clause
// What a program does with the emulated device: its own calls, one to one.
#include "module.h"

namespace sluice::backends::emu {

sluice_result_t program_set_device(int32_t device) {
  return translate(emu_set_device(device));
}

sluice_result_t program_alloc(sluice_memory_kind_t kind, size_t size_bytes, void **memory) {
  switch (kind) {
    case SLUICE_MEMORY_PINNED:
      return translate(emu_malloc_host(size_bytes, 0, memory));
    case SLUICE_MEMORY_DEVICE:
      return translate(emu_malloc_device(size_bytes, memory));
    case SLUICE_MEMORY_SHARED:
      return translate(emu_malloc_shared(size_bytes, memory));
    case SLUICE_MEMORY_HOST:
    case SLUICE_MEMORY_FREED:
      break;
  }
  return fail(SLUICE_ERROR_INVALID_ARGUMENT, "program_alloc: the kind must be pinned, device or shared");
}

sluice_result_t program_free(void *memory) {
  return translate(emu_free(memory));
}

sluice_result_t program_copy(void *dst, const void *src, size_t size_bytes) {
  return translate(emu_memcpy(dst, src, size_bytes));
}

sluice_result_t program_synchronize() {
  return translate(emu_device_synchronize());
}

}  // namespace sluice::backends::emu
