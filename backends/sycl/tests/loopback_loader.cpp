// SPDX-License-Identifier: BSD-3-Clause
// The loop-back Level Zero loader. It takes its declarations from the module, which has no header of Level Zero either.
#include "loopback_loader.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstring>
#include <map>
#include <mutex>
#include <set>
#include <utility>

#include "../level_zero.h"

namespace {

using sluice::backends::sycl::level_zero::AllocationProperties;
using sluice::backends::sycl::level_zero::Context;
using sluice::backends::sycl::level_zero::Device;
using sluice::backends::sycl::level_zero::IpcHandle;
using sluice::backends::sycl::level_zero::Result;

constexpr Result kInvalidArgument = 0x78000004;

struct Block {
  Context context;
  size_t size_bytes;
  uint64_t id;
  int file;            // -1: another process's
  int exported = -1;   // the descriptor in handles
  int n_exported = 0;  // how often it is out
};

struct HandleBytes {
  int32_t descriptor;
  int32_t zero[3];
  int32_t process;  // in the form kProcess
  uint32_t magic;
};
static_assert(sizeof(HandleBytes) <= sizeof(IpcHandle) && offsetof(HandleBytes, process) == 16);

constexpr uint32_t kMagic = 0x6C30706C;

std::mutex g_mutex;
loopback::State g_state;
uint64_t g_last_id = 0;

std::map<uintptr_t, Block> &blocks() {
  static auto *all = new std::map<uintptr_t, Block>();
  return *all;
}

std::set<void *> &freed_places() {
  static auto *all = new std::set<void *>();
  return *all;
}

std::pair<const uintptr_t, Block> *find_block(Context context, const void *address) {
  const auto wanted = reinterpret_cast<uintptr_t>(address);
  auto after = blocks().upper_bound(wanted);
  if (after == blocks().begin()) return nullptr;
  --after;
  const bool is_inside = wanted - after->first < after->second.size_bytes && after->second.context == context;
  return is_inside ? &*after : nullptr;
}

int take_from(int process, int descriptor) {
  const auto at = static_cast<int>(syscall(SYS_pidfd_open, process, 0));
  if (at < 0) return -1;
  const auto taken = static_cast<int>(syscall(SYS_pidfd_getfd, at, descriptor, 0));
  close(at);
  return taken;
}

}  // namespace

loopback::State *loopback_state() {
  return &g_state;
}

void loopback_reset(loopback::HandleForm form) {
  g_state.form = form;
  g_state.get_fault = 0;
  g_state.open_fault = 0;
  g_state.opens_half = false;
  for (std::atomic<int32_t> *fault :
       {&g_state.groups_fault, &g_state.queue_fault, &g_state.list_fault, &g_state.fence_fault, &g_state.append_fault,
        &g_state.close_fault, &g_state.execute_fault, &g_state.wait_fault, &g_state.reset_fault})
    *fault = 0;
  g_state.drops_last = false;
  g_state.ignores_barriers = false;
  for (std::atomic<int> *count :
       {&g_state.n_gets, &g_state.n_puts, &g_state.n_opens, &g_state.n_closes, &g_state.n_executed, &g_state.n_misuses})
    *count = 0;
}

void *loopback_alloc(void *context, size_t size_bytes, void *wanted) {
  const std::scoped_lock lock(g_mutex);
  const int file = memfd_create("loopback", MFD_CLOEXEC);
  if (file < 0 || ftruncate(file, static_cast<off_t>(size_bytes)) != 0) return nullptr;
  if (wanted != nullptr && freed_places().erase(wanted) == 0) {
    close(file);
    return nullptr;
  }
  const int place = wanted != nullptr ? MAP_FIXED : 0;
  void *memory = mmap(wanted, size_bytes, PROT_READ | PROT_WRITE, MAP_SHARED | place, file, 0);
  if (memory == MAP_FAILED) {
    close(file);
    return nullptr;
  }
  blocks()[reinterpret_cast<uintptr_t>(memory)] = {context, size_bytes, ++g_last_id, file};
  return memory;
}

