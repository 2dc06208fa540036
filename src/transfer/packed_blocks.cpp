// SPDX-License-Identifier: BSD-3-Clause
#include "transfer/packed_blocks.hpp"

#include <utility>

#include "transfer/laid_out.hpp"

namespace sluice::transfer {
namespace {

// Each block begins as memory of the device does, so that kernels move the longest words.
constexpr std::uint64_t kAlignmentBytes = 256;

}  // namespace

Status PackedBlocks::open(const device::Place &place, std::vector<Region> blocks) {
  const sluice_backend_t &table = place.backend->table();
  if (table.device_alloc == nullptr || table.ipc_export == nullptr) {
    return Status::error(ErrorKind::kUnsupported, "the device has no memory for packed blocks");
  }
  blocks_ = std::move(blocks);
  described_.assign(blocks_.size(), {});
  std::uint64_t end = 0;
  for (std::size_t i = 0; i < blocks_.size(); ++i) {
    if (size_of(blocks_[i]) == 0) continue;
    const std::uint64_t size_bytes = blocks_[i].size_bytes();
    described_[i] = {end, size_bytes, 0, 1};
    if (__builtin_add_overflow(end, size_bytes + (kAlignmentBytes - size_bytes % kAlignmentBytes) % kAlignmentBytes,
                               &end)) {
      return Status::error(ErrorKind::kOutOfMemory,
                           "the blocks of a collective operation are longer than memory can be; lower its counts");
    }
  }
  if (Status status = memory_.acquire(place, end); !status.is_ok()) return status;
  device::Place own;
  if (Status status = device::classify(memory_.data(), &own); !status.is_ok()) return status;
  if (Status status = device::IpcExports::process().find(own, memory_.data(), end, &exported_); !status.is_ok()) {
    return status;
  }
  for (StridedBlock &block : described_) {
    if (block.n_runs != 0) block.offset_bytes += exported_.offset_bytes;
  }
  return queue_.acquire(place);
}

Status PackedBlocks::begin(bool *is_refused) {
  Status why = enqueue(is_refused);
  if (!why.is_ok() && !*is_refused) return why;
  if (Status status = under_way_.begin(&queue_); !status.is_ok()) {
    *is_refused = false;
    return status;
  }
  if (*is_refused) under_way_ = device::PendingCopy();  // those before it end first
  return why;
}

Status PackedBlocks::enqueue(bool *is_refused) {
  *is_refused = false;
  for (std::size_t i = 0; i < blocks_.size(); ++i) {
    if (size_of(blocks_[i]) == 0) continue;
    LaidOut from;
    if (Status status = lay_out(blocks_[i], &from); !status.is_ok()) {
      *is_refused = true;
      return status;
    }
    Status status = enqueue_move(&queue_, from, lay_out(described_[i], base()), blocks_[i].size_bytes(), is_refused);
    if (!status.is_ok()) return status;
    if (*is_refused) return Status::error(ErrorKind::kUnsupported, "no kernel packs this data");
  }
  return {};
}

void PackedBlocks::close() noexcept {
  under_way_ = device::PendingCopy();
  memory_.reset();
}

}  // namespace sluice::transfer
