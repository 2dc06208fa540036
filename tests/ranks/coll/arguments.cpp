// SPDX-License-Identifier: BSD-3-Clause
// Arguments that mean nothing at a rank, absolute addresses, types that are freed early, requests that are complete at
// once, and arguments that the host MPI refuses.
#include <gtest/gtest.h>

#include "tests/ranks/coll/variants.hpp"
#include "tests/support/host_mpi.hpp"

namespace sluice::tests::arguments_test {
namespace {

constexpr int kCount = 500;
constexpr std::size_t kBytes = kCount * sizeof(int);

// Nothing may be read there.
void *nowhere() {
  return reinterpret_cast<void *>(0x10);
}
const int *no_numbers() {
  return static_cast<const int *>(nowhere());
}

void ignore_error(MPI_Comm * /*comm*/, int * /*code*/, ...) {}

void compare_narrow(const Operation &operation) {
  for_each_case(Breadth::narrow, {kBytes}, [&](const Case &c) { compare_with_host(c, operation); });
}

TEST(Insignificant, MayBeAnything_WhereTheRootAloneReceives) {
  for (int root = 0; root < Session::get().size(); ++root) {
    compare_narrow([root](Trial &run) {
      const Session &session = Session::get();
      const bool is_root = session.rank() == root;
      const std::vector<int> counts(static_cast<std::size_t>(session.size()), kCount);
      std::vector<int> places;
      for (int rank = 0; rank < session.size(); ++rank) {
        places.push_back(rank * kCount);
      }
      const Memory &in = run.input(kBytes);
      const Memory &out = run.output(kBytes * counts.size());
      void *received = is_root ? out.data() : nowhere();
      const int count = is_root ? kCount : -5;
      MPI_Datatype type = is_root ? MPI_INT : MPI_DATATYPE_NULL;
      run.call("MPI_Gather", MPI_Gather(in.data(), kCount, MPI_INT, received, count, type, root, session.comm()));
      run.call("MPI_Gatherv", MPI_Gatherv(in.data(), kCount, MPI_INT, received, is_root ? counts.data() : no_numbers(),
                                          is_root ? places.data() : no_numbers(), type, root, session.comm()));
      run.call("MPI_Reduce", MPI_Reduce(in.data(), received, kCount, MPI_INT, MPI_BXOR, root, session.comm()));
      MPI_Request request = MPI_REQUEST_NULL;
      run.call("MPI_Ireduce",
               MPI_Ireduce(in.data(), received, kCount, MPI_INT, MPI_BOR, root, session.comm(), &request));
      run.call("MPI_Wait", MPI_Wait(&request, MPI_STATUS_IGNORE));
    });
  }
}

TEST(Insignificant, MayBeAnything_WhereTheRootAloneSends) {
  for (int root = 0; root < Session::get().size(); ++root) {
    compare_narrow([root](Trial &run) {
      const Session &session = Session::get();
      const bool is_root = session.rank() == root;
      const std::vector<int> counts(static_cast<std::size_t>(session.size()), kCount);
      const std::vector<int> places(counts.size(), 0);
      const Memory &in = run.input(kBytes * counts.size());
      const Memory &out = run.output(kBytes);
      const void *sent = is_root ? in.data() : nowhere();
      const int count = is_root ? kCount : -5;
      MPI_Datatype type = is_root ? MPI_INT : MPI_DATATYPE_NULL;
      run.call("MPI_Scatter", MPI_Scatter(sent, count, type, out.data(), kCount, MPI_INT, root, session.comm()));
      // All blocks begin at the same place.
      run.call("MPI_Scatterv",
               MPI_Scatterv(sent, is_root ? counts.data() : no_numbers(), is_root ? places.data() : no_numbers(), type,
                            out.data(), kCount, MPI_INT, root, session.comm()));
    });
  }
}

TEST(Insignificant, MayBeAnything_InPlace) {
  compare_narrow([](Trial &run) {
    const Session &session = Session::get();
    const Memory &all = run.output(kBytes * static_cast<std::size_t>(session.size()));
    all.fill_pattern(session.rank(), 3);
    run.call("MPI_Allgather",
             MPI_Allgather(MPI_IN_PLACE, -1, MPI_DATATYPE_NULL, all.data(), kCount, MPI_INT, session.comm()));
    run.call("MPI_Alltoall",
             MPI_Alltoall(MPI_IN_PLACE, -1, MPI_DATATYPE_NULL, all.data(), kCount, MPI_INT, session.comm()));
  });
}

// Two buffers, which may lie on different sides, under one type of absolute addresses.
TEST(Bottom, IsBroadcast) {
  compare_narrow([](Trial &run) {
    const Session &session = Session::get();
    const bool is_root = session.rank() == session.size() - 1;
    const Memory &one = is_root ? run.input(kBytes, 1) : run.output(kBytes);
    const Memory &other = run.buffer(Kind::host, kBytes);
    if (is_root) {
      run.refill(other, 2);
    }
    const int lengths[2] = {kCount, kCount - 100};
    MPI_Aint places[2] = {};
    MPI_Get_address(one.data(), &places[0]);
    MPI_Get_address(other.data(), &places[1]);
    MPI_Datatype type = MPI_DATATYPE_NULL;
    MPI_Type_create_hindexed(2, lengths, places, MPI_INT, &type);
    MPI_Type_commit(&type);
    run.call("MPI_Bcast", MPI_Bcast(MPI_BOTTOM, 1, type, session.size() - 1, session.comm()));
    MPI_Type_free(&type);
    run.expect_pattern(one, session.size() - 1, 1, kBytes);
    run.expect_pattern(other, session.size() - 1, 2, kBytes - 100 * sizeof(int));
  });
}

TEST(Types, MayBeFreed_WhileTheRequestIsActive) {
  compare_narrow([](Trial &run) {
    const Session &session = Session::get();
    MPI_Datatype type = MPI_DATATYPE_NULL;
    MPI_Type_vector(kCount, 1, 7, MPI_INT, &type);
    MPI_Type_commit(&type);
    const bool is_root = session.rank() == 0;
    const Memory &buffer = is_root ? run.input(kBytes * 7) : run.output(kBytes * 7);
    MPI_Request request = MPI_REQUEST_NULL;
    run.call("MPI_Ibcast", MPI_Ibcast(buffer.data(), 1, type, 0, session.comm(), &request));
    MPI_Type_free(&type);
    run.call("MPI_Wait", MPI_Wait(&request, MPI_STATUS_IGNORE));
  });
}

// A host MPI may answer what it does at once with a handle that others have too.
TEST(Requests, AllDeliver_WhenTheyAreCompleteAtOnce) {
  compare_narrow([](Trial &run) {
    constexpr int kRequests = 6;
    std::vector<MPI_Request> requests(kRequests, MPI_REQUEST_NULL);
    for (int i = 0; i < kRequests; ++i) {
      const Memory &in = run.input(kBytes, i);
      const Memory &out = run.output(kBytes);
      MPI_Request *request = &requests[static_cast<std::size_t>(i)];
      if (i % 2 == 0) {
        run.call("MPI_Iallreduce",
                 MPI_Iallreduce(in.data(), out.data(), kCount, MPI_INT, MPI_BXOR, MPI_COMM_SELF, request));
      } else {
        run.call("MPI_Iallgather",
                 MPI_Iallgather(in.data(), kCount, MPI_INT, out.data(), kCount, MPI_INT, MPI_COMM_SELF, request));
      }
    }
    MPI_Request sent = MPI_REQUEST_NULL;
    run.call("MPI_Isend", MPI_Isend(run.input(8).data(), 8, MPI_BYTE, MPI_PROC_NULL, 0, MPI_COMM_SELF, &sent));
    run.call("MPI_Wait", MPI_Wait(&sent, MPI_STATUS_IGNORE));
    run.call("MPI_Waitall", MPI_Waitall(kRequests, requests.data(), MPI_STATUSES_IGNORE));
  });
}

// Several operations of all sorts under way, completed in another order.
TEST(Requests, AllDeliver_WhenManyAreUnderWay) {
  compare_narrow([](Trial &run) {
    const Session &session = Session::get();
    const auto size = static_cast<std::size_t>(session.size());
    MPI_Request requests[4] = {};
    run.call("MPI_Iallreduce", MPI_Iallreduce(run.input(kBytes, 1).data(), run.output(kBytes).data(), kCount, MPI_INT,
                                              MPI_BAND, session.comm(), &requests[0]));
    run.call("MPI_Ialltoall",
             MPI_Ialltoall(run.input(kBytes * size, 2).data(), kCount, MPI_INT, run.output(kBytes * size).data(),
                           kCount, MPI_INT, session.comm(), &requests[1]));
    run.call("MPI_Iscan", MPI_Iscan(run.input(kBytes, 3).data(), run.output(kBytes).data(), kCount, MPI_INT, MPI_BXOR,
                                    session.comm(), &requests[2]));
    run.call("MPI_Iallgather",
             MPI_Iallgather(run.input(kBytes, 4).data(), kCount, MPI_INT, run.output(kBytes * size).data(), kCount,
                            MPI_INT, session.comm(), &requests[3]));
    run.call("MPI_Barrier", MPI_Barrier(session.comm()));
    run.call("MPI_Wait", MPI_Wait(&requests[2], MPI_STATUS_IGNORE));
    run.call("MPI_Waitall", MPI_Waitall(4, requests, MPI_STATUSES_IGNORE));
  });
}

// The class of the host MPI's own error, asked past Sluice, on a communicator of this rank alone.
TEST(BadArguments, AreAnsweredAsByTheHostMpi) {
  const Session &session = Session::get();
  MPI_Comm comm = MPI_COMM_NULL;
  ASSERT_EQ(MPI_Comm_dup(MPI_COMM_SELF, &comm), MPI_SUCCESS);
  // Intel MPI ends the program for an error under MPI_ERRORS_RETURN.
  MPI_Errhandler handler = MPI_ERRHANDLER_NULL;
  ASSERT_EQ(MPI_Comm_create_errhandler(ignore_error, &handler), MPI_SUCCESS);
  ASSERT_EQ(MPI_Comm_set_errhandler(comm, handler), MPI_SUCCESS);
  const auto class_of = [](int code) {
    int error_class = MPI_SUCCESS;
    MPI_Error_class(code, &error_class);
    return error_class;
  };
  for (const Kind kind : session.kinds()) {
    SCOPED_TRACE(kind_name(kind));
    const Memory in(session.module(), kind, kBytes);
    const Memory out(session.module(), kind, kBytes);
    const auto bcast = [&](auto *function, int count, MPI_Datatype type, int root) {
      return class_of(function(in.data(), count, type, root, comm));
    };
    auto *host_bcast = host_function("PMPI_Bcast", PMPI_Bcast);
    EXPECT_EQ(bcast(MPI_Bcast, -1, MPI_INT, 0), bcast(host_bcast, -1, MPI_INT, 0));
    EXPECT_EQ(bcast(MPI_Bcast, 1, MPI_DATATYPE_NULL, 0), bcast(host_bcast, 1, MPI_DATATYPE_NULL, 0));
    EXPECT_EQ(bcast(MPI_Bcast, 1, MPI_INT, 17), bcast(host_bcast, 1, MPI_INT, 17));
    // Still usable.
    in.fill_pattern(session.rank(), 4);
    EXPECT_EQ(MPI_Allreduce(in.data(), out.data(), kCount, MPI_INT, MPI_MAX, comm), MPI_SUCCESS);
    EXPECT_EQ(find_pattern_error(out.read(), session.rank(), 4), "");
  }
  MPI_Errhandler_free(&handler);
  MPI_Comm_free(&comm);
}

}  // namespace
}  // namespace sluice::tests::arguments_test
