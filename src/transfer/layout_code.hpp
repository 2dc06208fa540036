// SPDX-License-Identifier: BSD-3-Clause
// LayoutCode: nested strides in the few bytes that a descriptor has for them, so that another process can read a
// payload where it lies. Pure.
#pragma once

#include <array>
#include <cstdint>

#include "sluice/backend.h"

namespace sluice::transfer {

// The number of dimensions; the core's bytes; then each dimension's pieces and stride, the outermost first, all of them
// in the base-128 numbers of DWARF (LEB128), a stride's sign in its lowest bit. What is left is 0. All 0: one run of
// bytes. Three dimensions of counts up to 2^14 and strides up to 2 MiB fit.
using LayoutCode = std::array<std::uint8_t, 24>;

[[nodiscard]] constexpr bool is_one_run(const LayoutCode &code) noexcept {
  return code[0] == 0;
}

// False, and *code is all 0: there is no room for `layout`, or its core is a list.
[[nodiscard]] bool encode(const sluice_layout_t &layout, LayoutCode *code) noexcept;

// Of code that is not one run, from anywhere: false for what encode() does not write. A layout without a list.
[[nodiscard]] bool decode(const LayoutCode &code, sluice_layout_t *layout) noexcept;

// The memory of a layout without a list.
struct Reach {
  std::int64_t lowest_bytes = 0;    // of its lowest byte, from the first core's origin: 0, or less
  std::uint64_t span_bytes = 0;     // from there to behind the highest
  std::uint64_t payload_bytes = 0;  // of all cores
};

// False: no memory is that long.
[[nodiscard]] bool reach_of(const sluice_layout_t &layout, Reach *reach) noexcept;

}  // namespace sluice::transfer
