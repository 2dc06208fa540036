// SPDX-License-Identifier: BSD-3-Clause
// Types of many elements: memory in proportion to the separate blocks only, and an error where those are too many.
#include <gtest/gtest.h>

#include <vector>

#include "ops/datatype/layout_of.hpp"
#include "tests/layout/buffers.hpp"
#include "tests/layout/random_types.hpp"

namespace sluice::tests {
namespace {

constexpr int kMany = 1 << 30;

transfer::LayoutPtr layout_of(MadeType *made) {
  transfer::LayoutPtr layout;
  EXPECT_EQ(wire::host().MPI_Type_commit(&made->type), MPI_SUCCESS);
  const Status status = ops::layout_of(made->type, &layout);
  EXPECT_TRUE(status.is_ok()) << status.message();
  return layout;
}

TEST(LargeType, IsOneRun_WhenItsElementsTouch) {
  const wire::Host &mpi = wire::host();
  MadeType row(MPI_DATATYPE_NULL, "contiguous", true);
  MadeType rows(MPI_DATATYPE_NULL, "vector of contiguous", true);
  ASSERT_EQ(mpi.MPI_Type_contiguous(kMany, MPI_INT, &row.type), MPI_SUCCESS);
  ASSERT_EQ(mpi.MPI_Type_vector(kMany, 1, 1, row.type, &rows.type), MPI_SUCCESS);
  for (MadeType *made : {&row, &rows}) {
    const transfer::LayoutPtr layout = layout_of(made);
    ASSERT_NE(layout, nullptr);
    EXPECT_TRUE(layout->is_contiguous);
    EXPECT_EQ(layout->size_bytes, std::uint64_t{4} * kMany * (made == &rows ? kMany : 1));
    EXPECT_TRUE(layout->blocks.empty());
  }
}

TEST(LargeType, KeepsOffsetsBeyondFourGib_WhenItHasGaps) {
  const wire::Host &mpi = wire::host();
  MadeType made(MPI_DATATYPE_NULL, "hvector", true);
  const MPI_Aint stride = MPI_Aint{5} << 30;
  ASSERT_EQ(mpi.MPI_Type_create_hvector(3, kMany, stride, MPI_INT, &made.type), MPI_SUCCESS);
  const transfer::LayoutPtr layout = layout_of(&made);
  ASSERT_NE(layout, nullptr);
  ASSERT_EQ(layout->blocks.size(), 3U);
  EXPECT_EQ(layout->blocks[2].offset_bytes, 2 * stride);
  EXPECT_EQ(layout->blocks[2].size_bytes, std::uint64_t{4} << 30);
}

TEST(LargeType, IsDescribed_WhenItsCountsAreLarge) {
  if (!wire::has_function("MPI_Type_contiguous_c")) GTEST_SKIP() << "the host MPI has no large-count functions";
  const wire::Host &mpi = wire::host();
  const MPI_Count many = MPI_Count{1} << 40;
  MadeType run(MPI_DATATYPE_NULL, "contiguous_c", true);
  MadeType gaps(MPI_DATATYPE_NULL, "vector_c", true);
  ASSERT_EQ(mpi.MPI_Type_contiguous_c(many, MPI_BYTE, &run.type), MPI_SUCCESS);
  ASSERT_EQ(mpi.MPI_Type_vector_c(2, many, 3 * many, MPI_BYTE, &gaps.type), MPI_SUCCESS);
  const transfer::LayoutPtr layout = layout_of(&run);
  ASSERT_NE(layout, nullptr);
  EXPECT_TRUE(layout->is_contiguous);
  EXPECT_EQ(layout->size_bytes, static_cast<std::uint64_t>(many));
  const transfer::LayoutPtr with_gaps = layout_of(&gaps);
  ASSERT_NE(with_gaps, nullptr);
  ASSERT_EQ(with_gaps->blocks.size(), 2U);
  EXPECT_EQ(with_gaps->blocks[1].offset_bytes, 3 * many);
}

TEST(LargeType, IsRefused_WhenItHasTooManyBlocks) {
  MadeType made(MPI_DATATYPE_NULL, "vector", true);
  ASSERT_EQ(wire::host().MPI_Type_vector(kMany, 1, 2, MPI_BYTE, &made.type), MPI_SUCCESS);
  ASSERT_EQ(wire::host().MPI_Type_commit(&made.type), MPI_SUCCESS);
  transfer::LayoutPtr layout;
  const Status status = ops::layout_of(made.type, &layout);
  ASSERT_FALSE(status.is_ok());
  EXPECT_EQ(status.kind(), ErrorKind::kUnsupported);
  EXPECT_NE(status.message().find("separate blocks"), std::string::npos) << status.message();
  EXPECT_EQ(layout, nullptr);
}

TEST(LargeType, TakesNoTimeForWhatIsEmpty) {
  const wire::Host &mpi = wire::host();
  MadeType empty(MPI_DATATYPE_NULL, "contiguous", true);
  MadeType many(MPI_DATATYPE_NULL, "contiguous of it", true);
  ASSERT_EQ(mpi.MPI_Type_contiguous(0, MPI_INT, &empty.type), MPI_SUCCESS);
  ASSERT_EQ(mpi.MPI_Type_contiguous(kMany, empty.type, &many.type), MPI_SUCCESS);
  const transfer::LayoutPtr layout = layout_of(&many);
  ASSERT_NE(layout, nullptr);
  EXPECT_TRUE(layout->is_contiguous);
  EXPECT_EQ(layout->size_bytes, 0U);
}

// A type in which each level uses the one below it twice.
std::vector<MadeType> doubled(int n_levels) {
  std::vector<MadeType> levels;
  MPI_Datatype part = MPI_BYTE;
  for (int k = 0; k < n_levels; ++k) {
    const int lengths[] = {1, 1};
    const MPI_Aint displacements[] = {0, MPI_Aint{1} << k};
    const MPI_Datatype types[] = {part, part};
    MPI_Datatype made = MPI_DATATYPE_NULL;
    EXPECT_EQ(wire::host().MPI_Type_create_struct(2, lengths, displacements, types, &made), MPI_SUCCESS);
    levels.emplace_back(made, "struct", true);
    part = made;
  }
  return levels;
}

TEST(LargeType, IsOneRun_WhenItUsesItsPartsTwice) {
  constexpr int kLevels = 12;
  std::vector<MadeType> levels = doubled(kLevels);
  const transfer::LayoutPtr layout = layout_of(&levels.back());
  ASSERT_NE(layout, nullptr);
  EXPECT_TRUE(layout->is_contiguous);
  EXPECT_EQ(layout->size_bytes, std::uint64_t{1} << kLevels);
}

// 2^40 steps, if each mention of a part were followed. Where the host MPI hides that they are the same, it is an error.
TEST(LargeType, IsRefusedOrDescribedSoon_WhenItUsesItsPartsTwiceTooOften) {
  constexpr int kLevels = 40;
  std::vector<MadeType> levels = doubled(kLevels);
  ASSERT_EQ(wire::host().MPI_Type_commit(&levels.back().type), MPI_SUCCESS);
  transfer::LayoutPtr layout;
  const Status status = ops::layout_of(levels.back().type, &layout);
  if (status.is_ok()) {
    EXPECT_EQ(layout->size_bytes, std::uint64_t{1} << kLevels);
  } else {
    EXPECT_NE(status.message().find("derived datatypes"), std::string::npos) << status.message();
  }
}

}  // namespace
}  // namespace sluice::tests