void loopback_free(void *memory) {
  const std::scoped_lock lock(g_mutex);
  const auto found = blocks().find(reinterpret_cast<uintptr_t>(memory));
  if (found == blocks().end()) return;
  if (found->second.exported >= 0) close(found->second.exported);
  close(found->second.file);
  // Nobody else gets the place, such as the stack of a thread.
  const void *kept = mmap(memory, found->second.size_bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
  if (kept != MAP_FAILED) freed_places().insert(memory);
  blocks().erase(found);
}

// NOLINTBEGIN(readability-identifier-naming): the names are Level Zero's
extern "C" {

Result zeMemGetAllocProperties(Context context, const void *address, AllocationProperties *properties,
                               Device * /*device*/) {
  const std::scoped_lock lock(g_mutex);
  if (properties->structure_type != 0x17) return kInvalidArgument;
  const auto *block = find_block(context, address);
  properties->kind = block != nullptr ? 2 : 0;
  properties->id = block != nullptr ? block->second.id : 0;
  return 0;
}

Result zeMemGetAddressRange(Context context, const void *address, void **begin, size_t *size_bytes) {
  const std::scoped_lock lock(g_mutex);
  const auto *block = find_block(context, address);
  if (block == nullptr) return kInvalidArgument;
  *begin = reinterpret_cast<void *>(block->first);
  *size_bytes = block->second.size_bytes;
  return 0;
}

#ifndef LOOPBACK_OLD
Result zeMemGetIpcHandle(Context context, const void *address, IpcHandle *handle) {
  const std::scoped_lock lock(g_mutex);
  if (g_state.get_fault != 0) return g_state.get_fault;
  auto *block = find_block(context, address);
  if (block == nullptr || block->second.file < 0) return kInvalidArgument;
  ++g_state.n_gets;
  HandleBytes bytes = {-1, {}, 0, kMagic};
  if (g_state.form == loopback::HandleForm::kFreshDescriptors) {
    bytes.descriptor = dup(block->second.file);
  } else {
    if (block->second.exported < 0) block->second.exported = dup(block->second.file);
    ++block->second.n_exported;
    bytes.descriptor = block->second.exported;
  }
  if (g_state.form == loopback::HandleForm::kProcess) bytes.process = getpid();
  std::memset(handle, 0, sizeof *handle);
  std::memcpy(handle, &bytes, sizeof bytes);
  return bytes.descriptor >= 0 ? 0 : kInvalidArgument;
}
#endif

Result zeMemPutIpcHandle(Context context, IpcHandle handle) {
  const std::scoped_lock lock(g_mutex);
  const bool has_call =
      g_state.form == loopback::HandleForm::kDescriptor || g_state.form == loopback::HandleForm::kProcess;
  if (!has_call) return 0x78000003;
  HandleBytes bytes{};
  std::memcpy(&bytes, &handle, sizeof bytes);
  for (auto &[begin, block] : blocks()) {
    if (block.context != context || block.exported != bytes.descriptor || block.n_exported == 0) continue;
    ++g_state.n_puts;
    if (--block.n_exported > 0) return 0;
    close(block.exported);
    block.exported = -1;
    return 0;
  }
  return kInvalidArgument;
}

Result zeMemOpenIpcHandle(Context context, Device device, IpcHandle handle, uint32_t flags, void **base) {
  const std::scoped_lock lock(g_mutex);
  if (g_state.open_fault != 0) return g_state.open_fault;
  HandleBytes bytes{};
  std::memcpy(&bytes, &handle, sizeof bytes);
  if (bytes.magic != kMagic || flags != 0 || device == nullptr) return kInvalidArgument;
  const bool is_taken = bytes.process != 0;
  const int file = is_taken ? take_from(bytes.process, bytes.descriptor) : bytes.descriptor;
  const off_t end = lseek(file, 0, SEEK_END);
  if (end <= 0) return kInvalidArgument;
  const auto size_bytes = static_cast<size_t>(end) / (g_state.opens_half ? 2 : 1);
  void *memory = mmap(nullptr, size_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (is_taken) close(file);
  if (memory == MAP_FAILED) return kInvalidArgument;
  blocks()[reinterpret_cast<uintptr_t>(memory)] = {context, size_bytes, ++g_last_id, -1};
  ++g_state.n_opens;
  *base = memory;
  return 0;
}

Result zeMemCloseIpcHandle(Context context, const void *base) {
  const std::scoped_lock lock(g_mutex);
  const auto found = blocks().find(reinterpret_cast<uintptr_t>(base));
  const bool is_open = found != blocks().end() && found->second.file < 0 && found->second.context == context;
  if (!is_open) return kInvalidArgument;
  munmap(reinterpret_cast<void *>(found->first), found->second.size_bytes);
  blocks().erase(found);
  ++g_state.n_closes;
  return 0;
}

}  // extern "C"
// NOLINTEND(readability-identifier-naming)
