// SPDX-License-Identifier: BSD-3-Clause
#include "staging_pages.h"

#include <sys/mman.h>

#include <bit>
#include <cerrno>
#include <cstring>
#include <mutex>
#include <string>
#include <unordered_map>

namespace sluice::backends {
namespace {

constexpr size_t kPageBytes = 4096;

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

}  // namespace

sluice_result_t unmap_pages(const Pages &pages) {
  if (munmap(pages.base, pages.size_bytes) == 0) return SLUICE_SUCCESS;
  const int code = errno;
  return fail(SLUICE_ERROR_NATIVE, std::string("munmap: ") + strerror(code));
}

sluice_result_t acquire_pages(size_t size_bytes, size_t alignment,
                              const std::function<sluice_result_t(const Pages &)> &pin, void **memory) {
  *memory = nullptr;
  if (alignment != 0 && !std::has_single_bit(alignment)) {
    return fail(SLUICE_ERROR_INVALID_ARGUMENT, "alignment " + std::to_string(alignment) + " is no power of two");
  }
  const size_t extra = alignment > kPageBytes ? alignment : 0;
  if (size_bytes > SIZE_MAX / 2 - extra) {
    return fail(SLUICE_ERROR_OUT_OF_MEMORY, std::to_string(size_bytes) + " bytes are more than an address space has");
  }
  const size_t whole = (size_bytes + extra + kPageBytes - 1) / kPageBytes * kPageBytes;
  Pages pages = {};
  sluice_result_t result = map_pages(whole == 0 ? kPageBytes : whole, &pages);
  if (result != SLUICE_SUCCESS) return result;
  result = pin(pages);
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

sluice_result_t release_pages(void *memory, Pages *pages) {
  const std::scoped_lock lock(g_mutex);
  const auto found = pages_by_address().find(memory);
  if (found == pages_by_address().end()) {
    return fail(SLUICE_ERROR_INVALID_ARGUMENT, "this address was not given out by host_alloc, or is freed already");
  }
  *pages = found->second;
  pages_by_address().erase(found);
  return SLUICE_SUCCESS;
}

}  // namespace sluice::backends
