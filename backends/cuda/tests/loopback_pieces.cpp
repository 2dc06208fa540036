// SPDX-License-Identifier: BSD-3-Clause
// The loop-back driver's calls for memory that is mapped piece by piece, and for pools: memory files again, mapped to
// addresses that were reserved for them. As on a device, nobody may touch a piece before cuMemSetAccess.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "loopback.h"

using loopback::Block;
using loopback::Physical;
using loopback::state;

namespace {

// Smaller than a device's, so that small memory has several pieces.
constexpr size_t kGrainBytes = 65536;
constexpr unsigned long long kMagic = 0x666162726963ULL;

struct FabricHandle {
  unsigned long long magic;
  int pid;
  int file;
  unsigned long long inode;
  int device;
};
static_assert(sizeof(FabricHandle) <= 64);

Physical *physical(CUmemGenericAllocationHandle handle) {
  return reinterpret_cast<Physical *>(handle);
}

CUmemGenericAllocationHandle handle_of(Physical *memory) {
  return reinterpret_cast<CUmemGenericAllocationHandle>(memory);
}

// The lock is held.
void drop_reference(Physical *memory) {
  if (--memory->n_references > 0) return;
  close(memory->file);
  delete memory;
}

bool is_whole(CUdeviceptr address, size_t size) {
  return size > 0 && size % kGrainBytes == 0 && address % kGrainBytes == 0;
}

// The range is made of whole mapped blocks; the lock is held.
bool is_mapped_whole(CUdeviceptr address, size_t size) {
  for (CUdeviceptr at = address; at < address + size;) {
    const auto found = state().blocks.find(at);
    if (found == state().blocks.end() || found->second.physical == nullptr) return false;
    at += found->second.size_bytes;
    if (at > address + size) return false;
  }
  return true;
}

CUresult adopt(int file, CUdevice device, unsigned long long types, CUmemGenericAllocationHandle *handle) {
  struct stat status = {};
  if (fstat(file, &status) != 0 || status.st_size <= 0) {
    close(file);
    return CUDA_ERROR_INVALID_VALUE;
  }
  const std::scoped_lock lock(state().mutex);
  *handle = handle_of(new Physical{file, static_cast<size_t>(status.st_size), device, types, ++state().last_id, 1});
  return CUDA_SUCCESS;
}

}  // namespace

namespace loopback {

std::pair<CUdeviceptr, size_t> reservation_of(CUdeviceptr address) {
  auto after = state().reservations.upper_bound(address);
  if (after == state().reservations.begin()) return {0, 0};
  return *--after;
}

}  // namespace loopback

CUresult cuMemGetAllocationGranularity(size_t *granularity, const CUmemAllocationProp * /*properties*/,
                                       CUmemAllocationGranularity_flags /*option*/) {
  *granularity = kGrainBytes;
  return CUDA_SUCCESS;
}

CUresult cuMemCreate(CUmemGenericAllocationHandle *handle, size_t size, const CUmemAllocationProp *properties,
                     unsigned long long flags) {
  const CUdevice device = properties->location.id;
  if (flags != 0 || !is_whole(0, size) || device < 0 || device >= loopback::kDevices) return CUDA_ERROR_INVALID_VALUE;
  const auto types = static_cast<unsigned long long>(properties->requestedHandleTypes);
  if ((types & CU_MEM_HANDLE_TYPE_FABRIC) != 0 && state().refuses_fabric) return CUDA_ERROR_NOT_PERMITTED;
  const int file = memfd_create("loopback piece", MFD_CLOEXEC);
  if (file < 0 || ftruncate(file, static_cast<off_t>(size)) != 0) return CUDA_ERROR_OUT_OF_MEMORY;
  return adopt(file, device, types, handle);
}

CUresult cuMemRelease(CUmemGenericAllocationHandle handle) {
  const std::scoped_lock lock(state().mutex);
  drop_reference(physical(handle));
  return CUDA_SUCCESS;
}

