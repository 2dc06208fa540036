// SPDX-License-Identifier: BSD-3-Clause
// Device memory of the kinds that programs have besides cuMemAlloc's, so that tests and benchmarks meet them.
#include <algorithm>
#include <iterator>
#include <map>
#include <mutex>
#include <string>

#include "module.h"
#include "pieces.h"

namespace sluice::backends::cuda {

namespace {

struct Special {
  size_t size_bytes = 0;  // of the addresses; 0: memory of a pool
};

std::mutex g_mutex;

std::map<void *, Special> &specials() {
  static auto *all = new std::map<void *, Special>();  // never destroyed: memory may be freed while the process exits
  return *all;
}

CUmemAllocationProp properties_for(CUdevice device) {
  CUmemAllocationProp properties = {};
  properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  properties.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  properties.location.id = device;
  unsigned long long types = 0;
  if (g_program_memory == ProgramMemory::kPieces) types = kDescriptorTypes;
  if (g_program_memory == ProgramMemory::kFabricPieces) types = kFabricTypes;
  properties.requestedHandleTypes = static_cast<CUmemAllocationHandleType>(types);
  return properties;
}

// As many pieces as it takes, each as small as the device allows, but no more than kMostPieces / 2 of them.
sluice_result_t map_new_pieces(CUdeviceptr base, size_t size_bytes, size_t piece_bytes,
                               const CUmemAllocationProp &properties) {
  for (size_t at = 0; at < size_bytes; at += piece_bytes) {
    const size_t size = std::min(piece_bytes, size_bytes - at);
    CUmemGenericAllocationHandle memory = 0;
    const CUresult created = g_driver.cuMemCreate(&memory, size, &properties, 0);
    sluice_result_t result = translate("cuMemCreate", created);
    // The device, or the machine around it, does not know memory for that way.
    if (created == CUDA_ERROR_NOT_PERMITTED || created == CUDA_ERROR_INVALID_VALUE) result = SLUICE_ERROR_UNSUPPORTED;
    if (result == SLUICE_SUCCESS) result = translate("cuMemMap", g_driver.cuMemMap(base + at, size, 0, memory, 0));
    // The mapping has a reference of its own, and so frees the memory when it ends.
    if (memory != 0 && g_driver.cuMemRelease(memory) != CUDA_SUCCESS) log_line(3, "cuMemRelease of a new piece failed");
    if (result == SLUICE_SUCCESS) continue;
    if (at > 0 && g_driver.cuMemUnmap(base, at) != CUDA_SUCCESS) log_line(3, "cuMemUnmap of new pieces failed");
    return result;
  }
  return SLUICE_SUCCESS;
}

// Every device that reaches the memory may use it, as memory of cuMemAlloc after peer access was enabled.
sluice_result_t allow_all(CUdeviceptr base, size_t size_bytes, CUdevice owner) {
  for (int32_t device = 0; device < device_count(); ++device) {
    int is_reached = device == owner ? 1 : 0;
    if (is_reached == 0 && g_driver.cuDeviceCanAccessPeer != nullptr &&
        g_driver.cuDeviceCanAccessPeer(&is_reached, device, owner) != CUDA_SUCCESS) {
      is_reached = 0;
    }
    if (is_reached == 0) continue;
    const CUmemAccessDesc access = {{CU_MEM_LOCATION_TYPE_DEVICE, {device}}, CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
    const sluice_result_t result = translate("cuMemSetAccess", g_driver.cuMemSetAccess(base, size_bytes, &access, 1));
    if (result != SLUICE_SUCCESS) return result;
  }
  return SLUICE_SUCCESS;
}

sluice_result_t make_pieces(size_t wanted_bytes, CUdevice device, void **memory, Special *special) {
  if (!has_piece_calls() || g_driver.cuMemCreate == nullptr || g_driver.cuMemGetAllocationGranularity == nullptr) {
    return fail(SLUICE_ERROR_UNSUPPORTED, "the driver has no cuMemCreate");
  }
  const CUmemAllocationProp properties = properties_for(device);
  size_t grain = 0;
  sluice_result_t result =
      translate("cuMemGetAllocationGranularity",
                g_driver.cuMemGetAllocationGranularity(&grain, &properties, CU_MEM_ALLOC_GRANULARITY_MINIMUM));
  if (result != SLUICE_SUCCESS) return result;
  if (wanted_bytes > SIZE_MAX / 2) return fail(SLUICE_ERROR_OUT_OF_MEMORY, "more bytes than an address space has");
  const size_t n_grains = (wanted_bytes + grain - 1) / grain;
  const size_t grains_each = n_grains / (kMostPieces / 2) + 1;
  special->size_bytes = n_grains * grain;
  CUdeviceptr base = 0;
  result = translate("cuMemAddressReserve", g_driver.cuMemAddressReserve(&base, special->size_bytes, 0, 0, 0));
  if (result != SLUICE_SUCCESS) return result;
  result = map_new_pieces(base, special->size_bytes, grains_each * grain, properties);
  if (result == SLUICE_SUCCESS) {
    result = allow_all(base, special->size_bytes, device);
    if (result != SLUICE_SUCCESS && g_driver.cuMemUnmap(base, special->size_bytes) != CUDA_SUCCESS) {
      log_line(3, "cuMemUnmap of new pieces failed");
    }
  }
  if (result == SLUICE_SUCCESS) {
    *memory = reinterpret_cast<void *>(base);
    return result;
  }
  if (g_driver.cuMemAddressFree(base, special->size_bytes) != CUDA_SUCCESS) log_line(3, "cuMemAddressFree failed");
  return result;
}

sluice_result_t make_pooled(size_t size_bytes, void **memory) {
  if (g_driver.cuMemAllocAsync == nullptr || g_driver.cuMemFreeAsync == nullptr) {
    return fail(SLUICE_ERROR_UNSUPPORTED, "the driver has no cuMemAllocAsync");
  }
  CUdeviceptr address = 0;
  const sluice_result_t result =
      translate("cuMemAllocAsync", g_driver.cuMemAllocAsync(&address, size_bytes, CU_STREAM_LEGACY));
  if (result != SLUICE_SUCCESS) return result;
  *memory = reinterpret_cast<void *>(address);
  return translate("cuStreamSynchronize", g_driver.cuStreamSynchronize(CU_STREAM_LEGACY));
}

}  // namespace

sluice_result_t special_alloc(size_t size_bytes, void **memory) {
  CUdevice device = 0;
  sluice_result_t result = translate("cuCtxGetDevice", g_driver.cuCtxGetDevice(&device));
  if (result != SLUICE_SUCCESS) return result;
  Special special;
  const bool is_pool = g_program_memory == ProgramMemory::kPool;
  result = is_pool ? make_pooled(size_bytes, memory) : make_pieces(size_bytes, device, memory, &special);
  if (result != SLUICE_SUCCESS) return result;
  const std::scoped_lock lock(g_mutex);
  specials()[*memory] = special;
  return SLUICE_SUCCESS;
}

bool special_free(void *memory, sluice_result_t *result) {
  Special special;
  {
    const std::scoped_lock lock(g_mutex);
    const auto found = specials().find(memory);
    if (found == specials().end()) return false;
    special = found->second;
    specials().erase(found);
  }
  const auto address = reinterpret_cast<CUdeviceptr>(memory);
  if (special.size_bytes > 0) {
    // As cuMemFree does, and cuMemUnmap does not: nobody works on the memory any more.
    *result = translate("cuCtxSynchronize", g_driver.cuCtxSynchronize());
    if (*result == SLUICE_SUCCESS) *result = unmap_pieces(memory, special.size_bytes);
    return true;
  }
  *result = translate("cuMemFreeAsync", g_driver.cuMemFreeAsync(address, CU_STREAM_LEGACY));
  if (*result == SLUICE_SUCCESS) {
    *result = translate("cuStreamSynchronize", g_driver.cuStreamSynchronize(CU_STREAM_LEGACY));
  }
  return true;
}

}  // namespace sluice::backends::cuda
