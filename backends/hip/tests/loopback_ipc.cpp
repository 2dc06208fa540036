// SPDX-License-Identifier: BSD-3-Clause
// Memory of other processes in the loop-back runtime: the file behind an allocation, found in its owner's folder of
// /proc.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>
#include <string>

#include "loopback.h"

using loopback::Kind;
using loopback::state;

namespace {

struct Name {
  int pid;
  int file;
  unsigned long long inode;
  size_t size_bytes;
};
static_assert(sizeof(Name) <= sizeof(hipIpcMemHandle_t));

unsigned long long inode_of(int file) {
  struct stat found = {};
  return fstat(file, &found) == 0 ? found.st_ino : 0;
}

}  // namespace

hipError_t hipIpcGetMemHandle(hipIpcMemHandle_t *handle, void *address) {
  const std::scoped_lock lock(state().mutex);
  const loopback::Block *block = loopback::find_block(address);
  if (block == nullptr || block->kind != Kind::kDevice) return hipErrorInvalidValue;
  const Name name = {getpid(), block->file, inode_of(block->file), block->size_bytes};
  std::memset(handle, 0, sizeof *handle);
  std::memcpy(handle, &name, sizeof name);
  return hipSuccess;
}

hipError_t hipIpcOpenMemHandle(void **address, hipIpcMemHandle_t handle, unsigned flags) {
  if (flags != hipIpcMemLazyEnablePeerAccess) return hipErrorInvalidValue;
  Name name = {};
  std::memcpy(&name, &handle, sizeof name);
  if (name.pid == getpid()) return hipErrorInvalidContext;
  const std::string path = "/proc/" + std::to_string(name.pid) + "/fd/" + std::to_string(name.file);
  const int file = open(path.c_str(), O_RDWR | O_CLOEXEC);
  if (file < 0) return hipErrorInvalidDevicePointer;
  void *made = inode_of(file) == name.inode && name.inode != 0
                   ? mmap(nullptr, name.size_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0)
                   : MAP_FAILED;
  if (made == MAP_FAILED) {
    close(file);
    return hipErrorInvalidDevicePointer;
  }
  const std::scoped_lock lock(state().mutex);
  state().blocks[static_cast<char *>(made)] = {name.size_bytes, Kind::kOpened, loopback::current(), ++state().last_id,
                                               file};
  *address = made;
  return hipSuccess;
}

// The vendor's waits for the default stream, and with it for those that do not go by themselves.
hipError_t hipIpcCloseMemHandle(void *address) {
  loopback::hold_up();
  return loopback::drop_block(address, Kind::kOpened);
}
