// SPDX-License-Identifier: BSD-3-Clause
#include "ops/coll/call/collective_side.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "ops/datatype/layout_of.hpp"
#include "ops/datatype/pack_choice.hpp"
#include "plan/collective.hpp"
#include "plan/policy.hpp"
#include "transfer/packing.hpp"
#include "wire/host.hpp"
#include "wire/host_failure.hpp"

namespace sluice::ops::coll {
namespace {

using transfer::at;
using transfer::Region;
using transfer::StagedBlock;

constexpr std::int64_t kMostInt = std::numeric_limits<std::int32_t>::max();

// Blocks that only follow each other, all of one count.
bool is_regular(const Argument &argument) noexcept {
  return !argument.counts.is_named() && !argument.displacements.is_named() && !argument.has_types;
}

MPI_Datatype type_at(const Argument &argument, std::size_t block) noexcept {
  return argument.has_types ? argument.types[block] : argument.type;
}

}  // namespace

bool has_arrays(const Argument &argument) noexcept {
  return (!argument.counts.is_named() || !argument.counts.is_null()) &&
         (!argument.displacements.is_named() || !argument.displacements.is_null()) &&
         (!argument.has_types || argument.types != nullptr);
}

Status OwnTypes::make(std::uint64_t size_bytes, MPI_Datatype *type) {
  for (const Made &made : types_) {
    if (made.size_bytes != size_bytes) continue;
    *type = made.type.get();
    return {};
  }
  wire::OwnedDatatype made;
  int code = wire::host().MPI_Type_contiguous(static_cast<int>(size_bytes), MPI_BYTE, made.slot());
  if (code != MPI_SUCCESS) return wire::host_failure(code, "make a datatype to stage with");
  code = wire::host().MPI_Type_commit(made.slot());
  if (code != MPI_SUCCESS) return wire::host_failure(code, "commit a datatype to stage with");
  *type = made.get();
  types_.push_back({size_bytes, std::move(made)});
  return {};
}

Status CollectiveSide::classify(const Argument &argument, int n_blocks, const BlockAccess &access, Use use) {
  n_blocks_ = n_blocks;
  is_significant_ = n_blocks > 0 && !argument.is_in_place();
  if (!is_significant_) return {};
  content_ = Content::kUnread;
  if (!has_arrays(argument)) return {};
  origin_ = static_cast<std::byte *>(argument.buffer);
  is_regular_ = is_regular(argument);
  count_ = argument.count;
  if (!device::known_backends().empty()) {
    if (Status status = look(argument); !status.is_ok()) return status;
  }
  if (content_ != Content::kDevice) {
    count_host_bytes(argument);
    return {};
  }
  bool is_good = true;
  std::vector<StagedBlock> blocks;
  if (Status status = add_blocks(argument, access, &is_good, &blocks); !status.is_ok() || !is_good) {
    content_ = Content::kUnread;
    return status;
  }
  blocks_.set(place_, std::move(blocks), is_absolute());
  moved_bytes_ = blocks_.moved_bytes();
  refusal_ = blocks_.refuse_past_the_end();
  // Absolute addresses may lead to several allocations, on devices and on the host: no image of those.
  const std::uint64_t span_bytes = argument.buffer == MPI_BOTTOM ? 0 : blocks_.span().size_bytes;
  plan_ = plan::choose_collective({place_.kind, blocks_.size_bytes(), span_bytes, use != Use::kMoved},
                                  plan::policy_of(place_.backend, place_.device));
  // Where packing cannot be said to the host MPI an image still can, gaps and all.
  if (plan_.form == plan::Form::kPacked && span_bytes != 0 && !can_pack(argument)) plan_.form = plan::Form::kImage;
  return {};
}

// layout_ is null where the type is not valid: the host MPI refuses it, in its own words.
Status CollectiveSide::layout_at(const Argument &argument, std::size_t block) {
  const MPI_Datatype type = type_at(argument, block);
  if (layout_ != nullptr && type == type_) return {};
  type_ = type;
  return layout_if_valid(type, &layout_);
}

Status CollectiveSide::look(const Argument &argument) {
  const bool is_absolute = argument.buffer == MPI_BOTTOM;
  Content content = Content::kNothing;
  for (int i = 0; i < n_blocks_; ++i) {
    const auto block = static_cast<std::size_t>(i);
    const std::int64_t count = argument.count_at(block);
    if (count < 0) return {};
    if (count == 0) continue;
    if (Status status = layout_at(argument, block); !status.is_ok() || layout_ == nullptr) return status;
    if (layout_->size_bytes == 0) continue;
    std::int64_t offset = argument.displacements.is_named() ? argument.displacements.at(block) : 0;
    if (!argument.has_types) offset *= layout_->extent_bytes;
    Status status = transfer::classify_payload(at(static_cast<std::byte *>(argument.buffer), offset), *layout_,
                                               is_absolute, device::known_backends(), &place_);
    if (!status.is_ok()) return status;
    const plan::Plan plan =
        plan::choose_collective({place_.kind, 1, 1, false}, plan::policy_of(place_.backend, place_.device));
    content = plan.route == Route::kStaged ? Content::kDevice : Content::kHost;
    // One object, one kind of memory.
    if (!is_absolute || content == Content::kDevice || is_regular_) break;
  }
  content_ = content;
  return {};
}

Status CollectiveSide::add_blocks(const Argument &argument, const BlockAccess &access, bool *is_good,
                                  std::vector<StagedBlock> *blocks) {
  std::int64_t position = 0;  // of a block that follows the one before, in extents
  for (int i = 0; i < n_blocks_; ++i) {
    const auto block = static_cast<std::size_t>(i);
    const std::int64_t count = argument.count_at(block);
    *is_good = count >= 0;
    if (!*is_good) return {};
    if (count == 0) continue;
    if (Status status = layout_at(argument, block); !status.is_ok()) return status;
    *is_good = layout_ != nullptr;
    if (!*is_good) return {};
    if (layout_->size_bytes == 0) continue;
    std::int64_t offset = argument.displacements.is_named() ? argument.displacements.at(block) : position;
    if ((!argument.has_types && __builtin_mul_overflow(offset, layout_->extent_bytes, &offset)) ||
        __builtin_add_overflow(position, count, &position)) {
      return Status::error(ErrorKind::kInvalidArgument,
                           "the blocks of a collective operation reach farther than an address; lower its counts");
    }
    const bool continues = is_regular_ && !blocks->empty() && blocks->back().access == access.of(i);
    if (continues) {
      blocks->back().region.count += count;
      continue;
    }
    const Region region{at(static_cast<std::byte *>(argument.buffer), offset), count, layout_, place_};
    blocks->push_back({region, access.of(i), nullptr});
    indices_.push_back(i);
  }
  for (StagedBlock &block : *blocks) {
    const transfer::Layout &layout = *block.region.layout;
    if (layout.is_contiguous) continue;
    choose_pack(plan::PackLeg::kStaging, transfer::most_runs(layout, block.region.count), &block.region);
  }
  return {};
}

void CollectiveSide::count_host_bytes(const Argument &argument) {
  if (!statistics::is_enabled()) return;
  for (int i = 0; i < n_blocks_; ++i) {
    const auto block = static_cast<std::size_t>(i);
    const std::int64_t count = argument.count_at(block);
    if (count <= 0 || !layout_at(argument, block).is_ok() || layout_ == nullptr) continue;
    moved_bytes_ += static_cast<std::uint64_t>(count) * layout_->size_bytes;
  }
}

// The packed blocks' places and types can be put into the arguments.
bool CollectiveSide::can_pack(const Argument &argument) const noexcept {
  const std::vector<StagedBlock> &blocks = blocks_.blocks();
  if (std::any_of(blocks.begin(), blocks.end(), [](const StagedBlock &block) {
        return !block.region.layout->is_contiguous && block.region.layout->size_bytes > kMostInt;
      })) {
    return false;
  }
  if (!argument.displacements.is_named() || argument.displacements.is_wide()) return true;
  std::int64_t end = 0;
  for (const StagedBlock &block : blocks) {
    const auto bytes = static_cast<std::int64_t>(block.region.size_bytes());
    if (__builtin_add_overflow(end, argument.has_types ? bytes : block.region.count, &end)) return false;
  }
  return end <= kMostInt;
}

Status CollectiveSide::open(Argument *argument) {
  if (plan_.form == plan::Form::kPacked) return pack(argument);
  if (Status status = blocks_.open_image(plan_.staging_memory); !status.is_ok()) return status;
  argument->buffer = blocks_.image_of(argument->buffer);
  return {};
}

Status CollectiveSide::open_reaching(const transfer::Span &reach, Argument *argument) {
  if (Status status = blocks_.open_image(plan_.staging_memory, reach); !status.is_ok()) return status;
  argument->buffer = blocks_.image_of(argument->buffer);
  return {};
}

void CollectiveSide::open_within(const CollectiveSide &other, Argument *argument) noexcept {
  blocks_.share_image(other.blocks_);
  argument->buffer = blocks_.image_of(argument->buffer);
}

Status CollectiveSide::copy_down(Down down) const {
  if (!is_staged()) return {};
  if (!refusal_.is_ok()) return blocks_.is_any_read() ? refusal_ : Status();
  return blocks_.copy_down(down);
}

Status CollectiveSide::copy_up() const {
  if (!is_staged()) return {};
  return refusal_.is_ok() ? blocks_.copy_up() : refusal_;
}

Status CollectiveSide::pack(Argument *argument) {
  if (!can_pack(*argument)) {
    return Status::error(ErrorKind::kUnsupported,
                         "more than 2 GiB in several places cannot be staged through int displacements; use the "
                         "large-count form of the operation");
  }
  if (Status status = blocks_.open_packed(plan_.staging_memory); !status.is_ok()) return status;
  const auto n_blocks = static_cast<std::size_t>(n_blocks_);
  if (argument->has_types) types_.assign(argument->types, argument->types + n_blocks);
  std::vector<std::int64_t> displacements(argument->displacements.is_named() ? n_blocks : 0);
  std::int64_t position = 0;  // in elements, with `types` in bytes
  for (std::size_t k = 0; k < indices_.size(); ++k) {
    const Region &region = blocks_.blocks()[k].region;
    const auto i = static_cast<std::size_t>(indices_[k]);
    if (!displacements.empty()) displacements[i] = position;
    position += argument->has_types ? static_cast<std::int64_t>(region.size_bytes()) : region.count;
    if (region.layout->is_contiguous) continue;
    // As many elements, each as long: so that the host MPI cuts the message where it would cut the program's.
    MPI_Datatype *type = argument->has_types ? &types_[i] : &argument->type;
    if (Status status = own_types_.make(region.layout->size_bytes, type); !status.is_ok()) return status;
  }
  argument->buffer = blocks_.data();
  if (argument->has_types) argument->set_types(types_.data());
  if (displacements.empty()) return {};
  if (argument->displacements.is_wide()) {
    wide_displacements_ = std::move(displacements);
    argument->displacements = Numbers(wide_displacements_.data());
  } else {
    displacements_.resize(n_blocks);
    std::transform(displacements.begin(), displacements.end(), displacements_.begin(),
                   [](std::int64_t value) { return static_cast<std::int32_t>(value); });
    argument->displacements = Numbers(displacements_.data());
  }
  return {};
}

void CollectiveSide::record(Operation operation, Route route, std::chrono::nanoseconds time) const noexcept {
  if (is_significant_) statistics::record(operation, place_.kind, route, 1, moved_bytes_, time);
}

Region CollectiveSide::block(int index) const {
  if (content_ != Content::kDevice || index >= n_blocks_) return {};
  if (is_regular_) {
    const std::vector<StagedBlock> &all = blocks_.blocks();
    return {at(origin_, index * count_ * layout_->extent_bytes), count_, layout_, place_,
            all.empty() ? PackMeans::kCopies : all.front().region.pack};
  }
  const auto found = std::lower_bound(indices_.begin(), indices_.end(), index);
  if (found == indices_.end() || *found != index) return {};
  return blocks_.blocks()[static_cast<std::size_t>(found - indices_.begin())].region;
}

}  // namespace sluice::ops::coll
