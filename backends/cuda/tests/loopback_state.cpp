// SPDX-License-Identifier: BSD-3-Clause
// Owns the loop-back driver's memory and contexts.
#include <sys/mman.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <utility>
#include <vector>

#include "loopback.h"

namespace loopback {

namespace {

// For tests in other processes: CUDA_LOOPBACK_FORGETS=starts, what sends that go aside come behind; before_captured and
// behind_captured.
State *make_state() {
  auto *made = new State();
  const char *forgets = std::getenv("CUDA_LOOPBACK_FORGETS");
  const std::string_view what = forgets != nullptr ? forgets : "";
  if (what == "starts") made->forgotten = Forgotten::kByPriority;
  if (what == "before_captured") made->forgotten = Forgotten::kBeforeCaptured;
  if (what == "behind_captured") made->forgotten = Forgotten::kBehindCaptured;
  return made;
}

}  // namespace

State &state() {
  static auto *all = make_state();
  return *all;
}

std::deque<CUcontext> &context_stack() {
  thread_local std::deque<CUcontext> stack;
  return stack;
}

CUcontext current() {
  return context_stack().empty() ? nullptr : context_stack().back();
}

CUresult make_block(size_t size_bytes, CUmemorytype type, bool is_managed, CUdeviceptr *address) {
  if (current() == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
  if (size_bytes == 0) return CUDA_ERROR_INVALID_VALUE;
  if (size_bytes > (size_t{1} << 36U)) return CUDA_ERROR_OUT_OF_MEMORY;
  int file = -1;
  const bool is_shareable = type == CU_MEMORYTYPE_DEVICE && !is_managed;
  void *memory =
      is_shareable ? make_shareable(size_bytes, &file) : std::aligned_alloc(512, (size_bytes + 511) / 512 * 512);
  if (memory == nullptr) return CUDA_ERROR_OUT_OF_MEMORY;
  *address = reinterpret_cast<CUdeviceptr>(memory);
  const std::scoped_lock lock(state().mutex);
  state().blocks[*address] = {size_bytes, type, is_managed, false, current(), ++state().last_id, file};
  return CUDA_SUCCESS;
}

CUresult add_registered(void *memory, size_t size_bytes) {
  if (current() == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
  const auto address = reinterpret_cast<CUdeviceptr>(memory);
  const std::scoped_lock lock(state().mutex);
  if (find_block(address) != nullptr) return CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED;
  state().blocks[address] = {size_bytes, CU_MEMORYTYPE_HOST, false, true, current(), ++state().last_id};
  return CUDA_SUCCESS;
}

// A driver takes what comes to lie under the addresses for the old pages, and copies go astray without an error.
static void check_still_mapped(CUdeviceptr address, size_t size_bytes) {
  std::vector<unsigned char> residence(size_bytes / 4096 + 2);
  void *first = reinterpret_cast<void *>(address / 4096 * 4096);
  if (mincore(first, size_bytes, residence.data()) == 0) return;
  std::fputs("loop-back: registered host memory was unmapped before it was given back\n", stderr);
  std::abort();
}

CUresult drop_block(CUdeviceptr address, CUmemorytype type, bool is_registered) {
  hold_up();
  const std::scoped_lock lock(state().mutex);
  const auto found = state().blocks.find(address);
  const bool is_that = found != state().blocks.end() && found->second.type == type &&
                       found->second.is_registered == is_registered && !found->second.is_opened &&
                       found->second.physical == nullptr;
  if (!is_that) return is_registered ? CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED : CUDA_ERROR_INVALID_VALUE;
  const Block block = found->second;
  if (is_registered) check_still_mapped(address, block.size_bytes);
  state().blocks.erase(found);
  if (block.file >= 0) {
    drop_shareable(reinterpret_cast<void *>(address), block);
  } else if (!is_registered) {
    std::free(reinterpret_cast<void *>(address));
  }
  return CUDA_SUCCESS;
}

void move(CUdeviceptr dst, CUdeviceptr src, size_t size_bytes) {
  bool is_known = false;
  {
    std::unique_lock lock(state().mutex);
    state().changed.wait(lock, [] { return !state().is_held; });
    if (state().is_broken) return;
    is_known = find_block(dst) != nullptr;
  }
  // The words at the ends of the program's own memory may hold what is another's.
  if (!is_known) {
    std::memmove(reinterpret_cast<void *>(dst), reinterpret_cast<const void *>(src), size_bytes);
    return;
  }
  const auto *from = reinterpret_cast<const char *>(src);
  for (size_t at = 0; at < size_bytes;) {
    const size_t offset = (dst + at) % sizeof(uint32_t);
    const size_t n = std::min(sizeof(uint32_t) - offset, size_bytes - at);
    auto *word = reinterpret_cast<uint32_t *>(dst + at - offset);
    uint32_t before = __atomic_load_n(word, __ATOMIC_RELAXED);
    if (at == 0) state().overwritten = before;
    uint32_t value = 0;
    // Another stream may write the word's other bytes meanwhile.
    do {
      value = before;
      std::memcpy(reinterpret_cast<char *>(&value) + offset, from + at, n);
    } while (!__atomic_compare_exchange_n(word, &before, value, false, __ATOMIC_RELEASE, __ATOMIC_RELAXED));
    at += n;
  }
}

namespace {

CUmemoryPool const kDefaultPool = reinterpret_cast<CUmemoryPool>(uintptr_t{0x100});

int device_of(const Block &block) {
  return block.physical != nullptr ? block.physical->device : block.context->device;
}

}  // namespace

// One attribute's value for a block, or for none (the driver's "nothing" values).
CUresult store_attribute(void *data, CUpointer_attribute attribute, CUdeviceptr begin, const Block *block) {
  const bool is_mapped = block != nullptr && block->physical != nullptr;
  const bool is_exportable = block != nullptr && block->file >= 0 && !block->is_opened && !block->is_pooled;
  switch (attribute) {
    case CU_POINTER_ATTRIBUTE_CONTEXT:
      *static_cast<CUcontext *>(data) = block != nullptr ? block->context : nullptr;
      return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
      *static_cast<unsigned *>(data) = block != nullptr ? static_cast<unsigned>(block->type) : 0U;
      return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_IS_MANAGED:
      *static_cast<unsigned *>(data) = block != nullptr && block->is_managed ? 1U : 0U;
      return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
      *static_cast<int *>(data) = block != nullptr ? device_of(*block) : -2;
      return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_BUFFER_ID:
      *static_cast<unsigned long long *>(data) = block != nullptr ? block->id : 0ULL;
      return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
      *static_cast<CUdeviceptr *>(data) = is_mapped ? reservation_of(begin).first : begin;
      return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_RANGE_SIZE: {
      const size_t whole = block != nullptr ? block->size_bytes : 0;
      *static_cast<size_t *>(data) = is_mapped ? reservation_of(begin).second : whole;
      return CUDA_SUCCESS;
    }
    case CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES:
      *static_cast<unsigned long long *>(data) = is_mapped ? block->physical->handle_types : 0ULL;
      return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE:
      *static_cast<unsigned *>(data) = is_exportable ? 1U : 0U;
      return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE:
      *static_cast<CUmemoryPool *>(data) = block != nullptr && block->is_pooled ? kDefaultPool : nullptr;
      return CUDA_SUCCESS;
    default:
      return CUDA_ERROR_NOT_SUPPORTED;
  }
}

const Block *find_block(CUdeviceptr address, CUdeviceptr *begin) {
  auto after = state().blocks.upper_bound(address);
  if (after == state().blocks.begin()) return nullptr;
  --after;
  if (address - after->first >= after->second.size_bytes) return nullptr;
  if (begin != nullptr) *begin = after->first;
  return &after->second;
}

}  // namespace loopback
