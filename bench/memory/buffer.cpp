// SPDX-License-Identifier: BSD-3-Clause
// Owners of memory.
#include "bench/memory/buffer.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <utility>

namespace sluice::bench {
namespace {

// The kernel grants far more than the machine has and kills the process later; better to say so at once.
void require_host_memory(std::uint64_t size_bytes) {
  const long pages = ::sysconf(_SC_PHYS_PAGES);
  const long page_bytes = ::sysconf(_SC_PAGESIZE);
  if (pages <= 0 || page_bytes <= 0) {
    return;
  }
  const std::uint64_t machine_bytes = static_cast<std::uint64_t>(pages) * static_cast<std::uint64_t>(page_bytes);
  if (size_bytes > machine_bytes) {
    throw DeviceError(
        fmt::format("a host buffer of {} bytes does not fit: the machine has {} bytes", size_bytes, machine_bytes));
  }
}

// Programs' long arrays are whole large pages more often than not, and those of other benchmarks always; with the
// guards around it ours would not be, and a device maps another process's memory of odd length in small pages: copies
// beside each other took 3.8 ms for 1 GiB where they take 3.1 (docs/adr/0053).
std::uint64_t in_large_pages(std::uint64_t size_bytes) {
  constexpr std::uint64_t kPage = SLUICE_LARGE_PAGE_BYTES;
  return size_bytes < kPage ? size_bytes : (size_bytes + kPage - 1) / kPage * kPage;
}

void *allocate_c(std::uint64_t size_bytes, bool is_aligned) {
  require_host_memory(size_bytes);
  const std::size_t n = std::max<std::uint64_t>(size_bytes, 1);
  const std::size_t rounded = (n + kPageBytes - 1) / kPageBytes * kPageBytes;
  void *memory = is_aligned ? std::aligned_alloc(kPageBytes, rounded) : std::malloc(n);
  if (memory == nullptr) {
    throw DeviceError(fmt::format("the C library has no {} bytes of memory", size_bytes));
  }
  return memory;
}

}  // namespace

Buffer Buffer::program_memory(DeviceModule *module, sluice_memory_kind_t kind, std::uint64_t size_bytes) {
  if (kind == SLUICE_MEMORY_HOST) {
    return {Owner::c_library, nullptr, allocate_c(size_bytes, true), size_bytes};
  }
  if (kind != SLUICE_MEMORY_DEVICE) {
    require_host_memory(size_bytes);
  }
  return {Owner::program, module, module->allocate(kind, in_large_pages(size_bytes)), size_bytes};
}

Buffer Buffer::staging_memory(DeviceModule *module, sluice_staging_memory_t kind, std::uint64_t size_bytes) {
  if (kind == SLUICE_STAGING_MALLOC || kind == SLUICE_STAGING_ALIGNED) {
    return {Owner::c_library, nullptr, allocate_c(size_bytes, kind == SLUICE_STAGING_ALIGNED), size_bytes};
  }
  require_host_memory(size_bytes);
  const std::size_t alignment = kind == SLUICE_STAGING_RUNTIME_ALIGNED ? kPageBytes : 0;
  return {Owner::runtime_host, module, module->allocate_host(std::max<std::uint64_t>(size_bytes, 1), alignment),
          size_bytes};
}

Buffer::Buffer(Buffer &&other) noexcept
    : owner_(other.owner_),
      module_(other.module_),
      memory_(std::exchange(other.memory_, nullptr)),
      size_bytes_(other.size_bytes_) {}

Buffer &Buffer::operator=(Buffer &&other) noexcept {
  if (this != &other) {
    release();
    owner_ = other.owner_;
    module_ = other.module_;
    memory_ = std::exchange(other.memory_, nullptr);
    size_bytes_ = other.size_bytes_;
  }
  return *this;
}

Buffer::~Buffer() {
  release();
}

void Buffer::release() noexcept {
  if (memory_ == nullptr) {
    return;
  }
  std::string refusal;
  if (owner_ == Owner::c_library) {
    std::free(memory_);
  } else {
    refusal = owner_ == Owner::program ? module_->release(memory_) : module_->release_host(memory_);
  }
  if (!refusal.empty()) {
    fmt::print(stderr, "sluice-bench: memory could not be freed: {}\n", refusal);
  }
  memory_ = nullptr;
}

}  // namespace sluice::bench
