// SPDX-License-Identifier: BSD-3-Clause
#include "tests/ranks/coll/gapped.hpp"

#include <algorithm>

namespace sluice::tests {
namespace {

constexpr int kIntBytes = static_cast<int>(sizeof(int));

MPI_Datatype subarray(int order) {
  const int sizes[] = {14, 19, 23};
  const int subsizes[] = {12, 16, 20};
  const int starts[] = {1, 2, 3};
  MPI_Datatype type = MPI_DATATYPE_NULL;
  MPI_Type_create_subarray(3, sizes, subsizes, starts, order, MPI_INT, &type);
  return type;
}

MPI_Datatype hvector_of_hvector() {
  MPI_Datatype inner = MPI_DATATYPE_NULL;
  MPI_Datatype type = MPI_DATATYPE_NULL;
  MPI_Type_create_hvector(12, 8, 10 * kIntBytes, MPI_INT, &inner);
  MPI_Type_create_hvector(40, 1, 131 * kIntBytes, inner, &type);
  MPI_Type_free(&inner);
  return type;
}

// Runs of 1 to 7 ints, unlike gaps between them, the first behind the origin.
MPI_Datatype uneven() {
  std::vector<int> lengths;
  std::vector<MPI_Aint> places;
  int left = kGappedInts;
  MPI_Aint at = 5;
  for (int i = 0; left > 0; ++i) {
    lengths.push_back(std::min(left, 1 + i * 5 % 7));
    places.push_back(at * kIntBytes);
    at += lengths.back() + 1 + i % 4;
    left -= lengths.back();
  }
  MPI_Datatype type = MPI_DATATYPE_NULL;
  MPI_Type_create_hindexed(static_cast<int>(lengths.size()), lengths.data(), places.data(), MPI_INT, &type);
  return type;
}

// 900 ints in threes, 940 in one run, 2000 one by one.
MPI_Datatype structure() {
  MPI_Datatype threes = MPI_DATATYPE_NULL;
  MPI_Datatype ones = MPI_DATATYPE_NULL;
  MPI_Type_vector(300, 3, 5, MPI_INT, &threes);
  MPI_Type_vector(2000, 1, 2, MPI_INT, &ones);
  const int lengths[] = {1, 940, 1};
  const MPI_Aint places[] = {MPI_Aint{8} * kIntBytes, MPI_Aint{1600} * kIntBytes, MPI_Aint{2600} * kIntBytes};
  const MPI_Datatype types[] = {threes, MPI_INT, ones};
  MPI_Datatype type = MPI_DATATYPE_NULL;
  MPI_Type_create_struct(3, lengths, places, types, &type);
  MPI_Type_free(&threes);
  MPI_Type_free(&ones);
  return type;
}

// From the last run to the first; the origin is the last one's.
MPI_Datatype backwards() {
  MPI_Datatype type = MPI_DATATYPE_NULL;
  MPI_Type_create_hvector(480, 8, -11 * kIntBytes, MPI_INT, &type);
  return type;
}

MPI_Datatype even() {
  MPI_Datatype type = MPI_DATATYPE_NULL;
  MPI_Type_vector(64, 60, 67, MPI_INT, &type);
  return type;
}

// Two runs of unlike lengths: few, and yet not of one length.
MPI_Datatype two_runs() {
  const int lengths[] = {1000, kGappedInts - 1000};
  const int places[] = {4, 1100};
  MPI_Datatype type = MPI_DATATYPE_NULL;
  MPI_Type_indexed(2, lengths, places, MPI_INT, &type);
  return type;
}

MPI_Datatype contiguous() {
  MPI_Datatype type = MPI_DATATYPE_NULL;
  MPI_Type_contiguous(kGappedInts, MPI_INT, &type);
  return type;
}

}  // namespace

GappedTypes::GappedTypes()
    : types_{subarray(MPI_ORDER_C), even(),      contiguous(), hvector_of_hvector(),       uneven(),
             structure(),           backwards(), two_runs(),   subarray(MPI_ORDER_FORTRAN)} {
  for (MPI_Datatype &type : types_) MPI_Type_commit(&type);
}

GappedTypes::~GappedTypes() {
  for (MPI_Datatype &type : types_) MPI_Type_free(&type);
}

void PlacedBlocks::add(MPI_Datatype type, int count) {
  MPI_Aint low = 0;
  MPI_Aint true_extent = 0;
  MPI_Aint lower = 0;
  MPI_Aint extent = 0;
  MPI_Type_get_true_extent(type, &low, &true_extent);
  MPI_Type_get_extent(type, &lower, &extent);
  const MPI_Aint span = count == 0 ? 0 : true_extent + (count - 1) * extent;
  types_.push_back(type);
  counts_.push_back(count);
  displacements_.push_back(static_cast<MPI_Aint>(size_bytes_) - low);
  constexpr MPI_Aint kBetween = 36;
  size_bytes_ += static_cast<std::size_t>(span + kBetween);
}

void PlacedBlocks::add_above_first(MPI_Datatype type, int count) {
  const std::size_t end = size_bytes_;
  if (!types_.empty()) size_bytes_ = 64;
  add(type, count);
  size_bytes_ = std::max(end, size_bytes_);
}

std::vector<int> PlacedBlocks::int_displacements() const {
  std::vector<int> all;
  for (const MPI_Aint displacement : displacements_) all.push_back(static_cast<int>(displacement));
  return all;
}

}  // namespace sluice::tests
