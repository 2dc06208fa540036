// SPDX-License-Identifier: BSD-3-Clause
// The loop-back runtime's memory and what it says of pointers.
#include <sys/mman.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>

#include "loopback.h"

namespace loopback {

namespace {

constexpr size_t kMostBytes = size_t{1} << 40U;

}  // namespace

State &state() {
  static auto *const all = new State();
  return *all;
}

int &current() {
  thread_local int t_device = 0;
  return t_device;
}

const Block *find_block(const void *address, char **begin) {
  auto *const wanted = static_cast<char *>(const_cast<void *>(address));
  auto found = state().blocks.upper_bound(wanted);
  if (found == state().blocks.begin()) return nullptr;
  --found;
  if (wanted >= found->first + found->second.size_bytes) return nullptr;
  if (begin != nullptr) *begin = found->first;
  return &found->second;
}

hipError_t add_block(size_t size_bytes, Kind kind, void **memory) {
  if (size_bytes > kMostBytes) return hipErrorOutOfMemory;
  const int file = memfd_create("loopback", MFD_CLOEXEC);
  if (file < 0 || ftruncate(file, static_cast<off_t>(size_bytes)) != 0) return hipErrorOutOfMemory;
  void *made = mmap(nullptr, size_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (made == MAP_FAILED) {
    close(file);
    return hipErrorOutOfMemory;
  }
  const std::scoped_lock lock(state().mutex);
  state().blocks[static_cast<char *>(made)] = {size_bytes, kind, current(), ++state().last_id, file};
  *memory = made;
  return hipSuccess;
}

hipError_t drop_block(void *address, Kind kind) {
  const std::scoped_lock lock(state().mutex);
  const auto found = state().blocks.find(static_cast<char *>(address));
  if (found == state().blocks.end() || found->second.kind != kind) return hipErrorInvalidValue;
  munmap(found->first, found->second.size_bytes);
  if (found->second.file >= 0) close(found->second.file);
  state().blocks.erase(found);
  return hipSuccess;
}

bool is_inside(const void *address, size_t size_bytes) {
  const std::scoped_lock lock(state().mutex);
  char *begin = nullptr;
  const Block *block = find_block(address, &begin);
  return block == nullptr || static_cast<const char *>(address) + size_bytes <= begin + block->size_bytes;
}

bool refuses(const char *what) {
  const char *refused = std::getenv("HIP_LOOPBACK_REFUSES");  // NOLINT(concurrency-mt-unsafe): set before
  return refused != nullptr && std::strcmp(refused, what) == 0;
}

bool is_broken() {
  const std::scoped_lock lock(state().mutex);
  return state().is_broken;
}

namespace {

// As the runtime does it: nothing known leaves the value as "none".
void store(void *data, hipPointer_attribute attribute, char *begin, const Block *block, void *address) {
  const bool is_host = block != nullptr && (block->kind == Kind::kHost || block->kind == Kind::kRegistered);
  switch (attribute) {
    case HIP_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
      *static_cast<int *>(data) = block != nullptr ? block->device : -2;
      return;
    case HIP_POINTER_ATTRIBUTE_IS_MANAGED:
      *static_cast<bool *>(data) = block != nullptr && block->kind == Kind::kManaged;
      return;
    case HIP_POINTER_ATTRIBUTE_BUFFER_ID:
      *static_cast<uint32_t *>(data) = block != nullptr ? block->id : 0;
      return;
    case HIP_POINTER_ATTRIBUTE_HOST_POINTER:
      *static_cast<void **>(data) = is_host ? static_cast<char *>(address) + block->to_host : nullptr;
      return;
    case HIP_POINTER_ATTRIBUTE_DEVICE_POINTER:
      *static_cast<void **>(data) = block != nullptr ? static_cast<char *>(address) + block->to_device : nullptr;
      return;
    case HIP_POINTER_ATTRIBUTE_RANGE_START_ADDR:
      *static_cast<void **>(data) = begin;
      return;
    default:
      return;
  }
}

}  // namespace

}  // namespace loopback

using loopback::Kind;
using loopback::state;

hipError_t hipMalloc(void **memory, size_t size_bytes) {
  return loopback::add_block(size_bytes, Kind::kDevice, memory);
}
hipError_t hipFree(void *memory) {
  if (memory == nullptr) return hipSuccess;
  loopback::hold_up();
  if (loopback::drop_block(memory, Kind::kDevice) == hipSuccess) return hipSuccess;
  return loopback::drop_block(memory, Kind::kManaged);
}
hipError_t hipMallocManaged(void **memory, size_t size_bytes, unsigned /*flags*/) {
  return loopback::add_block(size_bytes, Kind::kManaged, memory);
}
hipError_t hipHostMalloc(void **memory, size_t size_bytes, unsigned /*flags*/) {
  return loopback::add_block(size_bytes, Kind::kHost, memory);
}
hipError_t hipHostFree(void *memory) {
  loopback::hold_up();
  return loopback::drop_block(memory, Kind::kHost);
}
// Pages that processes may share are mapped once more, for the device; private ones cannot be, and stay where they are.
hipError_t hipHostRegister(void *memory, size_t size_bytes, unsigned /*flags*/) {
  if (loopback::refuses("registering")) return hipErrorOutOfMemory;
  const std::scoped_lock lock(state().mutex);
  if (loopback::find_block(memory) != nullptr) return hipErrorHostMemoryAlreadyRegistered;
  loopback::Block block = {size_bytes, Kind::kRegistered, loopback::current(), ++state().last_id};
  void *mapped = mremap(memory, 0, size_bytes, MREMAP_MAYMOVE);
  if (mapped != MAP_FAILED) {
    block.to_host = static_cast<char *>(memory) - static_cast<char *>(mapped);
    state().blocks[static_cast<char *>(mapped)] = block;
    block.to_device = -block.to_host;
    block.to_host = 0;
  }
  state().blocks[static_cast<char *>(memory)] = block;
  return hipSuccess;
}
hipError_t hipHostUnregister(void *memory) {
  loopback::hold_up();
  const std::scoped_lock lock(state().mutex);
  const auto found = state().blocks.find(static_cast<char *>(memory));
  if (found == state().blocks.end() || found->second.kind != Kind::kRegistered || found->second.to_host != 0) {
    return hipErrorHostMemoryNotRegistered;
  }
  if (found->second.to_device != 0) {
    char *const mapped = found->first + found->second.to_device;
    munmap(mapped, found->second.size_bytes);
    state().blocks.erase(mapped);
  }
  state().blocks.erase(found);
  return hipSuccess;
}
hipError_t hipHostGetDevicePointer(void **address, void *memory, unsigned flags) {
  const std::scoped_lock lock(state().mutex);
  const loopback::Block *block = loopback::find_block(memory);
  if (block == nullptr || flags != 0 || loopback::refuses("mapping")) return hipErrorInvalidValue;
  *address = static_cast<char *>(memory) + block->to_device;
  return hipSuccess;
}
hipError_t hipMemGetInfo(size_t *free_bytes, size_t *all_bytes) {
  const std::scoped_lock lock(state().mutex);
  *all_bytes = size_t{1} << 40U;
  *free_bytes = *all_bytes;
  for (const auto &[begin, block] : state().blocks) {
    if (block.kind == Kind::kDevice && block.device == loopback::current()) *free_bytes -= block.size_bytes;
  }
  return hipSuccess;
}

hipError_t hipDrvPointerGetAttributes(unsigned count, hipPointer_attribute *attributes, void **data,
                                      hipDeviceptr_t address) {
  if (count == 0 || attributes == nullptr || data == nullptr || address == nullptr) return hipErrorInvalidValue;
  const std::scoped_lock lock(state().mutex);
  char *begin = nullptr;
  const loopback::Block *block = loopback::find_block(address, &begin);
  for (unsigned i = 0; i < count; ++i) loopback::store(data[i], attributes[i], begin, block, address);
  return hipSuccess;
}

hipError_t hipMemGetAddressRange(hipDeviceptr_t *base, size_t *size_bytes, hipDeviceptr_t address) {
  const std::scoped_lock lock(state().mutex);
  char *begin = nullptr;
  const loopback::Block *block = loopback::find_block(address, &begin);
  if (block == nullptr) return hipErrorNotFound;
  *base = begin;
  *size_bytes = block->size_bytes;
  return hipSuccess;
}
