// SPDX-License-Identifier: BSD-3-Clause
// Which handles are taken, and that the question disturbs nobody.
#include <gtest/gtest.h>

#include "ops/datatype/layout_of.hpp"
#include "tests/layout/buffers.hpp"
#include "tests/layout/random_types.hpp"

namespace sluice::tests {
namespace {

int n_copies = 0;

int count_copy(MPI_Comm /*communicator*/, int /*key*/, void * /*extra*/, void *value, void *copy, int *is_copied) {
  ++n_copies;
  *static_cast<void **>(copy) = value;
  *is_copied = 1;
  return MPI_SUCCESS;
}

int keep(MPI_Comm /*communicator*/, int /*key*/, void * /*value*/, void * /*extra*/) {
  return MPI_SUCCESS;
}

TEST(Validity, IsDenied_WhenTheHandleIsNull) {
  EXPECT_FALSE(ops::is_valid(MPI_DATATYPE_NULL));
  EXPECT_EQ(errors_seen(), "");
}

TEST(Validity, IsDenied_WhenTheTypeIsNotCommitted) {
  const wire::Host &mpi = wire::host();
  MadeType made(MPI_DATATYPE_NULL, "vector", true);
  ASSERT_EQ(mpi.MPI_Type_vector(3, 1, 2, MPI_INT, &made.type), MPI_SUCCESS);
  EXPECT_FALSE(ops::is_valid(made.type));
  ASSERT_EQ(mpi.MPI_Type_commit(&made.type), MPI_SUCCESS);
  EXPECT_TRUE(ops::is_valid(made.type));
  EXPECT_EQ(errors_seen(), "");
}

TEST(Validity, IsGranted_WhenTypesArePredefinedOrCommitted) {
  for (MPI_Datatype type : {MPI_INT, MPI_DOUBLE_INT, MPI_BYTE, MPI_PACKED, MPI_2INT}) EXPECT_TRUE(ops::is_valid(type));
  RandomTypes types(7);
  for (int k = 0; k < 100; ++k) {
    const MadeType made = types.make();
    EXPECT_TRUE(ops::is_valid(made.type)) << made.how;
  }
  EXPECT_EQ(errors_seen(), "");
}

TEST(Validity, CopiesNoAttributes_WhenItMakesItsCommunicator) {
  const wire::Host &mpi = wire::host();
  int key = MPI_KEYVAL_INVALID;
  ASSERT_EQ(mpi.MPI_Comm_create_keyval(count_copy, keep, &key, nullptr), MPI_SUCCESS);
  ASSERT_EQ(mpi.MPI_Comm_set_attr(MPI_COMM_SELF, key, &key), MPI_SUCCESS);
  EXPECT_FALSE(ops::is_valid(MPI_DATATYPE_NULL));
  EXPECT_TRUE(ops::is_valid(MPI_INT));
  EXPECT_EQ(n_copies, 0);
  EXPECT_EQ(mpi.MPI_Comm_delete_attr(MPI_COMM_SELF, key), MPI_SUCCESS);
  EXPECT_EQ(mpi.MPI_Comm_free_keyval(&key), MPI_SUCCESS);
}

TEST(NamedLayout, IsDenied_WhenTheTypeIsDerivedOrNull) {
  transfer::LayoutPtr layout;
  EXPECT_FALSE(ops::named_layout(MPI_DATATYPE_NULL, &layout));
  MadeType made(MPI_DATATYPE_NULL, "dup", true);
  ASSERT_EQ(wire::host().MPI_Type_dup(MPI_INT, &made.type), MPI_SUCCESS);
  EXPECT_FALSE(ops::named_layout(made.type, &layout));
  EXPECT_EQ(layout, nullptr);
}

TEST(FirstByte, IsTheLayouts_WhenTypesAreRandom) {
  RandomTypes types(11);
  for (int k = 0; k < 200; ++k) {
    const MadeType made = types.make();
    transfer::LayoutPtr layout;
    ASSERT_TRUE(ops::layout_of(made.type, &layout).is_ok());
    EXPECT_EQ(ops::first_byte_of(made.type), layout->first_byte) << made.how;
  }
  EXPECT_EQ(ops::first_byte_of(MPI_DOUBLE_INT), 0);
  EXPECT_EQ(errors_seen(), "");
}

}  // namespace
}  // namespace sluice::tests
