// SPDX-License-Identifier: BSD-3-Clause
// The types of ints that the buffers of collective operations consist of, and operations of the program's own on them.
#pragma once

#include <mpi.h>

#include <vector>

namespace sluice::tests {

struct Elements {
  const char *name;
  MPI_Datatype type;
  std::vector<int> places;  // of the ints of one element, in ints from its address, in the order in which they travel
  int extent_ints;          // from one element to the next; each type has another

  int n_ints() const { return static_cast<int>(places.size()); }
};

// All of them: made by the first call, kept until MPI_Finalize. Sluice takes some as they are, some as an image, some
// packed.
const std::vector<Elements> &all_element_types();

// The three that every operation is tried with: ints; an image, with its first int behind its address; packed.
const std::vector<Elements> &element_types();

// Operations on the ints of those types, which walk over them as the type says, modulo powers of two. The first depends
// on the order of the ranks, the second does not. Kept until MPI_Finalize.
MPI_Op ordered_op();
MPI_Op commutative_op();

}  // namespace sluice::tests
