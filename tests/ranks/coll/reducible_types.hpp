// SPDX-License-Identifier: BSD-3-Clause
// The predefined types and operations of random reductions.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <vector>

namespace sluice::tests {

// What lies in the memory of a buffer, so that a reduction has one right result.
enum class Content : std::uint8_t { bytes, numbers32, numbers64, logical, number_and_place };

struct Predefined {
  MPI_Datatype type;
  Content content;
  std::vector<MPI_Op> ops;
};

const std::vector<Predefined> &predefined_types();

}  // namespace sluice::tests
