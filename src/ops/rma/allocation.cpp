// SPDX-License-Identifier: BSD-3-Clause
#include "ops/rma/allocation.hpp"

#include <fmt/format.h>

#include "base/log.hpp"
#include "ops/env/memory_kinds.hpp"

namespace sluice::ops::rma {

std::optional<device::AllocationKind> find_wanted_kind(MPI_Info info) {
  const std::optional<std::string> word = value_of(info, kAllocationKey);
  if (!word.has_value() || *word == "mpi" || *word == "system") return {};
  device::AllocationKind kind;
  if (device::find_allocation_kind(*word, &kind)) return kind;
  log::warn_once(*word, "ops",
                 fmt::format("{}={}: no runtime loaded here allocates that, and the window gets memory of the host; "
                             "mpi_memory_alloc_kinds in the info of MPI_COMM_WORLD lists what there is",
                             kAllocationKey, *word));
  return {};
}

Status Allocation::make(std::uint64_t size_bytes, const std::optional<device::AllocationKind> &kind) {
  if (kind.has_value()) kind_ = *kind;
  if (size_bytes == 0) return {};
  if (kind.has_value()) {
    void *memory = nullptr;
    Status status = kind_.backend->check(kind_.backend->table().program_alloc(kind_.kind, size_bytes, &memory),
                                         fmt::format("allocate a window of {} bytes ({})", size_bytes, kind_.word));
    if (status.is_ok()) base_ = memory;
    return status;
  }
  host_ = std::make_unique_for_overwrite<CacheLine[]>((size_bytes - 1) / sizeof(CacheLine) + 1);
  base_ = host_.get();
  return {};
}

Allocation::~Allocation() {
  if (base_ == nullptr || kind_.backend == nullptr) return;
  const Status status = kind_.backend->check(kind_.backend->table().program_free(base_), "free the memory of a window");
  if (!status.is_ok()) log::warn_once("window_free", "ops", status.message());
}

}  // namespace sluice::ops::rma
