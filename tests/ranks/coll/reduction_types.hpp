// SPDX-License-Identifier: BSD-3-Clause
// The predefined types that devices compute with, each with its operations and with elements that make them hard.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <functional>
#include <vector>

#include "tests/ranks/coll/accepted_pairs.hpp"

namespace sluice::tests {

struct TypeCase {
  // Writes element `i` of buffer `which`.
  using Make = std::function<void(unsigned char *element, int i, int which)>;

  const char *name;
  MPI_Datatype type;
  std::vector<NamedOp> ops;
  std::size_t size_bytes;  // from one element to the next
  Make make;               // of which a reduction of two is rounded, where the type rounds
  Make make_exact;         // of which one of up to eight is exact, in any order
  int n_parts = 0;         // of a type that rounds: 1 of a real, 2 of a complex number
};

const std::vector<TypeCase> &reduction_types();

// Whether data/staged_reductions.txt has the pair, or the host MPI refuses it: Intel MPI 2021 takes no minimum of what
// MPI makes for Fortran's numbers.
bool may_be_left_to_the_host(const TypeCase &of, const NamedOp &op);

// A number whose sums and products are rounded.
template <typename T>
T rounded_number(int i, int which) {
  const T value = T{1} / static_cast<T>(i * 7 + which * 13 + 3);
  return (i + which) % 3 == 0 ? -value : value;
}

}  // namespace sluice::tests
