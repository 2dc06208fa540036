// SPDX-License-Identifier: BSD-3-Clause
// Datatypes of the same ints with gaps of every sort, each long enough that nobody would copy it run by run, and where
// blocks of them lie in a buffer.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <vector>

namespace sluice::tests {

// What all the types of a GappedTypes hold.
inline constexpr int kGappedInts = 3840;

// Frees the types.
class GappedTypes {
 public:
  GappedTypes();
  GappedTypes(const GappedTypes &) = delete;
  GappedTypes &operator=(const GappedTypes &) = delete;
  ~GappedTypes();

  static constexpr int kNested = 0;   // of which others cannot be told where the runs lie
  static constexpr int kEven = 1;     // runs of one length at one distance: they can
  static constexpr int kWithout = 2;  // gaps
  // Any number from 0 on; one after the other they are all there.
  MPI_Datatype at(int i) const { return types_[static_cast<std::size_t>(i) % types_.size()]; }
  int size() const { return static_cast<int>(types_.size()); }

 private:
  std::vector<MPI_Datatype> types_;
};

// Blocks of elements one after the other in a buffer, some bytes between them.
class PlacedBlocks {
 public:
  // Adds one; its displacement in bytes is the last of displacements() then.
  void add(MPI_Datatype type, int count);
  // Adds one that lies where the first does: for blocks that are only sent.
  void add_above_first(MPI_Datatype type, int count);

  const std::vector<MPI_Datatype> &types() const { return types_; }
  const std::vector<int> &counts() const { return counts_; }
  const std::vector<MPI_Aint> &displacements() const { return displacements_; }
  // As functions with one displacement for each block in an int take them.
  std::vector<int> int_displacements() const;
  std::size_t size_bytes() const { return size_bytes_; }

 private:
  std::vector<MPI_Datatype> types_;
  std::vector<int> counts_;
  std::vector<MPI_Aint> displacements_;
  std::size_t size_bytes_ = 64;
};

}  // namespace sluice::tests
