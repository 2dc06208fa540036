// SPDX-License-Identifier: BSD-3-Clause
// More of the cases in which collective operations of GPU-aware MPIs are known to have failed (failure_cases.cpp): in
// reductions that devices compute, between kinds of memory, and in calls that are under way.
#include <gtest/gtest.h>

#include <vector>

#include "tests/ranks/coll/failure_cases.hpp"
#include "tests/support/host_mpi.hpp"
#include "tests/support/program_queue.hpp"

namespace sluice::tests::failure_cases_requests_test {
namespace {

// ---- T11: what is complete is there, for every queue of the program; of reductions, which kernels of all ranks write
// ----

TEST(FailureCases, T11_CompletionOfAReductionMeansThatEveryQueueSeesIt) {
  const Session &session = Session::get();
  if (session.agree_any(!session.has_kind(Kind::device))) GTEST_SKIP() << "missing: device memory";
  constexpr std::size_t kBytes = 50'000;
  const int count = static_cast<int>(kBytes);
  const int n_iterations = session.options().is_full ? 1000 : 60;
  const ProgramQueue queue(session.module()->table());
  const Memory in(session.module(), Kind::device, kBytes);
  const Memory out(session.module(), Kind::device, kBytes);
  for (int iteration = 0; iteration < n_iterations; ++iteration) {
    in.fill_pattern(session.rank(), iteration);
    out.fill(kPoison);
    MPI_Request request = MPI_REQUEST_NULL;
    const bool is_for_all = iteration % 4 < 2;
    const int root = iteration % session.size();
    if (iteration % 4 == 0) {
      ASSERT_EQ(MPI_Allreduce(in.data(), out.data(), count, MPI_BYTE, MPI_BXOR, session.comm()), MPI_SUCCESS);
    } else if (iteration % 4 == 1) {
      ASSERT_EQ(MPI_Iallreduce(in.data(), out.data(), count, MPI_BYTE, MPI_BXOR, session.comm(), &request),
                MPI_SUCCESS);
    } else if (iteration % 4 == 2) {
      ASSERT_EQ(MPI_Reduce(in.data(), out.data(), count, MPI_BYTE, MPI_BXOR, root, session.comm()), MPI_SUCCESS);
    } else {
      ASSERT_EQ(MPI_Ireduce(in.data(), out.data(), count, MPI_BYTE, MPI_BXOR, root, session.comm(), &request),
                MPI_SUCCESS);
    }
    // By testing, too: nothing but the request's completion says that it is there.
    for (int is_done = 0; is_done == 0;) ASSERT_EQ(MPI_Test(&request, &is_done, MPI_STATUS_IGNORE), MPI_SUCCESS);
    if (!is_for_all && session.rank() != root) continue;
    Bytes wanted(kBytes);
    for (std::size_t i = 0; i < kBytes; ++i) {
      for (int rank = 0; rank < session.size(); ++rank) wanted[i] ^= pattern_byte(rank, i, iteration);
    }
    ASSERT_EQ(find_difference(wanted, queue.read(out.data(), kBytes)), "") << "iteration " << iteration;
  }
}

// ---- T15: kinds mixed per rank in one operation ----

TEST(FailureCases, T15_FromHostToDeviceAndBack) {
  for (const Kind root_kind : {Kind::host, device_or_host()}) {
    const Kind other_kind = root_kind == Kind::host ? device_or_host() : Kind::host;
    for (const std::size_t size_bytes : {std::size_t{60}, std::size_t{5'000}, std::size_t{300'000}}) {
      compare_with_host({device_or_host(), device_or_host(), 0}, [&](Trial &run) {
        const Session &session = Session::get();
        const int root = session.size() - 1;
        const int count = static_cast<int>(size_bytes);
        const Kind own_kind = session.rank() == root ? root_kind : other_kind;
        const Memory &whole = run.buffer(own_kind, size_bytes * as_size(session.size()));
        const Memory &part = run.buffer(own_kind, size_bytes);
        run.refill(whole, 1);
        run.call("MPI_Scatter",
                 MPI_Scatter(whole.data(), count, MPI_BYTE, part.data(), count, MPI_BYTE, root, session.comm()));
        run.call("MPI_Bcast", MPI_Bcast(whole.data(), count, MPI_BYTE, root, session.comm()));
        run.call("MPI_Gather",
                 MPI_Gather(part.data(), count, MPI_BYTE, whole.data(), count, MPI_BYTE, root, session.comm()));
        run.call("MPI_Allreduce", MPI_Allreduce(MPI_IN_PLACE, whole.data(), count, MPI_BYTE, MPI_BXOR, session.comm()));
      });
    }
  }
}

// ---- T22: lower bounds, counts of zero, buffers that mean nothing: of calls that are under way together ----

// Each rank has its own: no elements at every second one, and then no buffer either.
int count_of(int rank) {
  return rank % 2 == 0 ? 0 : 200 + rank;
}

void start_with(Trial &run, const Elements &elements, MPI_Comm comm) {
  int rank = 0;
  int size = 0;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &size);
  const int root = size - 1;
  constexpr int kWhole = 300;
  const auto bytes = [&](int n) { return (as_size(n) * as_size(elements.extent_ints) + 64) * sizeof(int); };
  const auto place = [](const Memory &memory) { return memory.at(32 * sizeof(int)); };
  const Memory &in = run.input(bytes(kWhole * size));
  std::vector<MPI_Request> requests;
  const auto request = [&requests] { return &requests.emplace_back(MPI_REQUEST_NULL); };
  requests.reserve(8);
  const Memory &gathered = run.output(bytes(kWhole * size));
  run.call("MPI_Igather", MPI_Igather(place(in), kWhole, elements.type, rank == root ? place(gathered) : nowhere(),
                                      kWhole, elements.type, root, comm, request()));
  const bool may_miss = overruns_in_reduce_with_lower_bound() || overruns_in_ireduce_with_lower_bound();
  const MPI_Op op = may_miss ? ordered_op() : commutative_op();
  const Memory &reduced = run.output(bytes(kWhole));
  // Open MPI 4's MPI_Ireduce writes beside its memory whatever the operation.
  if (!overruns_in_ireduce_with_lower_bound()) {
    run.call("MPI_Ireduce", MPI_Ireduce(place(in), rank == root ? place(reduced) : nowhere(), kWhole, elements.type, op,
                                        root, comm, request()));
  }
  const Memory &all_reduced = run.output(bytes(kWhole));
  run.call("MPI_Iallreduce", MPI_Iallreduce(place(in), place(all_reduced), kWhole, elements.type, op, comm, request()));
  const Memory &nothing = run.output(bytes(1));
  run.call("MPI_Iallreduce", MPI_Iallreduce(place(in), place(nothing), 0, elements.type, op, comm, request()));
  std::vector<int> send_counts;
  std::vector<int> recv_counts;
  std::vector<int> places;
  for (int peer = 0; peer < size; ++peer) {
    send_counts.push_back(count_of(rank));
    recv_counts.push_back(count_of(peer));
    places.push_back(peer * kWhole);
  }
  const Memory &exchanged = run.output(bytes(kWhole * size));
  run.call("MPI_Ialltoallv",
           MPI_Ialltoallv(count_of(rank) == 0 ? nullptr : place(in), send_counts.data(), places.data(), elements.type,
                          place(exchanged), recv_counts.data(), places.data(), elements.type, comm, request()));
  run.call("MPI_Waitall", MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE));
}

TEST(FailureCases, T22_LowerBoundsAndZeroCounts_WhileOthersAreUnderWay) {
  for (const Elements &elements : all_element_types()) {
    SCOPED_TRACE(elements.name);
    for (MPI_Comm comm : {Session::get().comm(), MPI_COMM_SELF}) {
      compare_with_host({device_or_host(), device_or_host(), 0}, [&](Trial &run) { start_with(run, elements, comm); });
      if (Session::get().agree_any(testing::Test::HasFailure())) return;
    }
  }
}

}  // namespace
}  // namespace sluice::tests::failure_cases_requests_test
