// SPDX-License-Identifier: BSD-3-Clause
#include "ops/rma/own_memory.hpp"

#include <algorithm>
#include <cstring>
#include <limits>

#include "base/bad_peer.hpp"
#include "ops/rma/side.hpp"

namespace sluice::ops::rma {
namespace {

using transfer::WindowAction;

Status bad_request() {
  return bad_peer("what a rank asked for on a window makes no sense, and was not done");
}

}  // namespace

void OwnMemory::set(void *base, std::uint64_t size_bytes, const device::Place &place) {
  is_dynamic_ = false;
  parts_.push_back({static_cast<std::byte *>(base), size_bytes, place});
}

Status OwnMemory::attach(void *base, std::uint64_t size_bytes) {
  Part part{static_cast<std::byte *>(base), size_bytes, {}};
  Status status = device::classify(base, &part.place);
  if (status.is_ok()) status = transfer::refuse_freed(part.place, part.base);
  if (status.is_ok() && size_bytes != 0 && part.place.kind == MemoryKind::kDevice) {
    status = transfer::refuse_past_the_end(part.base, size_bytes);
  }
  if (!status.is_ok() || size_bytes == 0) return status;
  const std::scoped_lock lock(mutex_);
  const bool overlaps = std::any_of(parts_.begin(), parts_.end(), [&](const Part &other) {
    return part.base < other.base + other.size_bytes && other.base < part.base + part.size_bytes;
  });
  if (overlaps) {
    return Status::error(ErrorKind::kBadAttachment,
                         "MPI_Win_attach: a part of this memory is attached already; detach that first");
  }
  parts_.push_back(part);
  return {};
}

Status OwnMemory::detach(const void *base) {
  const std::scoped_lock lock(mutex_);
  const auto found = std::find_if(parts_.begin(), parts_.end(), [base](const Part &part) { return part.base == base; });
  if (found == parts_.end()) {
    return Status::error(
        ErrorKind::kBadAttachment,
        "MPI_Win_detach: no memory that begins there is attached; give the address that MPI_Win_attach was given");
  }
  parts_.erase(found);
  return {};
}

// Where `runs` lie, which are offsets in the window or addresses in a dynamic one.
Status OwnMemory::find(const std::vector<transfer::Block> &runs, transfer::Region *region) {
  const std::scoped_lock lock(mutex_);
  for (const Part &part : parts_) {
    std::vector<transfer::Block> within = runs;
    bool is_sound = true;
    for (transfer::Block &run : within) {
      const auto base = is_dynamic_ ? reinterpret_cast<std::intptr_t>(part.base) : 0;
      is_sound = is_sound && !__builtin_sub_overflow(run.offset_bytes, base, &run.offset_bytes);
    }
    if (!is_sound || !transfer::lie_within(within, part.size_bytes)) continue;
    *region = transfer::region_of(part.base, std::move(within), part.place);
    return {};
  }
  return Status::error(
      ErrorKind::kBadRange,
      is_dynamic_ ? "a one-sided operation reaches memory that the target has not "
                    "attached to the window; attach it before"
                  : "a one-sided operation reaches beyond the target's window; check displacement, count and datatype");
}

bool OwnMemory::serve(const transfer::WindowMessage &message, LockWords *words, std::vector<std::byte> *answer,
                      Status *status) {
  const transfer::WindowHeader &header = message.header;
  const std::uint64_t size_bytes = header.payload_bytes;
  transfer::Region region;
  *status = size_bytes == 0 ? bad_request() : find(message.runs, &region);
  if (!status->is_ok()) return true;
  if (header.action == WindowAction::kPut) {
    *status = write_payload(region, size_bytes, message.operand.data());
    return true;
  }
  if (header.action == WindowAction::kGet) {
    answer->resize(size_bytes);
    *status = read_payload(region, size_bytes, answer->data());
    return true;
  }
  const bool is_swap = header.action == WindowAction::kSwap;
  Arithmetic arithmetic;
  if (!find_arithmetic(header.type, header.operation, &arithmetic) ||
      size_bytes % arithmetic.element->size_bytes != 0 ||
      (header.operand_bytes == 0) != (!is_swap && arithmetic.is_nothing()) || (is_swap && !arithmetic.is_replace())) {
    *status = bad_request();
    return true;
  }
  UpdateHold hold;
  if (!hold.try_take(words)) return false;
  *status = update(region, arithmetic, message.operand.first(header.operand_bytes == 0 ? 0 : size_bytes),
                   is_swap ? message.operand.data() + size_bytes : nullptr, answer);
  if (header.flag == 0 && !is_swap) answer->clear();
  return true;
}

Status update(const transfer::Region &target, const Arithmetic &arithmetic, std::span<const std::byte> operand,
              const std::byte *compare, std::vector<std::byte> *before) {
  const std::uint64_t size_bytes = target.size_bytes();
  before->resize(size_bytes);
  Status status = read_payload(target, size_bytes, before->data());
  if (!status.is_ok() || operand.empty()) return status;
  if (compare != nullptr && std::memcmp(before->data(), compare, size_bytes) != 0) return {};
  if (arithmetic.is_replace()) return write_payload(target, size_bytes, operand.data());
  std::vector<std::byte> after = *before;
  status = compute(arithmetic, operand.data(), after.data(), size_bytes);
  return status.is_ok() ? write_payload(target, size_bytes, after.data()) : status;
}

}  // namespace sluice::ops::rma
