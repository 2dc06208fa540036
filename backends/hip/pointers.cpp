// SPDX-License-Identifier: BSD-3-Clause
// What an address is: asked of the runtime each time, so that the answer is exact at any moment.
//
// The runtime's call for several attributes answers for unknown addresses without an error, with the device -2; each
// attribute costs one search, so that unknown memory is asked about once only. Which kind of memory it is follows from
// attributes whose meaning is the same in all releases: the numbers of hipMemoryType changed between 5 and 6.
#include <iterator>

#include "module.h"

namespace sluice::backends::hip {

namespace {

// Each is written as wide as the runtime's own variable, which is narrower for some.
struct Attributes {
  int device = -2;
  uint64_t is_managed = 0;  // a bool
  uint64_t buffer_id = 0;   // 32 bits
  void *host_pointer = nullptr;
  void *device_pointer = nullptr;
};

template <size_t n>
hipError_t ask(const void *address, hipPointer_attribute (&names)[n], void *(&values)[n]) {
  return g_runtime.hipDrvPointerGetAttributes(n, names, values, const_cast<void *>(address));
}

// False: the runtime does not know the address.
bool find_device(const void *address, int *device, hipError_t *native) {
  hipPointer_attribute names[] = {HIP_POINTER_ATTRIBUTE_DEVICE_ORDINAL};
  void *values[] = {device};
  *native = ask(address, names, values);
  return *native == hipSuccess && *device >= 0;
}

hipError_t find_rest(const void *address, Attributes *found) {
  hipPointer_attribute names[] = {HIP_POINTER_ATTRIBUTE_IS_MANAGED, HIP_POINTER_ATTRIBUTE_BUFFER_ID,
                                  HIP_POINTER_ATTRIBUTE_HOST_POINTER};
  void *values[] = {&found->is_managed, &found->buffer_id, &found->host_pointer};
  return ask(address, names, values);
}

sluice_memory_kind_t kind_of(const Attributes &found) {
  if (found.is_managed != 0) return SLUICE_MEMORY_SHARED;
  return found.host_pointer != nullptr ? SLUICE_MEMORY_PINNED : SLUICE_MEMORY_DEVICE;
}

}  // namespace

sluice_result_t query_pointer(const void *address, sluice_pointer_info_t *info) {
  *info = {SLUICE_MEMORY_HOST, -1, 0};
  if (address == nullptr) return SLUICE_SUCCESS;
  Attributes found;
  hipError_t native = hipSuccess;
  if (!find_device(address, &found.device, &native)) {
    // No runtime in use, or an address that it refuses to think about: nothing of the runtime's is there.
    const bool is_unknown = native == hipSuccess || native == hipErrorNotInitialized ||
                            native == hipErrorDeinitialized || native == hipErrorInvalidValue ||
                            native == hipErrorNoDevice;
    return is_unknown ? SLUICE_SUCCESS : translate("hipDrvPointerGetAttributes", native);
  }
  const sluice_result_t result = translate("hipDrvPointerGetAttributes", find_rest(address, &found));
  if (result == SLUICE_SUCCESS) *info = {kind_of(found), found.device, found.buffer_id};
  return result;
}

sluice_result_t device_address(int32_t device, const void *address, void **found) {
  *found = const_cast<void *>(address);
  Attributes all;
  hipError_t native = hipSuccess;
  if (!find_device(address, &all.device, &native)) {
    return fail(SLUICE_ERROR_UNSUPPORTED, "host memory that the runtime does not know");
  }
  sluice_result_t result = translate("hipDrvPointerGetAttributes", find_rest(address, &all));
  if (result != SLUICE_SUCCESS) return result;
  const sluice_memory_kind_t kind = kind_of(all);
  if (kind == SLUICE_MEMORY_SHARED) return SLUICE_SUCCESS;
  if (kind == SLUICE_MEMORY_DEVICE) {
    if (all.device == device || is_opened(device, address)) return SLUICE_SUCCESS;
    return fail(SLUICE_ERROR_UNSUPPORTED, "memory of another device of this process");
  }
  hipPointer_attribute names[] = {HIP_POINTER_ATTRIBUTE_DEVICE_POINTER};
  void *values[] = {&all.device_pointer};
  result = translate("hipDrvPointerGetAttributes", ask(address, names, values));
  if (result != SLUICE_SUCCESS) return result;
  if (all.device_pointer == nullptr) {
    return fail(SLUICE_ERROR_UNSUPPORTED, "host memory that is not mapped for this device");
  }
  *found = all.device_pointer;
  return SLUICE_SUCCESS;
}

// A command that touches an address that is none for it takes the device's work with it.
sluice_result_t device_range(int32_t device, const void *memory, size_t size_bytes, void **found) {
  sluice_result_t result = device_address(device, memory, found);
  if (result != SLUICE_SUCCESS || size_bytes <= 1) return result;
  void *last = nullptr;
  result = device_address(device, static_cast<const char *>(memory) + size_bytes - 1, &last);
  if (result != SLUICE_SUCCESS || last == static_cast<char *>(*found) + size_bytes - 1) return result;
  return fail(SLUICE_ERROR_UNSUPPORTED, "the memory is not of one piece for this device");
}

// The runtime knows the memory of all devices.
sluice_result_t register_context(void * /*context*/) {
  return SLUICE_SUCCESS;
}

}  // namespace sluice::backends::hip
