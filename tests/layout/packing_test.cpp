// SPDX-License-Identifier: BSD-3-Clause
// The bytes that a layout names, against those that the host MPI packs and unpacks.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>

#include "ops/datatype/layout_of.hpp"
#include "tests/layout/buffers.hpp"
#include "tests/layout/random_types.hpp"

namespace sluice::tests {
namespace {

constexpr int kRandomTypes = 600;
constexpr std::uint64_t kSeed = 20261121;

bool is_intel_mpi() {
  std::string text(MPI_MAX_LIBRARY_VERSION_STRING, ' ');
  int length = 0;
  return wire::host().MPI_Get_library_version(text.data(), &length) == MPI_SUCCESS &&
         text.find("Intel") != std::string::npos;
}

void expect_same(const MadeType &made) {
  transfer::LayoutPtr layout;
  const Status status = ops::layout_of(made.type, &layout);
  ASSERT_TRUE(status.is_ok()) << status.message() << "\n" << made.how;
  for (const int count : {0, 1, 2, 3}) {
    ASSERT_EQ(difference(made.type, count, *layout), "") << count << " of " << made.how;
  }
}

TEST(Layout, MovesBytesLikeTheHostMpi_WhenTypesAreRandom) {
  RandomTypes types(kSeed);
  int n_failed = 0;
  for (int k = 0; k < kRandomTypes && n_failed < 10; ++k) {
    const MadeType made = types.make();
    expect_same(made);
    n_failed += HasFatalFailure() ? 1 : 0;
  }
  const std::set<std::string> used(types.used().begin(), types.used().end());
  const std::size_t n_constructors = 12;
  EXPECT_GE(used.size(), wire::has_function("MPI_Type_contiguous_c") ? 2 * n_constructors - 1 : n_constructors);
  EXPECT_EQ(errors_seen(), "");
}

TEST(Layout, MovesBytesLikeTheHostMpi_WhenArraysAreDistributed) {
  // Intel MPI 2021.18 packs 16 neighbouring elements where a block of 4 x 4 is meant, with or without Sluice.
  const int default_argument = MPI_DISTRIBUTE_DFLT_DARG;
  const std::vector<MadeType> all = all_darrays(is_intel_mpi() ? default_argument : 4);
  ASSERT_GT(all.size(), 80U);
  for (const MadeType &made : all) expect_same(made);
  EXPECT_EQ(errors_seen(), "");
}

// Open MPI takes a stride of -1 byte for the length of a block, alone, in types of such types, and for any part.
TEST(Layout, MovesBytesLikeTheHostMpi_WhenAStrideIsMinusOneByte) {
  const wire::Host &mpi = wire::host();
  MPI_Datatype backwards = MPI_DATATYPE_NULL;  // with an extent of -1 byte
  MPI_Datatype gapped = MPI_DATATYPE_NULL;     // with its first byte below its address
  MPI_Datatype inner = MPI_DATATYPE_NULL;
  ASSERT_EQ(mpi.MPI_Type_create_resized(MPI_BYTE, 0, -1, &backwards), MPI_SUCCESS);
  ASSERT_EQ(mpi.MPI_Type_vector(2, 1, -3, MPI_SHORT, &gapped), MPI_SUCCESS);
  ASSERT_EQ(mpi.MPI_Type_vector(4, 1, -1, MPI_BYTE, &inner), MPI_SUCCESS);
  for (const int count : {1, 2, 3, 6}) {
    for (const int length : {1, 2, 5}) {
      for (MPI_Datatype part : {MPI_BYTE, MPI_SHORT, MPI_INT, MPI_DOUBLE_INT, backwards, gapped, inner}) {
        MPI_Aint lower = 0;
        MPI_Aint extent = 0;
        ASSERT_EQ(mpi.MPI_Type_get_extent(part, &lower, &extent), MPI_SUCCESS);
        MPI_Datatype vector = MPI_DATATYPE_NULL;
        MPI_Datatype outer = MPI_DATATYPE_NULL;
        if (extent == 1 || extent == -1) {
          ASSERT_EQ(mpi.MPI_Type_vector(count, length, static_cast<int>(-extent), part, &vector), MPI_SUCCESS);
        } else {
          ASSERT_EQ(mpi.MPI_Type_create_hvector(count, length, -1, part, &vector), MPI_SUCCESS);
        }
        ASSERT_EQ(mpi.MPI_Type_commit(&vector), MPI_SUCCESS);
        const std::string how = fmt::format("vector({}, {}, -1 byte, extent {})", count, length, extent);
        expect_same({vector, how, false});
        const int first = 1;
        ASSERT_EQ(mpi.MPI_Type_create_indexed_block(1, 6, &first, vector, &outer), MPI_SUCCESS);
        ASSERT_EQ(mpi.MPI_Type_commit(&outer), MPI_SUCCESS);
        expect_same({outer, "6 in a row of " + how, false});
        ASSERT_EQ(mpi.MPI_Type_free(&outer), MPI_SUCCESS);
        ASSERT_EQ(mpi.MPI_Type_free(&vector), MPI_SUCCESS);
      }
    }
  }
  for (MPI_Datatype *type : {&backwards, &gapped, &inner}) ASSERT_EQ(mpi.MPI_Type_free(type), MPI_SUCCESS);
  EXPECT_EQ(errors_seen(), "");
}

TEST(Layout, MovesBytesLikeTheHostMpi_WhenTypesArePredefined) {
  int n_named = 0;
  for (MPI_Datatype type : {MPI_CHAR,
                            MPI_BYTE,
                            MPI_PACKED,
                            MPI_WCHAR,
                            MPI_SHORT,
                            MPI_INT,
                            MPI_LONG,
                            MPI_LONG_LONG,
                            MPI_FLOAT,
                            MPI_DOUBLE,
                            MPI_LONG_DOUBLE,
                            MPI_C_BOOL,
                            MPI_C_LONG_DOUBLE_COMPLEX,
                            MPI_AINT,
                            MPI_COUNT,
                            MPI_OFFSET,
                            MPI_FLOAT_INT,
                            MPI_DOUBLE_INT,
                            MPI_LONG_INT,
                            MPI_SHORT_INT,
                            MPI_LONG_DOUBLE_INT,
                            MPI_2INT}) {
    transfer::LayoutPtr layout;
    ASSERT_TRUE(ops::named_layout(type, &layout)) << n_named;
    for (const int count : {0, 1, 3}) EXPECT_EQ(difference(type, count, *layout), "") << n_named;
    if (!layout->is_contiguous) {  // an image ends where the last block does
      std::int64_t end = 0;
      for (const transfer::Block &block : layout->blocks) {
        end = std::max(end, block.offset_bytes + static_cast<std::int64_t>(block.size_bytes));
      }
      EXPECT_EQ(layout->end_byte, end) << n_named;
    }
    ++n_named;
  }
  for (MPI_Datatype type :
       {MPI_INTEGER, MPI_REAL, MPI_DOUBLE_PRECISION, MPI_2INTEGER, MPI_CHARACTER, MPI_LOGICAL, MPI_CXX_BOOL,
#ifdef MPI_REAL16
        MPI_REAL16,
#endif
#ifdef MPI_REAL2
        MPI_REAL2,
#endif
#ifdef MPI_INTEGER16
        MPI_INTEGER16,
#endif
        MPI_DOUBLE_COMPLEX}) {
    transfer::LayoutPtr layout;
    if (!ops::named_layout(type, &layout)) continue;  // a host MPI without this type
    EXPECT_EQ(difference(type, 3, *layout), "");
    ++n_named;
  }
  RecordProperty("named", n_named);
  EXPECT_EQ(errors_seen(), "");
}

TEST(Layout, DescribesParametrizedTypes_WhenTheHostHasThem) {
  const wire::Host &mpi = wire::host();
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  std::vector<MPI_Datatype> types;
  MPI_Datatype made = MPI_DATATYPE_NULL;
  if (mpi.MPI_Type_create_f90_real(6, 30, &made) == MPI_SUCCESS) types.push_back(made);
  if (mpi.MPI_Type_create_f90_complex(12, 60, &made) == MPI_SUCCESS) types.push_back(made);
  if (mpi.MPI_Type_create_f90_integer(8, &made) == MPI_SUCCESS) types.push_back(made);
  watch_errors();
  for (MPI_Datatype type : types) {
    expect_same({type, "f90", false});
    expect_same({type, "f90 again", false});
    MPI_Datatype vector = MPI_DATATYPE_NULL;
    ASSERT_EQ(mpi.MPI_Type_vector(2, 1, 3, type, &vector), MPI_SUCCESS);
    ASSERT_EQ(mpi.MPI_Type_commit(&vector), MPI_SUCCESS);
    expect_same({vector, "vector of f90", true});
  }
  EXPECT_EQ(errors_seen(), "");
  if (types.empty()) GTEST_SKIP() << "this host MPI was built without Fortran's parametrized types";
}

TEST(Layout, DescribesPairsOfValueAndIndex_WhenTheHostMakesThem) {
  if (!wire::has_function("MPI_Type_get_value_index")) GTEST_SKIP() << "the host MPI has no MPI_Type_get_value_index";
  for (MPI_Datatype value : {MPI_CHAR, MPI_FLOAT, MPI_DOUBLE, MPI_SHORT, MPI_INT64_T}) {
    for (MPI_Datatype index : {MPI_INT, MPI_INT64_T, MPI_SHORT}) {
      MPI_Datatype pair = MPI_DATATYPE_NULL;
      ASSERT_EQ(wire::host().MPI_Type_get_value_index(value, index, &pair), MPI_SUCCESS);
      if (pair == MPI_DATATYPE_NULL) continue;
      expect_same({pair, "value and index", false});
    }
  }
  EXPECT_EQ(errors_seen(), "");
}

// The proof that the comparison sees what it is there for.
TEST(LayoutMutation, IsNoticed_WhenABlockIsShiftedOrOutOfOrder) {
  RandomTypes types(kSeed + 1);
  int n_shifted = 0;
  int n_swapped = 0;
  while (n_shifted < 100 || n_swapped < 50) {
    const MadeType made = types.make();
    transfer::LayoutPtr layout;
    ASSERT_TRUE(ops::layout_of(made.type, &layout).is_ok());
    const std::size_t n = layout->blocks.size();
    if (n == 0) continue;
    for (const std::int64_t shift : {-1, 1}) {
      transfer::Layout wrong = *layout;
      wrong.blocks[n / 2].offset_bytes += shift;
      EXPECT_NE(difference(made.type, 2, wrong), "") << made.how;
      Elements source(made.type, 2, 1);
      EXPECT_NE(gather(source.origin(), 2, wrong), pack(source.origin(), 2, made.type)) << made.how;
    }
    ++n_shifted;
    const transfer::Block &first = layout->blocks.front();
    const transfer::Block &last = layout->blocks.back();
    if ((first.offset_bytes - last.offset_bytes) % 256 == 0) continue;  // the pattern may repeat
    transfer::Layout wrong = *layout;
    std::swap(wrong.blocks.front(), wrong.blocks.back());
    Elements source(made.type, 1, 1);
    EXPECT_NE(gather(source.origin(), 1, wrong), pack(source.origin(), 1, made.type)) << made.how;
    ++n_swapped;
  }
}

}  // namespace
}  // namespace sluice::tests
