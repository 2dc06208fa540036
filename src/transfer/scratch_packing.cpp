// SPDX-License-Identifier: BSD-3-Clause
#include "transfer/scratch_packing.hpp"

#include <algorithm>
#include <cstring>
#include <memory>
#include <new>

#include "base/log.hpp"
#include "device/device_memory.hpp"
#include "device/queue.hpp"
#include "transfer/packing.hpp"

namespace sluice::transfer {
namespace {

class ScratchMove {
 public:
  ScratchMove(sluice_pack_direction_t direction, const Region &region, std::uint64_t size_bytes) noexcept
      : direction_(direction), region_(region), size_bytes_(size_bytes) {}
  ~ScratchMove() { static_cast<void>(wait()); }  // after another error
  ScratchMove(const ScratchMove &) = delete;
  ScratchMove &operator=(const ScratchMove &) = delete;
  ScratchMove(ScratchMove &&) = delete;
  ScratchMove &operator=(ScratchMove &&) = delete;

  [[nodiscard]] Status open() {
    Status status = scratch_.acquire(region_.place, std::min(size_bytes_, kScratchPieceBytes));
    return status.is_ok() ? queue_.acquire(region_.place) : status;
  }

  // The queue keeps the order: a piece comes into the scratch memory when the one before it is out of there.
  [[nodiscard]] Status move_packed(std::byte *packed) {
    Status status;
    for (std::uint64_t first = 0; first < size_bytes_ && status.is_ok() && !is_refused_; first += kScratchPieceBytes) {
      status = enqueue(first, packed + first);
    }
    return status.is_ok() ? wait() : status;
  }

  // By way of packed host memory, which this process brings together and apart.
  [[nodiscard]] Status move_image(std::byte *image) {
    bounce_.reset(new (std::nothrow) std::byte[std::min(size_bytes_, kScratchPieceBytes)]);
    is_refused_ = bounce_ == nullptr;
    if (is_refused_) return {};
    Status status;
    std::uint64_t first = 0;  // of the piece in bounce_
    for_each_run(region_, size_bytes_, [&](std::byte *memory, std::uint64_t position, std::uint64_t bytes) {
      while (bytes != 0 && status.is_ok() && !is_refused_) {
        const std::uint64_t end = first + std::min(kScratchPieceBytes, size_bytes_ - first);
        const std::uint64_t size = std::min(bytes, end - position);
        if (direction_ == SLUICE_PACK && position == first) status = move_piece(first);
        if (!status.is_ok() || is_refused_) break;
        std::byte *const beside =
            at(image, reinterpret_cast<std::intptr_t>(memory) - reinterpret_cast<std::intptr_t>(region_.origin));
        std::byte *const packed = bounce_.get() + (position - first);
        direction_ == SLUICE_PACK ? std::memcpy(beside, packed, size) : std::memcpy(packed, beside, size);
        memory += size;
        position += size;
        bytes -= size;
        if (position != end) continue;
        if (direction_ == SLUICE_UNPACK) status = move_piece(first);
        first = end;
      }
      return status.is_ok() && !is_refused_;
    });
    return status;
  }

  [[nodiscard]] bool is_refused() const noexcept { return is_refused_; }

 private:
  // The bytes of a piece stand in host memory before the next one comes there.
  [[nodiscard]] Status move_piece(std::uint64_t first) {
    Status status = enqueue(first, bounce_.get());
    return status.is_ok() ? wait() : status;
  }

  [[nodiscard]] Status enqueue(std::uint64_t first, std::byte *host) {
    const std::uint64_t size = std::min(kScratchPieceBytes, size_bytes_ - first);
    const bool is_packing = direction_ == SLUICE_PACK;
    const sluice_copy_t copy{is_packing ? host : scratch_.data(), is_packing ? scratch_.data() : host, size};
    Status status;
    has_any_ = true;
    if (!is_packing) status = queue_.enqueue({&copy, 1});
    if (status.is_ok()) {
      status = enqueue_pack(&queue_, direction_, SLUICE_PACKED, region_, first, size, scratch_.data(), &is_refused_);
    }
    if (status.is_ok() && is_packing && !is_refused_) status = queue_.enqueue({&copy, 1});
    return status;
  }

  [[nodiscard]] Status wait() {
    if (!has_any_ || queue_.is_empty()) return {};
    has_any_ = false;
    return queue_.wait("pack");
  }

  const sluice_pack_direction_t direction_;
  const Region &region_;
  const std::uint64_t size_bytes_;
  device::DeviceMemory scratch_;
  std::unique_ptr<std::byte[]> bounce_;
  device::Queue queue_;
  bool has_any_ = false;
  bool is_refused_ = false;
};

}  // namespace

Status move_by_scratch(sluice_pack_direction_t direction, sluice_pack_form_t form, const Region &region,
                       std::uint64_t size_bytes, std::byte *beside, bool *is_refused) {
  *is_refused = true;
  sluice_pack_t pack{};
  const std::uint64_t all = std::min(size_bytes, region.size_bytes());
  if (all == 0 || region.place.backend->table().device_alloc == nullptr || !describe_pack(region, &pack).is_ok()) {
    return {};
  }
  ScratchMove move(direction, region, all);
  if (Status status = move.open(); !status.is_ok()) {
    log::debug("transfer", status.message());
    return {};
  }
  Status status = form == SLUICE_IMAGE ? move.move_image(beside) : move.move_packed(beside);
  *is_refused = move.is_refused();
  return status;
}

}  // namespace sluice::transfer
