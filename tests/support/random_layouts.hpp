// SPDX-License-Identifier: BSD-3-Clause
// Nested datatypes from a seed whose signature is given, so that both sides of a message can have one of their own; by
// every constructor of MPI, through the MPI that the program sees (tests/layout/random_types.hpp: of any signature,
// through the host MPI's functions).
#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace sluice::tests {

// One to three predefined types, one behind the other: what a datatype's signature is a repetition of.
struct Signature {
  std::vector<MPI_Datatype> basics;
  std::size_t size_bytes = 0;
};
// Of one type again and again where the host MPI cannot do with others.
Signature random_signature(std::uint64_t seed);

// A committed datatype; freed on destruction.
class RandomLayout {
 public:
  // The signature, n_repeats (1 or more) times. Two elements in a row never overlap, nor parts of one, unless
  // may_overlap: then they may. Elements are at most a few times as long as what they hold, and at least a byte.
  RandomLayout(std::uint64_t seed, const Signature &signature, int n_repeats, bool may_overlap);
  RandomLayout(const RandomLayout &) = delete;
  RandomLayout &operator=(const RandomLayout &) = delete;
  ~RandomLayout();

  MPI_Datatype type() const { return type_; }
  MPI_Aint extent_bytes() const { return extent_bytes_; }
  MPI_Aint low_bytes() const { return low_bytes_; }    // of the first byte, from an element's address
  MPI_Aint high_bytes() const { return high_bytes_; }  // behind the last one
  const std::string &how() const { return how_; }      // the constructors, for people

 private:
  MPI_Datatype type_ = MPI_DATATYPE_NULL;
  MPI_Aint extent_bytes_ = 0;
  MPI_Aint low_bytes_ = 0;
  MPI_Aint high_bytes_ = 0;
  std::string how_;
};

}  // namespace sluice::tests
