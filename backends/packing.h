// SPDX-License-Identifier: BSD-3-Clause
// What every backend does with a pack before its own runtime sees it: the numbers are checked, and the contract's
// description becomes the kernel's.
#pragma once

#include <bit>
#include <string>

#include "outcome.h"
#include "rearrange.hpp"
#include "sluice/backend.h"

namespace sluice::backends {

static_assert(kernels::kMaxDimensions == SLUICE_PACK_MAX_DIMENSIONS);

// `value` is at least 1. The prepared half is good for numbers below 2^32.
inline kernels::Divisor make_divisor(uint64_t value) {
  kernels::Divisor divisor = {value, 0, 0};
  if (value > UINT32_MAX) return divisor;
  divisor.shift = static_cast<uint32_t>(std::bit_width(value - 1));
  divisor.multiplier = static_cast<uint32_t>((((uint64_t{1} << divisor.shift) - value) << 32U) / value + 1);
  return divisor;
}

// The payload of the whole layout; false when it is more than can be counted, or a dimension has no pieces.
inline bool payload_of(const sluice_layout_t &layout, uint64_t *size_bytes) {
  if (layout.core_bytes == 0 || layout.n_dimensions > SLUICE_PACK_MAX_DIMENSIONS) return false;
  *size_bytes = layout.core_bytes;
  for (uint32_t d = 0; d < layout.n_dimensions; ++d) {
    if (layout.dimensions[d].count == 0 ||
        __builtin_mul_overflow(*size_bytes, layout.dimensions[d].count, size_bytes) || *size_bytes > UINT64_MAX / 2) {
      return false;
    }
  }
  return true;
}

// The words of a list are all there.
inline bool is_whole_list(const sluice_layout_t &layout) {
  if (layout.list == nullptr || reinterpret_cast<uintptr_t>(layout.list) % sizeof(int32_t) != 0 ||
      !std::has_single_bit(layout.list_unit_bytes) || layout.list_unit_bytes > 16 || layout.tile_shift > 31 ||
      layout.core_bytes % layout.list_unit_bytes != 0 || layout.core_bytes / layout.list_unit_bytes > UINT32_MAX) {
    return false;
  }
  const uint64_t units = layout.core_bytes / layout.list_unit_bytes;
  if (layout.block_units != 0) {
    return uint64_t{layout.block_units} * layout.n_blocks == units &&
           layout.list_bytes >= sizeof(int32_t) * uint64_t{layout.n_blocks};
  }
  const uint64_t n_tiles = ((units - 1) >> layout.tile_shift) + 1;
  return layout.list_bytes >= sizeof(int32_t) * (2 * uint64_t{layout.n_blocks} + 1 + n_tiles + 1);
}

// The bits of all that a unit of `layout` must not straddle. A list's origins are the cores'.
inline uint64_t bits_of(const sluice_layout_t &layout, const void *origin) {
  uint64_t all = reinterpret_cast<uintptr_t>(origin) | layout.core_bytes;
  for (uint32_t d = 0; d < layout.n_dimensions; ++d) all |= static_cast<uint64_t>(layout.dimensions[d].stride_bytes);
  return layout.n_blocks != 0 ? all | layout.list_unit_bytes : all;
}

// The largest unit, as a power of two.
inline uint32_t unit_shift_of(const sluice_pack_t &pack) {
  const uint64_t beside = pack.form == SLUICE_LAID_OUT ? bits_of(pack.beside_layout, pack.beside)
                                                       : reinterpret_cast<uintptr_t>(pack.beside);
  return static_cast<uint32_t>(
      std::countr_zero(16 | bits_of(pack.layout, pack.origin) | beside | pack.first_bytes | pack.size_bytes));
}

// Whether the bytes of the call are of the layout's payload, and all of it makes sense; else why not.
inline Outcome check_layout(const sluice_pack_t &pack, const sluice_layout_t &layout, uint64_t span_bytes) {
  uint64_t payload_bytes = 0;
  if (payload_of(layout, &payload_bytes) && pack.first_bytes <= payload_bytes &&
      pack.size_bytes <= payload_bytes - pack.first_bytes && span_bytes != 0 &&
      (pack.direction == SLUICE_PACK || pack.direction == SLUICE_UNPACK) &&
      (layout.n_blocks == 0 || is_whole_list(layout))) {
    return {};
  }
  return {SLUICE_ERROR_INVALID_ARGUMENT, "pack: bytes " + std::to_string(pack.first_bytes) + " and " +
                                             std::to_string(pack.size_bytes) + " more of a layout with " +
                                             std::to_string(payload_bytes) + ", or a layout that makes no sense"};
}

// Fills *ready from a layout that was checked, in units of 2^shift bytes; *is_wide becomes 1 where one of its numbers
// needs more than 32 bits. SLUICE_ERROR_UNSUPPORTED: a list of more units than its words can say.
inline Outcome make_unit_layout(const sluice_layout_t &layout, void *origin, uint32_t shift, kernels::UnitLayout *ready,
                                uint32_t *is_wide) {
  ready->origin = static_cast<unsigned char *>(origin);
  ready->core = make_divisor(layout.core_bytes >> shift);
  if (ready->core.value > UINT32_MAX) *is_wide = 1;
  ready->n_dimensions = layout.n_dimensions;
  for (uint32_t d = 0; d < layout.n_dimensions; ++d) {
    const sluice_dimension_t &dimension = layout.dimensions[layout.n_dimensions - 1 - d];
    ready->counts[d] = make_divisor(dimension.count);
    ready->strides_bytes[d] = dimension.stride_bytes;
    if (dimension.count > UINT32_MAX) *is_wide = 1;
  }
  if (layout.n_blocks == 0) return {};
  if (ready->core.value > UINT32_MAX) {
    return {SLUICE_ERROR_UNSUPPORTED,
            "pack: a list of blocks of more than 2^32 units of " + std::to_string(1U << shift) + " bytes"};
  }
  ready->list = static_cast<const int32_t *>(layout.list);
  ready->n_blocks = layout.n_blocks;
  ready->tile_shift = layout.tile_shift;
  ready->list_unit_shift = static_cast<uint32_t>(std::countr_zero(layout.list_unit_bytes)) - shift;
  if (layout.block_units != 0) ready->block = make_divisor(layout.block_units);
  return {};
}

// Whether neighbouring units of a list with blocks of unlike lengths are mostly of one block, for each of which a
// search is too much. From a length on that as many items have side by side as access memory together.
inline bool has_long_blocks(const kernels::UnitLayout &layout) {
  constexpr uint64_t kLongUnits = 32;
  return layout.list != nullptr && layout.block.value == 0 && layout.core.value / layout.n_blocks >= kLongUnits;
}

// Whether the call is the kernel's of two layouts (make_rearrange_task), or of one (make_pack_task).
inline bool has_two_layouts(const sluice_pack_t *pack) {
  return pack != nullptr && pack->form == SLUICE_LAID_OUT;
}

// Fills *task. SLUICE_ERROR_INVALID_ARGUMENT for numbers that make no sense and null pointers,
// SLUICE_ERROR_UNSUPPORTED for a list of more units than its words can say. A pack of no bytes is a success whose task
// has no units. What lies in the list is not looked at.
inline Outcome make_pack_task(const sluice_pack_t *pack, kernels::PackTask *task) {
  *task = {};
  if (pack == nullptr) return {SLUICE_ERROR_INVALID_ARGUMENT, "pack: null pointer"};
  if (pack->size_bytes == 0) return {};
  if (pack->form != SLUICE_PACKED && pack->form != SLUICE_IMAGE) {
    return {SLUICE_ERROR_INVALID_ARGUMENT, "pack: no such form"};
  }
  if (Outcome checked = check_layout(*pack, pack->layout, pack->span_bytes); !checked.is_success()) return checked;
  const uint32_t shift = unit_shift_of(*pack);
  task->beside = static_cast<unsigned char *>(pack->beside);
  task->first = pack->first_bytes >> shift;
  task->count = pack->size_bytes >> shift;
  task->unit_shift = shift;
  task->is_wide = task->first + task->count > UINT32_MAX ? 1 : 0;
  task->is_unpacking = pack->direction == SLUICE_UNPACK ? 1 : 0;
  task->is_image = pack->form == SLUICE_IMAGE ? 1 : 0;
  const Outcome made = make_unit_layout(pack->layout, pack->origin, shift, &task->inside, &task->is_wide);
  task->has_long_blocks = made.is_success() && task->is_wide == 0 && has_long_blocks(task->inside) ? 1 : 0;
  return made;
}

// The same for a call with two layouts.
inline Outcome make_rearrange_task(const sluice_pack_t *pack, kernels::RearrangeTask *task) {
  *task = {};
  if (!has_two_layouts(pack)) return {SLUICE_ERROR_INVALID_ARGUMENT, "pack: no second layout"};
  if (pack->size_bytes == 0) return {};
  Outcome outcome = check_layout(*pack, pack->layout, pack->span_bytes);
  if (outcome.is_success()) outcome = check_layout(*pack, pack->beside_layout, pack->beside_span_bytes);
  if (!outcome.is_success()) return outcome;
  const uint32_t shift = unit_shift_of(*pack);
  task->first = pack->first_bytes >> shift;
  task->count = pack->size_bytes >> shift;
  task->unit_shift = shift;
  task->is_wide = task->first + task->count > UINT32_MAX ? 1 : 0;
  const bool is_packing = pack->direction == SLUICE_PACK;
  kernels::UnitLayout *inside = is_packing ? &task->from : &task->to;
  kernels::UnitLayout *beside = is_packing ? &task->to : &task->from;
  outcome = make_unit_layout(pack->layout, pack->origin, shift, inside, &task->is_wide);
  if (!outcome.is_success()) return outcome;
  return make_unit_layout(pack->beside_layout, pack->beside, shift, beside, &task->is_wide);
}

// A range of memory that a pack touches.
struct PackRange {
  void *address;
  uint64_t size_bytes;
};
inline PackRange range_from(const void *origin, int64_t lowest_bytes, uint64_t span_bytes) {
  return {reinterpret_cast<void *>(reinterpret_cast<intptr_t>(origin) + lowest_bytes), span_bytes};
}
inline PackRange memory_of(const sluice_pack_t &pack) {
  return range_from(pack.origin, pack.lowest_bytes, pack.span_bytes);
}
inline PackRange beside_of(const sluice_pack_t &pack) {
  if (pack.form == SLUICE_PACKED) return {pack.beside, pack.size_bytes};
  if (pack.form == SLUICE_IMAGE) return range_from(pack.beside, pack.lowest_bytes, pack.span_bytes);
  return range_from(pack.beside, pack.beside_lowest_bytes, pack.beside_span_bytes);
}

}  // namespace sluice::backends
