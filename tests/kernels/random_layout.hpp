// SPDX-License-Identifier: BSD-3-Clause
// Layouts of the contract's group `pack` by chance, and where each byte of their payloads lies, found by a plain walk.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "sluice/backend.h"

namespace kernels_test {

struct RandomLayout {
  sluice_layout_t layout{};           // `list` is whoever's who puts `words` somewhere
  std::vector<std::uint32_t> words;   // of the list; none: the core is a run
  std::vector<std::int64_t> offsets;  // of each byte of the payload, from the origin
  std::int64_t lowest_bytes = 0;
  std::uint64_t span_bytes = 0;
  std::string how;
};

class LayoutMaker {
 public:
  explicit LayoutMaker(std::uint64_t seed) : dice_(seed) {}

  std::uint64_t below(std::uint64_t n) { return dice_() % n; }

  // All lengths are multiples of `unit_bytes` (1 to 16), and the reach is at most most_bytes / 2 to either side.
  // `may_overlap`: bytes of memory may be in the payload several times.
  RandomLayout make(std::uint64_t unit_bytes, std::int64_t most_bytes, bool may_overlap) {
    RandomLayout made;
    if (below(3) == 0) {
      make_list(unit_bytes, &made);
    } else {
      const std::uint64_t run_bytes = unit_bytes * (below(9) + 1);
      made.layout.core_bytes = run_bytes;
      for (std::uint64_t i = 0; i < run_bytes; ++i) made.offsets.push_back(static_cast<std::int64_t>(i));
      made.how = "runs of " + std::to_string(run_bytes);
    }
    const std::uint64_t depth = below(SLUICE_PACK_MAX_DIMENSIONS + 1);
    for (std::uint64_t d = 0; d < depth; ++d) {
      if (!nest(unit_bytes, most_bytes, may_overlap, &made)) break;
    }
    measure(&made);
    return made;
  }

 private:
  static void measure(RandomLayout *made) {
    const auto [low, high] = std::minmax_element(made->offsets.begin(), made->offsets.end());
    made->lowest_bytes = *low;
    made->span_bytes = static_cast<std::uint64_t>(*high + 1 - *low);
  }

  // One more dimension around what there is, the new outermost. False: it would reach too far.
  bool nest(std::uint64_t unit_bytes, std::int64_t most_bytes, bool may_overlap, RandomLayout *made) {
    measure(made);
    const std::uint64_t count = below(5) + 1;
    auto stride = static_cast<std::int64_t>((made->span_bytes + unit_bytes - 1) / unit_bytes * unit_bytes +
                                            below(4) * unit_bytes);
    if (may_overlap && below(5) == 0) stride = static_cast<std::int64_t>(below(3) * unit_bytes);
    if (below(3) == 0) stride = -stride;
    const std::int64_t reach = stride * static_cast<std::int64_t>(count - 1);
    if (std::abs(made->lowest_bytes) + static_cast<std::int64_t>(made->span_bytes) + std::abs(reach) > most_bytes / 2) {
      return false;
    }
    std::vector<std::int64_t> all;
    for (std::uint64_t k = 0; k < count; ++k) {
      for (const std::int64_t offset : made->offsets) all.push_back(offset + static_cast<std::int64_t>(k) * stride);
    }
    made->offsets = std::move(all);
    sluice_layout_t &layout = made->layout;
    std::copy_backward(layout.dimensions, layout.dimensions + layout.n_dimensions,
                       layout.dimensions + layout.n_dimensions + 1);
    layout.dimensions[0] = {count, stride};
    ++layout.n_dimensions;
    made->how += ", " + std::to_string(count) + " every " + std::to_string(stride);
    return true;
  }

  // Blocks in any order, of one length or of several.
  void make_list(std::uint64_t unit_bytes, RandomLayout *made) {
    const std::uint64_t n_blocks = below(12) + 1;
    const bool is_uniform = below(2) == 0;
    const std::uint64_t length = below(4) + 1;
    std::vector<std::pair<std::int32_t, std::uint32_t>> blocks;  // first unit and length
    std::int32_t next = -static_cast<std::int32_t>(below(20));
    for (std::uint64_t k = 0; k < n_blocks; ++k) {
      const auto units = static_cast<std::uint32_t>(is_uniform ? length : below(7) + 1);
      blocks.emplace_back(next, units);
      next += static_cast<std::int32_t>(units + below(4));
    }
    std::shuffle(blocks.begin(), blocks.end(), dice_);
    sluice_layout_t &layout = made->layout;
    layout.n_blocks = static_cast<std::uint32_t>(n_blocks);
    layout.list_unit_bytes = static_cast<std::uint32_t>(unit_bytes);
    layout.block_units = is_uniform ? static_cast<std::uint32_t>(length) : 0;
    layout.tile_shift = static_cast<std::uint32_t>(below(3));
    std::vector<std::uint32_t> begins = {0};
    for (const auto &[first, units] : blocks) {
      made->words.push_back(static_cast<std::uint32_t>(first));
      begins.push_back(begins.back() + units);
      for (std::uint64_t i = 0; i < units * unit_bytes; ++i) {
        made->offsets.push_back(first * static_cast<std::int64_t>(unit_bytes) + static_cast<std::int64_t>(i));
      }
    }
    if (!is_uniform) {
      made->words.insert(made->words.end(), begins.begin(), begins.end());
      std::uint32_t block = 0;
      for (std::uint32_t first = 0; first < begins.back(); first += 1U << layout.tile_shift) {
        while (begins[block + 1] <= first) ++block;
        made->words.push_back(block);
      }
      made->words.push_back(layout.n_blocks - 1);
    }
    layout.core_bytes = made->offsets.size();
    layout.list_bytes = made->words.size() * sizeof(std::uint32_t);
    made->how = std::to_string(n_blocks) + (is_uniform ? " blocks" : " uneven blocks");
  }

  std::mt19937_64 dice_;
};

}  // namespace kernels_test
