// SPDX-License-Identifier: BSD-3-Clause
// The predefined types and operations of random reductions.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <vector>

#include "tests/support/memory.hpp"

namespace sluice::tests {

// What lies in the memory of a buffer, so that a reduction has one right result.
enum class Content : std::uint8_t {
  bytes,
  integers8,
  integers16,
  numbers32,
  numbers64,
  complex_numbers,
  logical,
  number_and_place
};

// Makes such content of any bytes: a function of them alone. Reductions of it come to the same bits in whatever order,
// pairs and parts they are computed, on up to 12 ranks: OneOutcome.
void make_reducible(Content content, Bytes *bytes);

struct Predefined {
  MPI_Datatype type;
  Content content;
  std::vector<MPI_Op> ops;
};

const std::vector<Predefined> &predefined_types();

}  // namespace sluice::tests
