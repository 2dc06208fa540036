// SPDX-License-Identifier: BSD-3-Clause
// The body of the kernel that brings data with gaps together, or apart: what one of n work-items does. Written once;
// each backend compiles it with its device's compiler and supplies the work-items.
#pragma once

#include "numbers.hpp"

namespace sluice::kernels {

// The same number as SLUICE_PACK_MAX_DIMENSIONS of sluice/backend.h.
inline constexpr unsigned kMaxDimensions = 6;

// A number to divide by, prepared: a division of 32 bits is a multiplication then (Granlund and Montgomery, "Division
// by invariant integers using multiplication", PLDI 1994). Devices have no instruction for it, and each unit needs
// several.
struct Divisor {
  std::uint64_t value;  // at least 1
  std::uint32_t multiplier;
  std::uint32_t shift;
};

// Where the units of a payload lie (sluice_layout_t of sluice/backend.h, made ready). Lengths are in units where
// nothing else is said; a unit divides every address, stride and length, so that none lies across a border.
struct UnitLayout {
  unsigned char *origin;     // the core's, of the first core
  const std::int32_t *list;  // of blocks; null: the core is one run
  // NOLINTBEGIN(modernize-avoid-c-arrays): handed to devices as plain bytes
  std::int64_t strides_bytes[kMaxDimensions];  // innermost first, as `counts`
  Divisor counts[kMaxDimensions];
  // NOLINTEND(modernize-avoid-c-arrays)
  Divisor core;   // units of the core
  Divisor block;  // of a list whose blocks are all as long: units of the list in one; else its value is 0
  std::uint32_t n_dimensions;
  std::uint32_t n_blocks;
  std::uint32_t tile_shift;       // as in sluice_layout_t
  std::uint32_t list_unit_shift;  // a unit of the list is 2^this units
};

// One call of a pack kernel (sluice_pack_t, made ready).
struct PackTask {
  UnitLayout inside;
  unsigned char *beside;     // packed: where unit `first` lies; an image: what stands for the origin
  std::uint64_t first;       // unit of the payload
  std::uint64_t count;       // of units
  std::uint32_t unit_shift;  // a unit is 2^this bytes, 1 to 16
  std::uint32_t is_unpacking;
  std::uint32_t is_image;
  std::uint32_t is_wide;  // numbers of units need more than 32 bits
  // 1: blocks of unlike lengths, long ones, in whose list an item searches once for several units (pack_long_blocks).
  // Only without is_wide.
  std::uint32_t has_long_blocks;
};

template <bool kWide>
struct UnitNumber {
  using Type = std::uint32_t;
};
template <>
struct UnitNumber<true> {
  using Type = std::uint64_t;
};

template <bool kWide>
SLUICE_KERNELS_FUNCTION typename UnitNumber<kWide>::Type divide(typename UnitNumber<kWide>::Type number,
                                                                const Divisor &divisor) {
  if constexpr (kWide) {
    return number / divisor.value;
  } else {
    const std::uint64_t high = (std::uint64_t{divisor.multiplier} * number) >> 32U;
    return static_cast<std::uint32_t>((high + number) >> divisor.shift);
  }
}

// One of the blocks of unlike lengths of a list: its number, and the unit of the list that it begins with.
struct Block {
  std::uint32_t number;
  std::uint32_t begin;
};

SLUICE_KERNELS_FUNCTION const std::uint32_t *begins_of(const UnitLayout &layout) {
  return reinterpret_cast<const std::uint32_t *>(layout.list) + layout.n_blocks;
}

// The block that unit `in_list` of the list lies in.
SLUICE_KERNELS_FUNCTION Block find_block(const UnitLayout &layout, std::uint32_t in_list) {
  const std::uint32_t *begins = begins_of(layout);
  const std::uint32_t *tile = begins + layout.n_blocks + 1 + (in_list >> layout.tile_shift);
  std::uint32_t block = tile[0];
  std::uint32_t last = tile[1];
  SLUICE_KERNELS_ROLLED
  while (block < last) {
    const std::uint32_t middle = block + (last - block + 1) / 2;
    if (begins[middle] <= in_list) {
      block = middle;
    } else {
      last = middle - 1;
    }
  }
  return {block, begins[block]};
}

// Where a unit of the core lies that is a list, in bytes from the core's origin.
SLUICE_KERNELS_FUNCTION std::int64_t find_in_list(const UnitLayout &layout, std::uint32_t unit_shift,
                                                  std::uint32_t unit) {
  const std::uint32_t in_list = unit >> layout.list_unit_shift;
  Block block;
  if (layout.block.value != 0) {
    block.number = divide<false>(in_list, layout.block);
    block.begin = block.number * static_cast<std::uint32_t>(layout.block.value);
  } else {
    block = find_block(layout, in_list);
  }
  const std::int64_t in_units = (std::int64_t{layout.list[block.number]} + (in_list - block.begin))
                                << layout.list_unit_shift;
  return (in_units + (unit & ((1U << layout.list_unit_shift) - 1U))) << unit_shift;
}

// Where core `core` lies, in bytes from the first one's origin.
template <typename Number>
SLUICE_KERNELS_FUNCTION std::int64_t find_core(const UnitLayout &layout, Number core) {
  constexpr bool kWide = sizeof(Number) > sizeof(std::uint32_t);
  Number rest = core;
  std::int64_t offset = 0;
  SLUICE_KERNELS_ROLLED
  for (unsigned d = 0; d + 1 < layout.n_dimensions; ++d) {
    const Number next = divide<kWide>(rest, layout.counts[d]);
    offset +=
        static_cast<std::int64_t>(rest - next * static_cast<Number>(layout.counts[d].value)) * layout.strides_bytes[d];
    rest = next;
  }
  if (layout.n_dimensions != 0) {
    offset += static_cast<std::int64_t>(rest) * layout.strides_bytes[layout.n_dimensions - 1];
  }
  return offset;
}

// Which layouts a kernel takes: what it need not tell apart it has no registers for, and more of its items fit on a
// processor.
enum class Layouts { kAll, kStrides, kLists };

// Where unit `unit` of the payload lies, in bytes from the first core's origin.
template <bool kWide, Layouts kLayouts>
SLUICE_KERNELS_FUNCTION std::int64_t find_unit(const UnitLayout &layout, std::uint32_t unit_shift,
                                               typename UnitNumber<kWide>::Type unit) {
  using Number = typename UnitNumber<kWide>::Type;
  const Number core = divide<kWide>(unit, layout.core);
  const Number in_core = unit - core * static_cast<Number>(layout.core.value);
  const std::int64_t offset = find_core<Number>(layout, core);
  if (kLayouts == Layouts::kStrides || (kLayouts == Layouts::kAll && layout.list == nullptr)) {
    return offset + (static_cast<std::int64_t>(in_core) << unit_shift);
  }
  return offset + find_in_list(layout, unit_shift, static_cast<std::uint32_t>(in_core));
}

// Units of the payload that lie one behind the other: unit u, from the one it was asked for up to `end`, lies
// begin_bytes and u units from the first core's origin.
struct Run {
  std::int64_t begin_bytes;
  std::uint32_t end;
};

// The run of unit `unit`, of a layout whose list has blocks of unlike lengths.
SLUICE_KERNELS_FUNCTION Run find_run(const UnitLayout &layout, std::uint32_t unit_shift, std::uint32_t unit) {
  const std::uint32_t core = divide<false>(unit, layout.core);
  const std::uint32_t core_begin = core * static_cast<std::uint32_t>(layout.core.value);
  const Block block = find_block(layout, (unit - core_begin) >> layout.list_unit_shift);
  const std::int64_t in_units = (std::int64_t{layout.list[block.number]} - block.begin) << layout.list_unit_shift;
  // A core that ends behind the last number of 32 bits: what is too small an end is only looked for again.
  return {find_core(layout, core) + ((in_units - core_begin) << unit_shift),
          core_begin + (begins_of(layout)[block.number + 1] << layout.list_unit_shift)};
}

// Units of an item whose loads are under way together. With four, kernels took 48 to 56 registers on GPUs, and half as
// many items fit on a processor, which was slower for all but the shortest units (docs/adr/0036).
template <bool kWide, bool kShort>
inline constexpr unsigned kUnitsAtOnce = kWide    ? 1
                                         : kShort ? 4
                                                  : 2;
// Units shorter than this are short.
inline constexpr unsigned kLeastWordShift = 2;

template <unsigned kBytes>
struct alignas(kBytes) Unit {
  unsigned char bytes[kBytes];  // NOLINT(modernize-avoid-c-arrays): a register
};

// kAtOnce units, one every `stride` units from the call's unit `at` on.
template <unsigned kBytes, bool kWide, Layouts kLayouts, unsigned kAtOnce>
SLUICE_KERNELS_FUNCTION void pack_units(const PackTask &task, std::uint64_t at, std::uint64_t stride) {
  using Memory = Access<kBytes, Unit<kBytes>>;
  // NOLINTBEGIN(modernize-avoid-c-arrays): registers
  Unit<kBytes> units[kAtOnce];
  unsigned char *targets[kAtOnce];
  // NOLINTEND(modernize-avoid-c-arrays)
  SLUICE_KERNELS_UNROLLED
  for (unsigned k = 0; k < kAtOnce; ++k) {
    const std::uint64_t number = at + k * stride;
    const std::int64_t offset = find_unit<kWide, kLayouts>(
        task.inside, task.unit_shift, static_cast<typename UnitNumber<kWide>::Type>(task.first + number));
    unsigned char *memory = task.inside.origin + offset;
    unsigned char *beside =
        task.beside + (task.is_image != 0 ? offset : static_cast<std::int64_t>(number << task.unit_shift));
    units[k] = Memory::load(task.is_unpacking != 0 ? beside : memory);
    targets[k] = task.is_unpacking != 0 ? memory : beside;
  }
  SLUICE_KERNELS_UNROLLED
  for (unsigned k = 0; k < kAtOnce; ++k) Memory::store(targets[k], units[k]);
}

// kAtOnce units of one run, one every `stride` units from the call's unit `at` on.
template <unsigned kBytes, unsigned kAtOnce>
SLUICE_KERNELS_FUNCTION void pack_run(const PackTask &task, const Run &run, std::uint64_t at, std::uint64_t stride) {
  using Memory = Access<kBytes, Unit<kBytes>>;
  const std::int64_t offset = run.begin_bytes + (static_cast<std::int64_t>(task.first + at) << task.unit_shift);
  unsigned char *memory = task.inside.origin + offset;
  unsigned char *beside =
      task.beside + (task.is_image != 0 ? offset : static_cast<std::int64_t>(at << task.unit_shift));
  const unsigned char *source = task.is_unpacking != 0 ? beside : memory;
  unsigned char *target = task.is_unpacking != 0 ? memory : beside;
  Unit<kBytes> units[kAtOnce];  // NOLINT(modernize-avoid-c-arrays): registers
  SLUICE_KERNELS_UNROLLED
  for (unsigned k = 0; k < kAtOnce; ++k) units[k] = Memory::load(source + k * stride * kBytes);
  SLUICE_KERNELS_UNROLLED
  for (unsigned k = 0; k < kAtOnce; ++k) Memory::store(target + k * stride * kBytes, units[k]);
}

// Long blocks: neighbouring items move neighbouring units as everywhere, but the units of one item are near each other
// too, so that one search is enough for most items.
template <unsigned kBytes>
SLUICE_KERNELS_FUNCTION void pack_long_blocks(const PackTask &task, std::uint64_t item, std::uint64_t n_items) {
  constexpr unsigned kAtOnce = 4;
  // As many items side by side as access memory together on a GPU.
  const std::uint32_t n_beside = n_items % 32 == 0 ? 32 : 1;
  SLUICE_KERNELS_ROLLED
  for (std::uint64_t i = item / n_beside * n_beside * kAtOnce + item % n_beside; i < task.count;
       i += n_items * kAtOnce) {
    Run run = find_run(task.inside, task.unit_shift, static_cast<std::uint32_t>(task.first + i));
    const std::uint64_t last = i + std::uint64_t{kAtOnce - 1} * n_beside;
    if (last < task.count && task.first + last < run.end) {
      pack_run<kBytes, kAtOnce>(task, run, i, n_beside);
      continue;
    }
    SLUICE_KERNELS_ROLLED
    for (std::uint64_t at = i; at <= last && at < task.count; at += n_beside) {
      const auto unit = static_cast<std::uint32_t>(task.first + at);
      if (unit >= run.end) run = find_run(task.inside, task.unit_shift, unit);
      pack_run<kBytes, 1>(task, run, at, n_beside);
    }
  }
}

template <unsigned kBytes, bool kWide, Layouts kLayouts>
SLUICE_KERNELS_FUNCTION void pack_part(const PackTask &task, std::uint64_t item, std::uint64_t n_items) {
  constexpr unsigned kAtOnce = kUnitsAtOnce<kWide, (kBytes < 1U << kLeastWordShift)>;
  std::uint64_t i = item;
  SLUICE_KERNELS_ROLLED
  for (; i + (kAtOnce - 1) * n_items < task.count; i += kAtOnce * n_items) {
    pack_units<kBytes, kWide, kLayouts, kAtOnce>(task, i, n_items);
  }
  SLUICE_KERNELS_ROLLED
  for (; i < task.count; i += n_items) pack_units<kBytes, kWide, kLayouts, 1>(task, i, n_items);
}

template <unsigned kBytes, Layouts kLayouts>
SLUICE_KERNELS_FUNCTION void pack_any(const PackTask &task, std::uint64_t item, std::uint64_t n_items) {
  if (kLayouts != Layouts::kStrides && task.has_long_blocks != 0) {
    pack_long_blocks<kBytes>(task, item, n_items);
  } else if (kLayouts == Layouts::kAll && task.is_wide != 0) {
    pack_part<kBytes, true, kLayouts>(task, item, n_items);
  } else {
    pack_part<kBytes, false, kLayouts>(task, item, n_items);
  }
}

// Units of words.
template <Layouts kLayouts>
SLUICE_KERNELS_FUNCTION void pack_words(const PackTask &task, std::uint64_t item, std::uint64_t n_items) {
  switch (task.unit_shift) {
    case 2:
      return pack_any<4, kLayouts>(task, item, n_items);
    case 3:
      return pack_any<8, kLayouts>(task, item, n_items);
    default:
      return pack_any<16, kLayouts>(task, item, n_items);
  }
}

// The share of work-item `item` of `n_items`. Neighbouring items touch neighbouring units of the payload. The items
// need nothing of each other, so they may run in any order and number.
SLUICE_KERNELS_FUNCTION void pack_share(const PackTask &task, std::uint64_t item, std::uint64_t n_items) {
  switch (task.unit_shift) {
    case 0:
      return pack_any<1, Layouts::kAll>(task, item, n_items);
    case 1:
      return pack_any<2, Layouts::kAll>(task, item, n_items);
    default:
      return pack_words<Layouts::kAll>(task, item, n_items);
  }
}

// The same for backends that have kernels for the tasks that come most often: without a list, and with one.
SLUICE_KERNELS_FUNCTION bool has_words(const PackTask &task) {
  return task.is_wide == 0 && task.unit_shift >= kLeastWordShift;
}
SLUICE_KERNELS_FUNCTION void pack_strides_share(const PackTask &task, std::uint64_t item, std::uint64_t n_items) {
  pack_words<Layouts::kStrides>(task, item, n_items);
}
SLUICE_KERNELS_FUNCTION void pack_list_share(const PackTask &task, std::uint64_t item, std::uint64_t n_items) {
  pack_words<Layouts::kLists>(task, item, n_items);
}

}  // namespace sluice::kernels
