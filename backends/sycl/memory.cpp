// SPDX-License-Identifier: BSD-3-Clause
// Owns staging memory: the runtime's host allocations.
#include <bit>
#include <map>
#include <memory>
#include <mutex>

#include "runtime.h"
#include "waits.h"
#include "watcher.h"

namespace sluice::backends::sycl {

namespace {

// What lies behind an address that host_alloc gave: the runtime's own allocation begins at or before that.
struct Given {
  void *begin = nullptr;
  size_t size_bytes = 0;  // from the address on; the runtime does not tell it
};
// Never destroyed: memory may be given back at exit.
struct AllGiven {
  std::mutex mutex;
  std::map<void *, Given> by_address;
};
AllGiven &all_given() {
  static auto *made = new AllGiven();
  return *made;
}

Given forget(void *memory) {
  const std::scoped_lock lock(all_given().mutex);
  const auto found = all_given().by_address.find(memory);
  if (found == all_given().by_address.end()) return {memory, 0};
  const Given given = found->second;
  all_given().by_address.erase(found);
  return given;
}

// Null: no memory. One adapter for Level Zero takes no alignment above 64 KiB.
void *allocate(const ::sycl::context &context, size_t size_bytes, size_t alignment, void **begin) {
  *begin = alignment == 0 ? ::sycl::malloc_host(size_bytes, context)
                          : ::sycl::aligned_alloc_host(alignment, size_bytes, context);
  constexpr size_t kAlwaysTaken = size_t{1} << 16U;
  if (*begin != nullptr || alignment <= kAlwaysTaken) return *begin;
  *begin = ::sycl::malloc_host(size_bytes + alignment, context);
  size_t space = size_bytes + alignment;
  void *aligned = *begin;
  return aligned != nullptr ? std::align(alignment, size_bytes, aligned, space) : nullptr;
}

}  // namespace

sluice_result_t host_alloc(int32_t device, size_t size_bytes, size_t alignment, void **memory) {
  *memory = nullptr;
  run_releases();
  const sluice_result_t known = check_device(device);
  if (known != SLUICE_SUCCESS) return known;
  if (alignment != 0 && !std::has_single_bit(alignment)) {
    return fail(SLUICE_ERROR_INVALID_ARGUMENT, "alignment " + std::to_string(alignment) + " is no power of two");
  }
  return guarded("aligned_alloc_host", [&] {
    const ::sycl::context &context = Runtime::start().default_context(device).context;
    const size_t size = size_bytes == 0 ? 1 : size_bytes;
    // One at a time: over the CUDA adapter, concurrent aligned allocations were seen to fail (H200, 2026.2.0).
    const std::scoped_lock lock(all_given().mutex);
    void *begin = nullptr;
    *memory = allocate(context, size, alignment, &begin);
    if (*memory != nullptr) {
      all_given().by_address.insert_or_assign(*memory, Given{begin, size});
      return SLUICE_SUCCESS;
    }
    return fail(SLUICE_ERROR_OUT_OF_MEMORY, "aligned_alloc_host gave no " + std::to_string(size) +
                                                " bytes aligned to " + std::to_string(alignment));
  });
}

// While the process exits the memory is left to its end.
sluice_result_t host_free(int32_t device, void *memory) {
  if (memory == nullptr || is_exiting()) return SLUICE_SUCCESS;
  const sluice_result_t known = check_device(device);
  if (known != SLUICE_SUCCESS) return known;
  const Given given = forget(memory);
  words_gone(memory, given.size_bytes);
  return give_back([device, begin = given.begin] {
    return guarded("free", [&] {
      ::sycl::free(begin, Runtime::start().default_context(device).context);
      return SLUICE_SUCCESS;
    });
  });
}

sluice_staging_memory_t preferred_staging(int32_t /*device*/) {
  return SLUICE_STAGING_RUNTIME;
}

}  // namespace sluice::backends::sycl
