// SPDX-License-Identifier: BSD-3-Clause
// The loop-back driver's calls for memory of other processes: memory files, reached through /proc.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>

#include "loopback.h"

namespace {

struct Handle {
  int pid;
  int file;
  unsigned long long inode;
  size_t size_bytes;
  unsigned long long magic;
};
static_assert(sizeof(Handle) <= sizeof(CUipcMemHandle));

constexpr unsigned long long kMagic = 0x6C6F6F706261636BULL;

// The block that this context opened from that file already; the lock is held.
CUdeviceptr opened_before(unsigned long long inode) {
  for (const auto &[address, block] : loopback::state().blocks) {
    if (block.is_opened && block.inode == inode && block.context == loopback::current()) return address;
  }
  return 0;
}

}  // namespace

namespace loopback {

unsigned long long inode_of(int file) {
  struct stat status = {};
  return fstat(file, &status) == 0 ? status.st_ino : 0;
}

int open_foreign(int pid, int file, unsigned long long inode) {
  char path[64];
  std::snprintf(path, sizeof path, "/proc/%d/fd/%d", pid, file);
  const int opened = open(path, O_RDWR | O_CLOEXEC);
  if (opened >= 0 && inode_of(opened) == inode) return opened;
  if (opened >= 0) close(opened);
  return -1;
}

void *make_shareable(size_t size_bytes, int *file) {
  *file = memfd_create("loopback", MFD_CLOEXEC);
  void *memory = MAP_FAILED;
  if (*file >= 0 && ftruncate(*file, static_cast<off_t>(size_bytes)) == 0) {
    memory = mmap(nullptr, size_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, *file, 0);
  }
  if (memory != MAP_FAILED) return memory;
  if (*file >= 0) close(*file);
  *file = -1;
  return nullptr;
}

void drop_shareable(void *memory, const Block &block) {
  munmap(memory, block.size_bytes);
  close(block.file);
}

}  // namespace loopback

using loopback::state;

CUresult cuDeviceGetUuid(CUuuid *uuid, CUdevice device) {
  std::memset(uuid->bytes, 0x5A, sizeof uuid->bytes);
  uuid->bytes[0] = static_cast<char>(device);
  return device >= 0 && device < loopback::kDevices ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE;
}

CUresult cuDeviceCanAccessPeer(int *can_access, CUdevice /*device*/, CUdevice /*peer*/) {
  *can_access = 1;
  return CUDA_SUCCESS;
}

CUresult cuIpcGetMemHandle(CUipcMemHandle *handle, CUdeviceptr address) {
  const std::scoped_lock lock(state().mutex);
  const loopback::Block *block = loopback::find_block(address);
  if (block == nullptr || block->file < 0 || block->is_pooled) return CUDA_ERROR_INVALID_VALUE;
  const Handle made = {getpid(), block->file, loopback::inode_of(block->file), block->size_bytes, kMagic};
  std::memset(handle, 0, sizeof *handle);
  std::memcpy(handle, &made, sizeof made);
  return CUDA_SUCCESS;
}

CUresult cuIpcOpenMemHandle(CUdeviceptr *address, CUipcMemHandle handle, unsigned flags) {
  Handle wanted = {};
  std::memcpy(&wanted, &handle, sizeof wanted);
  if (loopback::current() == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
  if (flags != CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS || wanted.magic != kMagic) return CUDA_ERROR_INVALID_VALUE;
  const std::scoped_lock lock(state().mutex);
  *address = opened_before(wanted.inode);
  if (*address != 0) {
    ++state().blocks[*address].n_opened;
    return CUDA_SUCCESS;
  }
  const int file = loopback::open_foreign(wanted.pid, wanted.file, wanted.inode);
  if (file < 0) return CUDA_ERROR_MAP_FAILED;
  void *memory = mmap(nullptr, wanted.size_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  close(file);
  if (memory == MAP_FAILED) return CUDA_ERROR_MAP_FAILED;
  *address = reinterpret_cast<CUdeviceptr>(memory);
  loopback::Block block = {wanted.size_bytes,   CU_MEMORYTYPE_DEVICE, false, false,
                           loopback::current(), ++state().last_id};
  block.is_opened = true;
  block.n_opened = 1;
  block.inode = wanted.inode;
  state().blocks[*address] = block;
  return CUDA_SUCCESS;
}

CUresult cuIpcCloseMemHandle(CUdeviceptr address) {
  loopback::hold_up();
  const std::scoped_lock lock(state().mutex);
  const auto found = state().blocks.find(address);
  if (found == state().blocks.end() || !found->second.is_opened) return CUDA_ERROR_INVALID_VALUE;
  if (--found->second.n_opened > 0) return CUDA_SUCCESS;
  munmap(reinterpret_cast<void *>(address), found->second.size_bytes);
  state().blocks.erase(found);
  return CUDA_SUCCESS;
}