CUresult cuMemAddressReserve(CUdeviceptr *address, size_t size, size_t /*alignment*/, CUdeviceptr /*wish*/,
                             unsigned long long flags) {
  if (flags != 0 || !is_whole(0, size)) return CUDA_ERROR_INVALID_VALUE;
  const size_t padded = size + kGrainBytes;
  void *memory = mmap(nullptr, padded, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) return CUDA_ERROR_OUT_OF_MEMORY;
  const auto begin = reinterpret_cast<CUdeviceptr>(memory);
  *address = (begin + kGrainBytes - 1) / kGrainBytes * kGrainBytes;
  if (*address > begin) munmap(memory, *address - begin);
  const CUdeviceptr end = begin + padded;
  if (end > *address + size) munmap(reinterpret_cast<void *>(*address + size), end - *address - size);
  const std::scoped_lock lock(state().mutex);
  state().reservations[*address] = size;
  return CUDA_SUCCESS;
}

CUresult cuMemAddressFree(CUdeviceptr address, size_t size) {
  const std::scoped_lock lock(state().mutex);
  const auto found = state().reservations.find(address);
  if (found == state().reservations.end() || found->second != size) return CUDA_ERROR_INVALID_VALUE;
  const auto block = state().blocks.lower_bound(address);
  if (block != state().blocks.end() && block->first < address + size) return CUDA_ERROR_INVALID_VALUE;
  state().reservations.erase(found);
  munmap(reinterpret_cast<void *>(address), size);
  return CUDA_SUCCESS;
}

CUresult cuMemMap(CUdeviceptr address, size_t size, size_t offset, CUmemGenericAllocationHandle handle,
                  unsigned long long flags) {
  const std::scoped_lock lock(state().mutex);
  Physical *memory = physical(handle);
  const auto [begin, reserved] = loopback::reservation_of(address);
  if (flags != 0 || offset != 0 || !is_whole(address, size) || size != memory->size_bytes ||
      address + size > begin + reserved || loopback::find_block(address) != nullptr) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  void *mapped = mmap(reinterpret_cast<void *>(address), size, PROT_NONE, MAP_SHARED | MAP_FIXED, memory->file, 0);
  if (mapped == MAP_FAILED) return CUDA_ERROR_MAP_FAILED;
  ++memory->n_references;
  Block block = {size, CU_MEMORYTYPE_DEVICE, false, false, nullptr, memory->id};
  block.physical = memory;
  state().blocks[address] = block;
  return CUDA_SUCCESS;
}

CUresult cuMemUnmap(CUdeviceptr address, size_t size) {
  const std::scoped_lock lock(state().mutex);
  if (!is_mapped_whole(address, size)) return CUDA_ERROR_INVALID_VALUE;
  for (CUdeviceptr at = address; at < address + size;) {
    const auto found = state().blocks.find(at);
    at += found->second.size_bytes;
    drop_reference(found->second.physical);
    state().blocks.erase(found);
  }
  mmap(reinterpret_cast<void *>(address), size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1,
       0);
  return CUDA_SUCCESS;
}

CUresult cuMemSetAccess(CUdeviceptr address, size_t size, const CUmemAccessDesc *access, size_t count) {
  const std::scoped_lock lock(state().mutex);
  if (count == 0 || access->location.id < 0 || access->location.id >= loopback::kDevices ||
      !is_mapped_whole(address, size)) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  const int failed = mprotect(reinterpret_cast<void *>(address), size, PROT_READ | PROT_WRITE);
  return failed == 0 ? CUDA_SUCCESS : CUDA_ERROR_UNKNOWN;
}

CUresult cuMemGetAddressRange(CUdeviceptr *begin, size_t *size, CUdeviceptr address) {
  const std::scoped_lock lock(state().mutex);
  CUdeviceptr found = 0;
  const Block *block = loopback::find_block(address, &found);
  if (block == nullptr) return CUDA_ERROR_NOT_FOUND;
  if (begin != nullptr) *begin = found;
  if (size != nullptr) *size = block->size_bytes;
  return CUDA_SUCCESS;
}

