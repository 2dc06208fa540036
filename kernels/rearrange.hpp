// SPDX-License-Identifier: BSD-3-Clause
// The body of the kernel that moves data from where one layout says to where another does: what one of n work-items
// does. A kernel of its own beside that of pack.hpp, which has half as much to know and to keep in registers.
#pragma once

#include "pack.hpp"

namespace sluice::kernels {

// One call (sluice_pack_t of sluice/backend.h in the form SLUICE_LAID_OUT, made ready). A unit divides the addresses,
// strides and lengths of both layouts, so that none lies across a border of either.
struct RearrangeTask {
  UnitLayout from;
  UnitLayout to;
  std::uint64_t first;       // unit of both payloads
  std::uint64_t count;       // of units
  std::uint32_t unit_shift;  // a unit is 2^this bytes, 1 to 16
  std::uint32_t is_wide;     // numbers of units need more than 32 bits
};

// Units of one length, whose loads are under way together.
template <unsigned kBytes, unsigned kAtOnce>
SLUICE_KERNELS_FUNCTION void move_units(unsigned char *const *targets, unsigned char *const *sources) {
  using Memory = Access<kBytes, Unit<kBytes>>;
  Unit<kBytes> units[kAtOnce];  // NOLINT(modernize-avoid-c-arrays): registers
  SLUICE_KERNELS_UNROLLED
  for (unsigned k = 0; k < kAtOnce; ++k) units[k] = Memory::load(sources[k]);
  SLUICE_KERNELS_UNROLLED
  for (unsigned k = 0; k < kAtOnce; ++k) Memory::store(targets[k], units[k]);
}

template <unsigned kAtOnce>
SLUICE_KERNELS_FUNCTION void move_any(std::uint32_t unit_shift, unsigned char *const *targets,
                                      unsigned char *const *sources) {
  switch (unit_shift) {
    case 0:
      return move_units<1, kAtOnce>(targets, sources);
    case 1:
      return move_units<2, kAtOnce>(targets, sources);
    case 2:
      return move_units<4, kAtOnce>(targets, sources);
    case 3:
      return move_units<8, kAtOnce>(targets, sources);
    default:
      return move_units<16, kAtOnce>(targets, sources);
  }
}

// kAtOnce units, one every `stride` units from the call's unit `at` on. Where units lie is computed by the same code
// for each length of them, else the kernel would be five times as long, and compilers take their time with it.
template <bool kWide, unsigned kAtOnce>
SLUICE_KERNELS_FUNCTION void rearrange_units(const RearrangeTask &task, std::uint64_t at, std::uint64_t stride) {
  using Number = typename UnitNumber<kWide>::Type;
  // NOLINTBEGIN(modernize-avoid-c-arrays): registers
  unsigned char *sources[kAtOnce];
  unsigned char *targets[kAtOnce];
  // NOLINTEND(modernize-avoid-c-arrays)
  SLUICE_KERNELS_UNROLLED
  for (unsigned k = 0; k < kAtOnce; ++k) {
    const auto unit = static_cast<Number>(task.first + at + k * stride);
    sources[k] = task.from.origin + find_unit<kWide, Layouts::kAll>(task.from, task.unit_shift, unit);
    targets[k] = task.to.origin + find_unit<kWide, Layouts::kAll>(task.to, task.unit_shift, unit);
  }
  move_any<kAtOnce>(task.unit_shift, targets, sources);
}

template <bool kWide, bool kShort>
SLUICE_KERNELS_FUNCTION void rearrange_part(const RearrangeTask &task, std::uint64_t item, std::uint64_t n_items) {
  constexpr unsigned kAtOnce = kUnitsAtOnce<kWide, kShort>;
  std::uint64_t i = item;
  SLUICE_KERNELS_ROLLED
  for (; i + (kAtOnce - 1) * n_items < task.count; i += kAtOnce * n_items) {
    rearrange_units<kWide, kAtOnce>(task, i, n_items);
  }
  SLUICE_KERNELS_ROLLED
  for (; i < task.count; i += n_items) rearrange_units<kWide, 1>(task, i, n_items);
}

// The share of work-item `item` of `n_items`. Neighbouring items touch neighbouring units of the payload. The items
// need nothing of each other, so they may run in any order and number.
SLUICE_KERNELS_FUNCTION void rearrange_share(const RearrangeTask &task, std::uint64_t item, std::uint64_t n_items) {
  if (task.is_wide != 0) {
    rearrange_part<true, false>(task, item, n_items);
  } else if (task.unit_shift < kLeastWordShift) {
    rearrange_part<false, true>(task, item, n_items);
  } else {
    rearrange_part<false, false>(task, item, n_items);
  }
}

// The same for backends that have a kernel for the tasks that come most often.
SLUICE_KERNELS_FUNCTION bool has_words(const RearrangeTask &task) {
  return task.is_wide == 0 && task.unit_shift >= kLeastWordShift;
}
SLUICE_KERNELS_FUNCTION void rearrange_words_share(const RearrangeTask &task, std::uint64_t item,
                                                   std::uint64_t n_items) {
  rearrange_part<false, false>(task, item, n_items);
}

}  // namespace sluice::kernels
