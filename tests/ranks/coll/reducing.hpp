// SPDX-License-Identifier: BSD-3-Clause
// The six reductions in one form, so that a test can go through all of them.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <functional>
#include <vector>

#include "tests/ranks/coll/reduction_types.hpp"

namespace sluice::tests {

// One shape of call: how many elements, how far from where a compiler would put them, and whether in place.
struct ReductionShape {
  int count;
  std::size_t shift_bytes;  // of the receive buffer; the send buffer lies twice as far
  bool is_in_place;
};

// A reduction that puts `n_in` elements in and gets `n_out`, at this rank.
struct Reducing {
  const char *name;
  std::function<int(const ReductionShape &)> n_in;
  std::function<int(const ReductionShape &)> n_out;
  std::function<int(const void *in, void *out, const ReductionShape &, MPI_Datatype, MPI_Op, int root, MPI_Comm)> call;
};

const std::vector<Reducing> &reductions();
// Of MPI_Reduce_scatter: how many elements the blocks of the ranks below `rank` have.
int first_of_block(const ReductionShape &shape, int rank);
bool is_scattering(const Reducing &reducing);

// The bytes of an element that are nobody's: those that make() leaves alone.
std::vector<bool> gaps_of(const TypeCase &of);

}  // namespace sluice::tests
