// SPDX-License-Identifier: BSD-3-Clause
#include "ops/p2p/partition_flags.hpp"

#include <algorithm>
#include <utility>

#include "base/log.hpp"

namespace sluice::ops {

Status PartitionFlags::make(const PartitionWords &words, std::uint64_t n_partitions, const device::Place &place,
                            std::unique_ptr<PartitionFlags> *flags) {
  const device::Backend &backend = *place.backend;
  const std::int32_t device = place.device_index();
  const std::size_t size_bytes = PartitionWords::bytes_for(n_partitions);
  if (words.data() != nullptr && backend.table().host_register != nullptr) {
    std::unique_ptr<PartitionFlags> made(new PartitionFlags(words.data(), place, true));
    const Status status = made->registration_.open(&backend, device, words.data(), size_bytes, words.owner());
    if (status.is_ok()) {
      *flags = std::move(made);
      return {};
    }
    log::debug("p2p", "the host hands on what streams make ready: " + status.message());
  }
  void *memory = nullptr;
  constexpr std::size_t kLineBytes = 128;  // devices' lines are longer than the CPU's
  Status status = backend.check(backend.table().host_alloc(device, size_bytes, kLineBytes, &memory),
                                "allocate the flags of a partitioned message");
  if (!status.is_ok()) return status;
  std::fill_n(static_cast<std::uint64_t *>(memory), size_bytes / sizeof(std::uint64_t), 0);
  flags->reset(new PartitionFlags(static_cast<std::uint64_t *>(memory), place, false));
  return {};
}

PartitionFlags::~PartitionFlags() {
  if (are_shared_) return;
  const Status status = place_.backend->check(place_.backend->table().host_free(place_.device_index(), base_),
                                              "give back the flags of a partitioned message");
  if (!status.is_ok()) log::warn_once("partition_flags", "p2p", status.message());
}

}  // namespace sluice::ops
