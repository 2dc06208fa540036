// SPDX-License-Identifier: BSD-3-Clause
// Datatypes that a collective operation cannot be made with: not committed, which is the host MPI's own error in every
// form, and reaching out of the memory, which is an error that says which bytes.
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "tests/ranks/coll/variants.hpp"
#include "tests/support/host_mpi.hpp"

namespace sluice::tests::bad_types_test {
namespace {

using Form = Variant::Form;

void ignore_all_errors(MPI_Comm * /*comm*/, int * /*code*/, ...) {}

int class_of_code(int code) {
  int error_class = MPI_SUCCESS;
  MPI_Error_class(code, &error_class);
  return error_class;
}

// An operation in its three forms, as the program sees it and as the host MPI has it.
template <class... Arguments>
struct Both {
  Forms<Arguments...> visible;
  Forms<Arguments...> host;
};

template <class... Arguments>
Both<Arguments...> both(const Forms<Arguments...> &visible, const Forms<Arguments...> &host) {
  return {visible, host};
}

#if MPI_VERSION >= 4
#define SLUICE_BOTH(Name, name)                                                                                        \
  both(forms_of("MPI_" #Name, MPI_##Name, MPI_I##name, MPI_##Name##_init),                                             \
       forms_of("PMPI_" #Name, host_function("PMPI_" #Name, PMPI_##Name), host_function("PMPI_I" #name, PMPI_I##name), \
                host_function("PMPI_" #Name "_init", PMPI_##Name##_init)))
#else
#define SLUICE_BOTH(Name, name)                                                                                        \
  both(forms_of("MPI_" #Name, MPI_##Name, MPI_I##name, nullptr),                                                       \
       forms_of("PMPI_" #Name, host_function("PMPI_" #Name, PMPI_##Name), host_function("PMPI_I" #name, PMPI_I##name), \
                nullptr))
#endif

std::string text_of(int code) {
  char text[MPI_MAX_ERROR_STRING] = {};
  int length = 0;
  return MPI_Error_string(code, text, &length) == MPI_SUCCESS ? text : "";
}

// Makes the call; what it is answered, or what its request ends with.
template <class... Arguments, class... Given>
int answer_of(Form form, const Forms<Arguments...> &forms, Given... given) {
  if (form == Form::blocking) return forms.block(given...);
  MPI_Request request = MPI_REQUEST_NULL;
  const int code =
      form == Form::nonblocking ? forms.start(given..., &request) : forms.init(given..., MPI_INFO_NULL, &request);
  if (code != MPI_SUCCESS) return code;
  if (form == Form::nonblocking) return MPI_Wait(&request, MPI_STATUS_IGNORE);
  // It was made: nothing is started, which some would refuse then.
  return request == MPI_REQUEST_NULL ? MPI_SUCCESS : MPI_Request_free(&request);
}

class UncommittedTypes : public testing::Test {
 protected:
  void SetUp() override {
    if (crashes_on_uncommitted_types()) GTEST_SKIP() << "missing: a host MPI that answers a type that is not committed";
    const Session &session = Session::get();
    const int periods[1] = {1};
    const int dims[1] = {session.size()};
    ASSERT_EQ(MPI_Cart_create(session.comm(), 1, dims, periods, 0, &comm_), MPI_SUCCESS);
    // Intel MPI ends the program for an error under MPI_ERRORS_RETURN.
    ASSERT_EQ(MPI_Comm_create_errhandler(ignore_all_errors, &handler_), MPI_SUCCESS);
    ASSERT_EQ(MPI_Comm_set_errhandler(comm_, handler_), MPI_SUCCESS);
    ASSERT_EQ(MPI_Type_vector(4, 1, 2, MPI_INT, &bad_), MPI_SUCCESS);
    types_.assign(ranks_, bad_);
    for (std::size_t rank = 0; rank < ranks_; ++rank) displacements_.push_back(static_cast<int>(rank));
    byte_displacements_ = displacements_;
    long_displacements_.assign(displacements_.begin(), displacements_.end());
  }
  void TearDown() override {
    if (comm_ == MPI_COMM_NULL) return;
    MPI_Type_free(&bad_);
    MPI_Errhandler_free(&handler_);
    MPI_Comm_free(&comm_);
  }

  template <class... Arguments, class... Given>
  void compare(const Both<Arguments...> &functions, Given... given) {
    for (const Form form : {Form::blocking, Form::nonblocking, Form::persistent}) {
      if (form == Form::persistent && functions.visible.init == nullptr) continue;
      SCOPED_TRACE(testing::Message() << functions.visible.name << ", form " << static_cast<int>(form));
      const int wanted = class_of_code(answer_of(form, functions.host, given...));
      const int answer = answer_of(form, functions.visible, given...);
      // Also where the ranks meet first and the host MPI is asked later: then its error comes with the request.
      EXPECT_EQ(class_of_code(answer), wanted) << text_of(answer);
    }
  }

  void compare_movements(void *in, void *out) {
    const int *counts = counts_.data();
    const int *places = displacements_.data();
    compare(SLUICE_BOTH(Bcast, bcast), in, 1, bad_, 0, comm_);
    compare(SLUICE_BOTH(Gather, gather), in, 1, bad_, out, 1, bad_, 0, comm_);
    compare(SLUICE_BOTH(Gatherv, gatherv), in, 1, bad_, out, counts, places, bad_, 0, comm_);
    compare(SLUICE_BOTH(Scatter, scatter), in, 1, bad_, out, 1, bad_, 0, comm_);
    compare(SLUICE_BOTH(Scatterv, scatterv), in, counts, places, bad_, out, 1, bad_, 0, comm_);
    compare(SLUICE_BOTH(Allgather, allgather), in, 1, bad_, out, 1, bad_, comm_);
    compare(SLUICE_BOTH(Allgatherv, allgatherv), in, 1, bad_, out, counts, places, bad_, comm_);
    compare(SLUICE_BOTH(Alltoall, alltoall), in, 1, bad_, out, 1, bad_, comm_);
    compare(SLUICE_BOTH(Alltoallv, alltoallv), in, counts, places, bad_, out, counts, places, bad_, comm_);
    compare(SLUICE_BOTH(Alltoallw, alltoallw), in, counts, byte_displacements_.data(), types_.data(), out, counts,
            byte_displacements_.data(), types_.data(), comm_);
  }

  void compare_reductions(void *in, void *out) {
    const MPI_Op op = commutative_op();
    compare(SLUICE_BOTH(Reduce, reduce), in, out, 1, bad_, op, 0, comm_);
    compare(SLUICE_BOTH(Allreduce, allreduce), in, out, 1, bad_, op, comm_);
    compare(SLUICE_BOTH(Scan, scan), in, out, 1, bad_, op, comm_);
    compare(SLUICE_BOTH(Exscan, exscan), in, out, 1, bad_, op, comm_);
    compare(SLUICE_BOTH(Reduce_scatter, reduce_scatter), in, out, counts_.data(), bad_, op, comm_);
    compare(SLUICE_BOTH(Reduce_scatter_block, reduce_scatter_block), in, out, 1, bad_, op, comm_);
  }

  void compare_neighborhoods(void *in, void *out) {
    const int *counts = counts_.data();
    const int *places = displacements_.data();
    compare(SLUICE_BOTH(Neighbor_allgather, neighbor_allgather), in, 1, bad_, out, 1, bad_, comm_);
    compare(SLUICE_BOTH(Neighbor_allgatherv, neighbor_allgatherv), in, 1, bad_, out, counts, places, bad_, comm_);
    compare(SLUICE_BOTH(Neighbor_alltoall, neighbor_alltoall), in, 1, bad_, out, 1, bad_, comm_);
    compare(SLUICE_BOTH(Neighbor_alltoallv, neighbor_alltoallv), in, counts, places, bad_, out, counts, places, bad_,
            comm_);
    compare(SLUICE_BOTH(Neighbor_alltoallw, neighbor_alltoallw), in, counts, long_displacements_.data(), types_.data(),
            out, counts, long_displacements_.data(), types_.data(), comm_);
  }

  // Two at least: a ring has two neighbours.
  std::size_t ranks_ = static_cast<std::size_t>(Session::get().size() < 2 ? 2 : Session::get().size());
  std::vector<int> counts_ = std::vector<int>(ranks_, 1);
  std::vector<int> displacements_;
  std::vector<int> byte_displacements_;
  std::vector<MPI_Aint> long_displacements_;
  std::vector<MPI_Datatype> types_;
  MPI_Comm comm_ = MPI_COMM_NULL;
  MPI_Errhandler handler_ = MPI_ERRHANDLER_NULL;
  MPI_Datatype bad_ = MPI_DATATYPE_NULL;
};

TEST_F(UncommittedTypes, AreAnsweredAsByTheHostMpi) {
  const Session &session = Session::get();
  for (const Kind kind : session.kinds()) {
    SCOPED_TRACE(kind_name(kind));
    const Memory in(session.module(), kind, 4096);
    const Memory out(session.module(), kind, 4096);
    in.fill_pattern(session.rank(), 4);
    compare_movements(in.data(), out.data());
    compare_reductions(in.data(), out.data());
    compare_neighborhoods(in.data(), out.data());
    // Still usable.
    EXPECT_EQ(MPI_Bcast(in.data(), 4096, MPI_BYTE, 0, comm_), MPI_SUCCESS);
    EXPECT_EQ(find_pattern_error(in.read(), 0, 4), "");
  }
}

// ---- A type one of whose blocks runs over the end of the memory ----

constexpr int kHeldBytes = 64 << 10;
constexpr int kBlockBytes = 512 << 10;  // of a rank: eight times what there is

class TypesThatReachOut : public testing::TestWithParam<Form> {
 protected:
  void SetUp() override {
    if (!Session::get().has_kind(Kind::device)) GTEST_SKIP() << "missing: device memory";
    const int lengths[3] = {8, 8, kBlockBytes - 16};
    const MPI_Aint places[3] = {0, 64, 256};
    ASSERT_EQ(MPI_Type_create_hindexed(3, lengths, places, MPI_BYTE, &type_), MPI_SUCCESS);
    ASSERT_EQ(MPI_Type_commit(&type_), MPI_SUCCESS);
  }
  void TearDown() override {
    if (type_ != MPI_DATATYPE_NULL) MPI_Type_free(&type_);
  }

  template <class... Arguments, class... Given>
  void expect_error(const Forms<Arguments...> &forms, Given... given) {
    SCOPED_TRACE(forms.name);
    MPI_Request request = MPI_REQUEST_NULL;
    int code = GetParam() == Form::blocking ? forms.block(given...) : forms.start(given..., &request);
    if (GetParam() != Form::blocking && code == MPI_SUCCESS) code = MPI_Wait(&request, MPI_STATUS_IGNORE);
    ASSERT_NE(code, MPI_SUCCESS);
    EXPECT_NE(text_of(code).find(" bytes at "), std::string::npos) << text_of(code);
  }

  MPI_Datatype type_ = MPI_DATATYPE_NULL;
};

// On a communicator of this rank alone: where the ranks stage, others wait for what such a rank does not send.
TEST_P(TypesThatReachOut, AreAnErrorThatNamesTheBytes) {
  const Session &session = Session::get();
  MPI_Comm comm = MPI_COMM_NULL;
  ASSERT_EQ(MPI_Comm_split(session.comm(), session.rank(), 0, &comm), MPI_SUCCESS);
  ASSERT_EQ(MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN), MPI_SUCCESS);
  const Memory held(session.module(), Kind::device, kHeldBytes);
  const Memory room(session.module(), Kind::device, kBlockBytes);
  const void *in = held.data();
  expect_error(forms_of("MPI_Gather", MPI_Gather, MPI_Igather, nullptr), in, 1, type_, room.data(), kBlockBytes,
               MPI_BYTE, 0, comm);
  expect_error(forms_of("MPI_Allgather", MPI_Allgather, MPI_Iallgather, nullptr), in, 1, type_, room.data(),
               kBlockBytes, MPI_BYTE, comm);
  expect_error(forms_of("MPI_Scatter", MPI_Scatter, MPI_Iscatter, nullptr), static_cast<const void *>(room.data()),
               kBlockBytes, MPI_BYTE, held.data(), 1, type_, 0, comm);
  expect_error(forms_of("MPI_Alltoall", MPI_Alltoall, MPI_Ialltoall, nullptr), static_cast<const void *>(room.data()),
               kBlockBytes, MPI_BYTE, held.data(), 1, type_, comm);
  // Still usable.
  room.fill_pattern(session.rank(), 6);
  const Memory out(session.module(), Kind::device, kBlockBytes);
  EXPECT_EQ(MPI_Allgather(room.data(), kBlockBytes, MPI_BYTE, out.data(), kBlockBytes, MPI_BYTE, comm), MPI_SUCCESS);
  EXPECT_EQ(find_pattern_error(out.read(), session.rank(), 6), "");
  MPI_Comm_free(&comm);
}

INSTANTIATE_TEST_SUITE_P(Each, TypesThatReachOut, testing::Values(Form::blocking, Form::nonblocking));

}  // namespace
}  // namespace sluice::tests::bad_types_test
