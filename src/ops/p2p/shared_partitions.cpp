// SPDX-License-Identifier: BSD-3-Clause
#include "ops/p2p/shared_partitions.hpp"

#include <utility>

#include "base/bad_peer.hpp"
#include "device/ipc_exports.hpp"

namespace sluice::ops {

Status PartitionWords::create(std::uint64_t n_partitions, wire::SegmentName *name) {
  return wire::SharedSegment::create(bytes_for(n_partitions), segment_.get(), name);
}

Status PartitionWords::open(std::uint64_t n_partitions, const wire::SegmentName &name) {
  return wire::SharedSegment::open(name, bytes_for(n_partitions), segment_.get());
}

Status PartitionMemory::export_from(const transfer::Region &region, PartitionMemory *memory) {
  device::Exported exported;
  if (Status status = device::IpcExports::process().find(region.place, region.origin, region.size_bytes(), &exported);
      !status.is_ok()) {
    return status;
  }
  *memory = {exported.offset_bytes, exported.allocation_bytes,
             reinterpret_cast<std::uintptr_t>(region.origin) - exported.offset_bytes, exported.handle};
  return {};
}

Status PartitionMemory::import_for(const device::Place &place, int process, std::uint64_t size_bytes,
                                   device::ImportedPtr *imported, std::byte **begin) const {
  const device::ExportOrigin origin{static_cast<std::uint64_t>(process), base_address, allocation_bytes};
  Status status = device::IpcImports::process().open(place.backend, place.device_index(), handle, origin, imported);
  if (!status.is_ok()) return status;
  if (!(*imported)->holds(offset_bytes, size_bytes)) {
    return bad_peer("the partitions of a peer do not lie in the memory that it names");
  }
  *begin = (*imported)->base() + offset_bytes;
  return {};
}

PartitionTaker::PartitionTaker(PartitionWords words, std::uint64_t n_partitions, device::ImportedPtr imported,
                               const std::byte *source, const transfer::Region &region)
    : words_(std::move(words)),
      n_partitions_(n_partitions),
      imported_(std::move(imported)),
      source_(source),
      region_(region),
      partition_bytes_(region.size_bytes() / n_partitions),
      taken_(std::make_unique<std::atomic<std::uint64_t>[]>(static_cast<std::size_t>(n_partitions))) {}

void PartitionTaker::begin(std::uint64_t start) noexcept {
  start_ = start;
  first_missing_ = 0;
  words_.set_begun(start);
}

Status PartitionTaker::advance(Came *came) {
  *came = {};
  if (copy_.is_running()) {
    bool has_ended = false;
    if (Status status = copy_.poll(&has_ended); !status.is_ok()) return fail(std::move(status));
    if (!has_ended) return {};
    for (const std::uint64_t partition : under_way_) taken_[partition].store(start_, std::memory_order_release);
    came->copied_bytes = under_way_.size() * partition_bytes_;
  }
  if (Status status = collect(came); !status.is_ok()) return fail(std::move(status));
  while (first_missing_ < n_partitions_ && taken_[first_missing_].load(std::memory_order_relaxed) == start_) {
    ++first_missing_;
  }
  came->is_all = first_missing_ == n_partitions_;
  if (came->is_all) words_.set_taken(start_);
  // Others may have the queue while there is nothing to copy.
  if (!copy_.is_running()) queue_ = device::Queue();
  return {};
}

// Begins to copy all that is ready and has not come, and notes what was put.
Status PartitionTaker::collect(Came *came) {
  pieces_.clear();
  under_way_.clear();
  for (std::uint64_t i = first_missing_; i < n_partitions_; ++i) {
    if (taken_[i].load(std::memory_order_relaxed) == start_) continue;
    const std::uint64_t mark = words_.mark(i);
    const std::uint64_t marked = PartitionWords::start_of(mark);
    if (marked > start_) {
      return bad_peer(
          "the sender of a partitioned message says of a partition what cannot be, and what came of this message is "
          "not known");
    }
    if (marked != start_) continue;
    if (PartitionWords::is_put(mark)) {
      taken_[i].store(start_, std::memory_order_release);
      came->put_bytes += partition_bytes_;
      ++came->n_put;
      continue;
    }
    const bool is_next = !under_way_.empty() && under_way_.back() + 1 == i;
    under_way_.push_back(i);
    if (is_next) {
      pieces_.back().size_bytes += partition_bytes_;
    } else {
      pieces_.push_back({region_.origin + i * partition_bytes_, source_ + i * partition_bytes_, partition_bytes_});
    }
  }
  if (pieces_.empty()) return {};
  if (queue_.is_empty()) {
    if (Status status = queue_.acquire(region_.place); !status.is_ok()) return status;
  }
  return copy_.begin(&queue_, pieces_);
}

Status PartitionTaker::fail(Status status) {
  words_.set_taken(start_);
  return status;
}

bool PartitionTaker::has_taken(std::uint64_t start, std::uint64_t first_bytes,
                               std::uint64_t size_bytes) const noexcept {
  const std::uint64_t last = (first_bytes + size_bytes - 1) / partition_bytes_;
  for (std::uint64_t i = first_bytes / partition_bytes_; i <= last; ++i) {
    // What was put is there before a turn has noted it.
    if (taken_[i].load(std::memory_order_acquire) == start || words_.mark(i) == PartitionWords::put_mark(start))
      continue;
    return false;
  }
  return true;
}

}  // namespace sluice::ops
