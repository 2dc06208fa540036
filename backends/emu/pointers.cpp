// SPDX-License-Identifier: BSD-3-Clause
// What an address is. The runtime's table answers without a lock.
#include "module.h"

namespace sluice::backends::emu {
namespace {

sluice_memory_kind_t kind_of(emu_memory_kind_t kind) {
  switch (kind) {
    case EMU_MEMORY_PINNED:
      return SLUICE_MEMORY_PINNED;
    case EMU_MEMORY_DEVICE:
      return SLUICE_MEMORY_DEVICE;
    case EMU_MEMORY_SHARED:
      return SLUICE_MEMORY_SHARED;
    case EMU_MEMORY_FREED:
      return SLUICE_MEMORY_FREED;
    case EMU_MEMORY_HOST:
      break;
  }
  return SLUICE_MEMORY_HOST;
}

}  // namespace

sluice_result_t query_pointer(const void *address, sluice_pointer_info_t *info) {
  emu_pointer_info_t native;
  const emu_result_t result = emu_pointer_query(address, &native);
  if (result != EMU_SUCCESS) return translate(result);
  if (info == nullptr) return fail(SLUICE_ERROR_INVALID_ARGUMENT, "query_pointer: null pointer");
  info->kind = kind_of(native.kind);
  info->device = native.device;
  info->allocation_id = native.allocation_id;
  return SLUICE_SUCCESS;
}

// One runtime, one context: there is nothing to register.
sluice_result_t register_context(void * /*context*/) {
  return SLUICE_SUCCESS;
}

}  // namespace sluice::backends::emu
