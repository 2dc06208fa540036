// SPDX-License-Identifier: BSD-3-Clause
// Owns staging memory: pages of this process that the driver pins and maps. Shared pages, because a private page that
// is written after a fork moves away from the device; mapped by this module rather than by the driver, because the
// program may reset the device, which takes the driver's own host memory away from under the CPU.
#include <sys/mman.h>

#include <bit>
#include <cerrno>
#include <cstring>
#include <mutex>
#include <string>
#include <unordered_map>

#include "waits.h"

namespace sluice::backends::cuda {

namespace {

constexpr size_t kPageBytes = 4096;

struct Pages {
  void *base;
  size_t size_bytes;
};

std::mutex g_mutex;

std::unordered_map<void *, Pages> &pages_by_address() {
  // Never destroyed: memory may be given back while the process exits.
  static auto *pages = new std::unordered_map<void *, Pages>();
  return *pages;
}

sluice_result_t map_pages(size_t size_bytes, Pages *pages) {
  void *base = mmap(nullptr, size_bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
  if (base == MAP_FAILED) {
    const int code = errno;
    return fail(SLUICE_ERROR_OUT_OF_MEMORY, "mmap of " + std::to_string(size_bytes) + " bytes: " + strerror(code));
  }
  *pages = {base, size_bytes};
  return SLUICE_SUCCESS;
}

sluice_result_t unmap_pages(const Pages &pages) {
  if (munmap(pages.base, pages.size_bytes) == 0) return SLUICE_SUCCESS;
  const int code = errno;
  return fail(SLUICE_ERROR_NATIVE, std::string("munmap: ") + strerror(code));
}

// A device that was reset and a driver that is shut down have let go of the pages themselves.
sluice_result_t give_back(const Pages &pages) {
  const CUresult native = g_driver.cuMemHostUnregister(pages.base);
  const bool is_gone = native == CUDA_ERROR_DEINITIALIZED || native == CUDA_ERROR_CONTEXT_IS_DESTROYED ||
                       native == CUDA_ERROR_INVALID_CONTEXT || native == CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED;
  const sluice_result_t result = is_gone ? SLUICE_SUCCESS : translate("cuMemHostUnregister", native);
  if (result != SLUICE_SUCCESS) return result;  // pages that the device may still write to are kept
  return unmap_pages(pages);
}

}  // namespace

sluice_result_t pages_acquire(size_t size_bytes, size_t alignment, void **memory) {
  *memory = nullptr;
  if (alignment != 0 && !std::has_single_bit(alignment)) {
    return fail(SLUICE_ERROR_INVALID_ARGUMENT, "alignment " + std::to_string(alignment) + " is no power of two");
  }
  run_releases();
  const size_t extra = alignment > kPageBytes ? alignment : 0;
  if (size_bytes > SIZE_MAX / 2 - extra) {
    return fail(SLUICE_ERROR_OUT_OF_MEMORY, std::to_string(size_bytes) + " bytes are more than an address space has");
  }
  const size_t whole = (size_bytes + extra + kPageBytes - 1) / kPageBytes * kPageBytes;
  Pages pages = {};
  sluice_result_t result = map_pages(whole == 0 ? kPageBytes : whole, &pages);
  if (result != SLUICE_SUCCESS) return result;
  result = translate("cuMemHostRegister",
                     g_driver.cuMemHostRegister(pages.base, pages.size_bytes,
                                                CU_MEMHOSTREGISTER_PORTABLE | CU_MEMHOSTREGISTER_DEVICEMAP));
  if (result != SLUICE_SUCCESS) {
    // The first error is the one to tell; pages just mapped can be unmapped.
    munmap(pages.base, pages.size_bytes);
    return result;
  }
  auto address = reinterpret_cast<uintptr_t>(pages.base);
  if (extra != 0) address = (address + alignment - 1) & ~(alignment - 1);
  *memory = reinterpret_cast<void *>(address);
  const std::scoped_lock lock(g_mutex);
  pages_by_address()[*memory] = pages;
  return SLUICE_SUCCESS;
}

sluice_result_t pages_release(void *memory) {
  Pages pages = {};
  {
    const std::scoped_lock lock(g_mutex);
    const auto found = pages_by_address().find(memory);
    if (found == pages_by_address().end()) {
      return fail(SLUICE_ERROR_INVALID_ARGUMENT, "this address was not given out by host_alloc, or is freed already");
    }
    pages = found->second;
    pages_by_address().erase(found);
  }
  words_gone(pages.base, pages.size_bytes);
  {
    const Quiet quiet;
    if (quiet.is_kept()) return give_back(pages);
  }
  release_later([pages] {
    if (give_back(pages) != SLUICE_SUCCESS) log_line(1, error_text());
  });
  return SLUICE_SUCCESS;
}

sluice_result_t host_alloc(int32_t device, size_t size_bytes, size_t alignment, void **memory) {
  return in_context_of(device, [&] { return pages_acquire(size_bytes, alignment, memory); });
}

sluice_result_t host_free(int32_t device, void *memory) {
  CUcontext context = nullptr;
  bool is_retained = false;
  if (find_context(device, &context, &is_retained) != SLUICE_SUCCESS) return pages_release(memory);
  sluice_result_t result = SLUICE_SUCCESS;
  {
    const ContextScope scope(context);
    result = scope.result();
    if (result == SLUICE_SUCCESS) result = pages_release(memory);
  }
  release_context(device, is_retained);
  return result;
}

// Page-aligned either way; docs/measurements/2026-11-21-calls-h200 has the comparison with malloc (pageable copies go
// through the driver's own staging: 8 us more at 32 KiB, 3 times the time at 1 MiB).
sluice_staging_memory_t preferred_staging(int32_t /*device*/) {
  return SLUICE_STAGING_RUNTIME;
}

}  // namespace sluice::backends::cuda