CUresult cuMemRetainAllocationHandle(CUmemGenericAllocationHandle *handle, void *address) {
  const std::scoped_lock lock(state().mutex);
  const Block *block = loopback::find_block(reinterpret_cast<CUdeviceptr>(address));
  if (block == nullptr || block->physical == nullptr) return CUDA_ERROR_INVALID_VALUE;
  ++block->physical->n_references;
  *handle = handle_of(block->physical);
  return CUDA_SUCCESS;
}

CUresult cuMemExportToShareableHandle(void *shared, CUmemGenericAllocationHandle handle, CUmemAllocationHandleType type,
                                      unsigned long long /*flags*/) {
  const std::scoped_lock lock(state().mutex);
  const Physical *memory = physical(handle);
  if ((memory->handle_types & type) == 0) return CUDA_ERROR_INVALID_VALUE;
  if (type == CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR) {
    const int copy = fcntl(memory->file, F_DUPFD_CLOEXEC, 0);
    std::memcpy(shared, &copy, sizeof copy);
    return copy >= 0 ? CUDA_SUCCESS : CUDA_ERROR_OPERATING_SYSTEM;
  }
  if (state().refuses_fabric) return CUDA_ERROR_NOT_PERMITTED;
  const FabricHandle made = {kMagic, getpid(), memory->file, loopback::inode_of(memory->file), memory->device};
  std::memset(shared, 0, 64);
  std::memcpy(shared, &made, sizeof made);
  return CUDA_SUCCESS;
}

CUresult cuMemImportFromShareableHandle(CUmemGenericAllocationHandle *handle, void *shared,
                                        CUmemAllocationHandleType type) {
  if (type == CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR) {
    const int copy = fcntl(static_cast<int>(reinterpret_cast<uintptr_t>(shared)), F_DUPFD_CLOEXEC, 0);
    return copy >= 0 ? adopt(copy, 0, type, handle) : CUDA_ERROR_INVALID_VALUE;
  }
  FabricHandle wanted = {};
  std::memcpy(&wanted, shared, sizeof wanted);
  const int file = wanted.magic == kMagic ? loopback::open_foreign(wanted.pid, wanted.file, wanted.inode) : -1;
  return file >= 0 ? adopt(file, wanted.device, type, handle) : CUDA_ERROR_INVALID_VALUE;
}

// ---- the context, for memory that takes no attribute ----

#if CUDA_VERSION >= 12010
CUresult cuCtxGetFlags(unsigned *flags) {
  if (loopback::current() == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
  const std::scoped_lock lock(state().mutex);
  *flags = state().context_flags[loopback::current()->device];
  return CUDA_SUCCESS;
}

CUresult cuCtxSetFlags(unsigned flags) {
  if (loopback::current() == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
  const std::scoped_lock lock(state().mutex);
  state().context_flags[loopback::current()->device] = flags;
  return CUDA_SUCCESS;
}
#endif

// ---- pools ----

CUresult cuMemAllocAsync(CUdeviceptr *address, size_t size, CUstream /*stream*/) {
  const CUresult result = cuMemAlloc(address, size);
  if (result != CUDA_SUCCESS) return result;
  const std::scoped_lock lock(state().mutex);
  state().blocks[*address].is_pooled = true;
  return CUDA_SUCCESS;
}

CUresult cuMemFreeAsync(CUdeviceptr address, CUstream /*stream*/) {
  return cuMemFree(address);
}

// ---- memory in use ----

CUresult cuMemGetInfo(size_t *free, size_t *total) {
  if (loopback::current() == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
  const int device = loopback::current()->device;
  const CUresult result = cuDeviceTotalMem(total, device);
  const std::scoped_lock lock(state().mutex);
  *free = *total;
  for (const auto &[address, block] : state().blocks) {
    const bool is_there =
        block.type == CU_MEMORYTYPE_DEVICE && block.context != nullptr && block.context->device == device;
    if (is_there) *free -= std::min(*free, block.size_bytes);
  }
  return result;
}
