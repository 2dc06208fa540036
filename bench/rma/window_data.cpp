// SPDX-License-Identifier: BSD-3-Clause
// What the memories of a one-sided test hold.
#include "bench/rma/window_data.hpp"

#include <fmt/format.h>

#include "bench/memory/numbers.hpp"
#include "bench/memory/pattern.hpp"

namespace sluice::bench {
namespace {

constexpr int kRanks = 2;

Contributors contributors(Holds whose, int rank) {
  switch (whose) {
    case Holds::origins:
      return {kOrigin, 1, kRanks};
    case Holds::targets:
      return {kTarget, 1, kRanks};
    case Holds::reduced:
      return {0, kRanks, kRanks};
    default:
      return {rank, 1, kRanks};
  }
}

}  // namespace

void WindowData::fill(std::span<std::byte> memory, Holds whose) const {
  const Contributors ranks = contributors(whose, rank);
  for (std::uint64_t slot = 0; (slot + 1) * slot_bytes <= memory.size() && slot_bytes > 0; ++slot) {
    const std::span<std::byte> bytes = memory.subspan(slot * slot_bytes, slot_bytes);
    if (has_numbers) {
      Numbers(type, operation, ranks, iteration).fill(bytes, slot * slot_bytes / element_bytes(type));
    } else {
      Pattern(static_cast<std::uint32_t>(ranks.first_rank), iteration, slot).fill(bytes);
    }
  }
}

void WindowData::poison(std::span<std::byte> memory, Holds whose) const {
  fill(memory, whose);
  complement(memory);
}

Expectations WindowData::expectations(std::uint64_t size_bytes, Holds whose) const {
  const Contributors ranks = contributors(whose, rank);
  if (has_numbers && size_bytes > 0) {
    return {{0, size_bytes, Numbers(type, operation, ranks, iteration).source(), 0}};
  }
  Expectations all;
  for (std::uint64_t slot = 0; (slot + 1) * slot_bytes <= size_bytes && slot_bytes > 0; ++slot) {
    const Pattern pattern(static_cast<std::uint32_t>(ranks.first_rank), iteration, slot);
    all.push_back({slot * slot_bytes, slot_bytes, pattern.source(), 0});
  }
  return all;
}

std::string WindowData::find_error(std::span<const std::byte> memory, Holds whose) const {
  const Contributors ranks = contributors(whose, rank);
  for (std::uint64_t slot = 0; (slot + 1) * slot_bytes <= memory.size() && slot_bytes > 0; ++slot) {
    const std::span<const std::byte> bytes = memory.subspan(slot * slot_bytes, slot_bytes);
    const std::string wrong =
        has_numbers
            ? Numbers(type, operation, ranks, iteration).find_error(bytes, slot * slot_bytes / element_bytes(type))
            : Pattern(static_cast<std::uint32_t>(ranks.first_rank), iteration, slot).find_error(bytes);
    if (!wrong.empty()) {
      return fmt::format("access {}, {}", slot, wrong);
    }
  }
  return "";
}

}  // namespace sluice::bench
