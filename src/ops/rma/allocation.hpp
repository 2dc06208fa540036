// SPDX-License-Identifier: BSD-3-Clause
// Allocation: memory that MPI_Win_allocate makes for a window of Sluice's: of the kind that the program asks for by the
// info key mpi_memory_alloc_kind, or of the host.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "base/status.hpp"
#include "device/memory_names.hpp"
#include "wire/mpi.hpp"

namespace sluice::ops::rma {

inline constexpr const char *kAllocationKey = "mpi_memory_alloc_kind";

// What the key in `info` asks for; nothing without the key, and, said once, for what no loaded backend can allocate: it
// is a hint. Warm. Any thread.
[[nodiscard]] std::optional<device::AllocationKind> find_wanted_kind(MPI_Info info);

// Owns the memory. Not movable. One thread at a time.
class Allocation {
 public:
  Allocation() noexcept = default;
  ~Allocation();
  Allocation(const Allocation &) = delete;
  Allocation &operator=(const Allocation &) = delete;
  Allocation(Allocation &&) = delete;
  Allocation &operator=(Allocation &&) = delete;

  // Once. Of the current device where the runtime has such a thing, else of the first; without a kind, of the host.
  // Nothing for 0 bytes. Setup cost. Errors: no memory; throws std::bad_alloc for the host's. Then there is none.
  [[nodiscard]] Status make(std::uint64_t size_bytes, const std::optional<device::AllocationKind> &kind);

  // Null without memory.
  [[nodiscard]] void *base() const noexcept { return base_; }
  // The kind as MPI writes it; empty for memory of the host.
  [[nodiscard]] const std::string &word() const noexcept { return kind_.word; }

 private:
  struct alignas(64) CacheLine {
    std::array<std::byte, 64> bytes;
  };

  device::AllocationKind kind_;
  void *base_ = nullptr;
  std::unique_ptr<CacheLine[]> host_;  // NOLINT(cppcoreguidelines-avoid-c-arrays): it is not filled in
};

}  // namespace sluice::ops::rma
