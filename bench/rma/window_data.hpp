// SPDX-License-Identifier: BSD-3-Clause
// What the memories of a one-sided test hold, slot by slot. A slot is the memory of one access.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "bench/cli/family_options.hpp"
#include "bench/memory/expectation.hpp"
#include "bench/rma/one_sided.hpp"

namespace sluice::bench {

struct WindowData {
  bool has_numbers = false;
  ElementType type = ElementType::bytes;
  Operation operation = Operation::sum;
  std::uint64_t slot_bytes = 0;
  std::uint64_t iteration = 0;
  int rank = 0;  // whose memory Holds::own means

  // memory: a whole number of slots.
  void fill(std::span<std::byte> memory, Holds whose) const;
  // Every byte differs from what `whose` would be.
  void poison(std::span<std::byte> memory, Holds whose) const;
  // What fill() writes into so many bytes, as a device computes it.
  Expectations expectations(std::uint64_t size_bytes, Holds whose) const;
  // The first wrong element and its slot; "" when all are right.
  std::string find_error(std::span<const std::byte> memory, Holds whose) const;
};

}  // namespace sluice::bench
