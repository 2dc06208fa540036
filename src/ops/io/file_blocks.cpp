// SPDX-License-Identifier: BSD-3-Clause
#include "ops/io/file_blocks.hpp"

#include <algorithm>
#include <limits>
#include <numeric>

#include "base/knobs.hpp"
#include "ops/datatype/pack_choice.hpp"
#include "ops/datatype/type_contents.hpp"
#include "transfer/packing.hpp"
#include "wire/host.hpp"
#include "wire/host_failure.hpp"

namespace sluice::ops::io {
namespace {

constexpr std::uint64_t kMostInt = std::numeric_limits<int>::max();

// Of a view with gaps each access costs the host MPI a walk over the view from its beginning.
std::uint64_t wanted_bytes(const FileFacts &facts) {
  constexpr std::uint64_t kTimesWithGaps = 3;
  static const std::uint64_t bytes = Knobs::process().bytes("file_block");
  return facts.has_gaps ? kTimesWithGaps * bytes : bytes;
}

// The most steps of `step` that `limit` has room for, at least one.
std::uint64_t round_down(std::uint64_t limit, std::uint64_t step) noexcept {
  return std::max(step, limit / step * step);
}

}  // namespace

Status FileBlocks::open(const Buffer &buffer, const FileFacts &facts, bool is_one_access, Operation operation) {
  region_ = buffer.region();
  memory_ = buffer.staging_memory();
  operation_ = operation;
  facts_ = facts;
  is_image_ = !facts.is_native;
  if (Status status = transfer::refuse_freed(region_.place, region_.origin); !status.is_ok()) return status;
  return is_image_ ? cut_images(buffer, facts.etype_bytes, is_one_access)
                   : cut_bytes(buffer, facts.etype_bytes, is_one_access);
}

// What is no whole number of etypes is for the host MPI to judge.
Status FileBlocks::cut_bytes(const Buffer &buffer, std::uint64_t etype_bytes, bool is_one_access) {
  const std::uint64_t all = region_.size_bytes();
  const bool is_whole = is_one_access || all % etype_bytes != 0;
  part_bytes_ = is_whole ? all : std::min(all, round_down(wanted_bytes(facts_), etype_bytes));
  part_etypes_ = part_bytes_ / etype_bytes;
  n_blocks_ = (all + part_bytes_ - 1) / part_bytes_;
  const bool is_absolute = buffer.address() == MPI_BOTTOM;
  if (!is_absolute) static_cast<void>(transfer::name_as_bytes(&region_));
  if (!region_.layout->is_contiguous) {
    choose_pack(plan::PackLeg::kStaging, transfer::most_runs(*region_.layout, region_.count), &region_);
  }
  stream_.open(region_, memory_, part_bytes_, is_absolute);
  return part_bytes_ > kMostInt ? make_long_type() : Status();
}

Status FileBlocks::cut_images(const Buffer &buffer, std::uint64_t etype_bytes, bool is_one_access) {
  const std::uint64_t span_bytes = region_.span_bytes();
  if (buffer.address() == MPI_BOTTOM || span_bytes == 0) {
    return Status::error(ErrorKind::kUnsupported,
                         "data of a device by absolute addresses, or over more memory than can be counted, cannot be "
                         "converted to the representation of the file; give its address, and fewer elements");
  }
  const std::uint64_t element_bytes = region_.layout->size_bytes;
  const auto count = static_cast<std::uint64_t>(region_.count);
  const std::uint64_t reach_bytes = std::max<std::uint64_t>(span_bytes / count, 1);
  const std::uint64_t step = etype_bytes / std::gcd(etype_bytes, element_bytes);
  const bool is_whole = is_one_access || count % step != 0;
  const std::uint64_t elements =
      is_whole ? count : std::min(count, round_down(wanted_bytes(facts_) / reach_bytes, step));
  part_bytes_ = elements * element_bytes;
  part_etypes_ = part_bytes_ / etype_bytes;
  n_blocks_ = (count + elements - 1) / elements;
  if (!region_.layout->is_contiguous) {
    choose_pack(plan::PackLeg::kImage, transfer::most_runs(*region_.layout, region_.count), &region_);
  }
  return {};
}

// One element of all bytes of the only block.
Status FileBlocks::make_long_type() {
  constexpr std::uint64_t kUnit = std::uint64_t{1} << 20;
  const wire::Host &host = wire::host();
  wire::OwnedDatatype unit;
  int code = host.MPI_Type_contiguous(static_cast<int>(kUnit), MPI_BYTE, unit.slot());
  if (code != MPI_SUCCESS) return wire::host_failure(code, "make a datatype of a block");
  const int lengths[2] = {static_cast<int>(part_bytes_ / kUnit), static_cast<int>(part_bytes_ % kUnit)};
  const MPI_Aint places[2] = {0, static_cast<MPI_Aint>(part_bytes_ / kUnit * kUnit)};
  const MPI_Datatype types[2] = {unit.get(), MPI_BYTE};
  code = host.MPI_Type_create_struct(2, lengths, places, types, long_type_.slot());
  if (code == MPI_SUCCESS) code = host.MPI_Type_commit(long_type_.slot());
  return wire::host_status(code, "make a datatype of the bytes of a long access");
}

std::uint64_t FileBlocks::block_bytes(std::uint64_t block) const noexcept {
  return std::min(part_bytes_, region_.size_bytes() - block * part_bytes_);
}

transfer::Region FileBlocks::elements_of(std::uint64_t block) const noexcept {
  const transfer::Layout &layout = *region_.layout;
  transfer::Region part = region_;
  const auto first = static_cast<std::int64_t>(block * (part_bytes_ / layout.size_bytes));
  part.origin = transfer::at(region_.origin, first * layout.extent_bytes);
  part.count = static_cast<std::int64_t>(block_bytes(block) / layout.size_bytes);
  return part;
}

bool FileBlocks::may_end_early(std::uint64_t block, const Call &call) noexcept {
  if (is_all_there_) return false;
  const auto reaches_end = [&](std::uint64_t size_bytes) {
    bool is_so = true;
    return find_reaches_end(call, facts_, size_bytes / facts_.etype_bytes, &is_so) != MPI_SUCCESS || is_so;
  };
  // The question costs a walk over the view, so it is asked of all that is left at first.
  if (block == 0) is_all_there_ = !reaches_end(size_bytes());
  return !is_all_there_ && reaches_end(block_bytes(block));
}

Status FileBlocks::acquire(std::uint64_t block) {
  if (!is_image_) return stream_.acquire(slot_of(block));
  const transfer::Region part = elements_of(block);
  transfer::Staged &image = images_[slot_of(block)];
  return part.layout->is_contiguous ? image.open(part, memory_) : image.open_image(part, memory_);
}

Status FileBlocks::begin_down(std::uint64_t block) {
  if (Status status = acquire(block); !status.is_ok()) return status;
  Move &move = moves_[slot_of(block)];
  move.is_down = true;
  move.span.begin();
  if (is_image_) {
    Status status = images_[slot_of(block)].copy_down();
    end_span(block, status, true);
    return status;
  }
  return stream_.begin_down(slot_of(block), block * part_bytes_, block_bytes(block));
}

Status FileBlocks::begin_up(std::uint64_t block, std::uint64_t came_bytes) {
  const std::uint64_t bytes = std::min(came_bytes, block_bytes(block));
  if (bytes == 0) return {};
  Move &move = moves_[slot_of(block)];
  move.is_down = false;
  move.span.begin();
  if (is_image_) {
    Status status = images_[slot_of(block)].copy_up(bytes);
    end_span(block, status, true);
    return status;
  }
  return stream_.begin_up(slot_of(block), block * part_bytes_, bytes);
}

Status FileBlocks::poll(std::uint64_t block, bool *is_done) {
  Status status = stream_.poll(slot_of(block), is_done);
  end_span(block, status, *is_done);
  return status;
}

Status FileBlocks::wait(std::uint64_t block) {
  Status status = stream_.wait(slot_of(block));
  end_span(block, status, true);
  return status;
}

void FileBlocks::end_span(std::uint64_t block, const Status &moved, bool is_done) noexcept {
  Move &move = moves_[slot_of(block)];
  if (!is_done) return;
  if (!moved.is_ok()) return move.span.abandon();
  move.span.end(move.is_down ? trace::Lane::kD2h : trace::Lane::kH2d, {operation_}, piece(block));
}

void FileBlocks::put_into(std::uint64_t block, Call *call) const noexcept {
  const std::size_t slot = slot_of(block);
  const std::uint64_t bytes = block_bytes(block);
  call->offset += static_cast<MPI_Offset>(block * part_etypes_);
  if (is_image_) {
    call->buffer = region_.layout->is_contiguous ? images_[slot].data() : images_[slot].image_origin();
    call->count = static_cast<MPI_Count>(bytes / region_.layout->size_bytes);
    return;
  }
  call->buffer = stream_.data(slot);
  const bool is_counted = long_type_.get() == MPI_DATATYPE_NULL;
  call->count = is_counted ? static_cast<MPI_Count>(bytes) : 1;
  call->type = is_counted ? MPI_BYTE : long_type_.get();
}

void FileBlocks::put_nothing(Call *call) noexcept {
  // Not null: MPICH 4 refuses that in `external32`, of no elements, too.
  static char nothing = 0;
  call->buffer = &nothing;
  call->count = 0;
  call->type = MPI_BYTE;
}

}  // namespace sluice::ops::io
