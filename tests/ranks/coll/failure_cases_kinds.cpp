// SPDX-License-Identifier: BSD-3-Clause
// T15 of the cases in which collective operations of GPU-aware MPIs are known to have failed: kinds of memory mixed per
// rank in one operation, and many operations under way.
#include <gtest/gtest.h>

#include <array>
#include <vector>

#include "tests/ranks/coll/failure_cases.hpp"

namespace sluice::tests::failure_cases_kinds_test {
namespace {

Kind kind_here(int number) {
  const std::vector<Kind> &kinds = Session::get().kinds();
  return kinds[as_size(Session::get().rank() + number) % kinds.size()];
}

struct Exchange {
  const char *name;
  int (*start)(const void *in, void *out, int count, int root, MPI_Request *request);
};

constexpr std::array<Exchange, 6> kExchanges = {{
    {"MPI_Iallgather",
     [](auto in, auto out, auto count, auto, auto request) {
       return MPI_Iallgather(in, count, MPI_BYTE, out, count, MPI_BYTE, Session::get().comm(), request);
     }},
    {"MPI_Ialltoall",
     [](auto in, auto out, auto count, auto, auto request) {
       return MPI_Ialltoall(in, count, MPI_BYTE, out, count, MPI_BYTE, Session::get().comm(), request);
     }},
    {"MPI_Igather",
     [](auto in, auto out, auto count, auto root, auto request) {
       return MPI_Igather(in, count, MPI_BYTE, out, count, MPI_BYTE, root, Session::get().comm(), request);
     }},
    {"MPI_Iscatter",
     [](auto in, auto out, auto count, auto root, auto request) {
       return MPI_Iscatter(in, count, MPI_BYTE, out, count, MPI_BYTE, root, Session::get().comm(), request);
     }},
    {"MPI_Iallreduce",
     [](auto in, auto out, auto count, auto, auto request) {
       return MPI_Iallreduce(in, out, count, MPI_BYTE, MPI_BXOR, Session::get().comm(), request);
     }},
    {"MPI_Ireduce_scatter_block",
     [](auto in, auto out, auto count, auto, auto request) {
       return MPI_Ireduce_scatter_block(in, out, count, MPI_BYTE, MPI_BXOR, Session::get().comm(), request);
     }},
}};

TEST(FailureCases, T15_KindsMixedPerRankWithManyUnderWay) {
  constexpr int kUnderWay = 16;
  for (const std::size_t size_bytes : {std::size_t{60}, std::size_t{5'000}, std::size_t{90'000}}) {
    compare_with_host(between_devices(), [&](Trial &run) {
      const int count = static_cast<int>(size_bytes);
      std::vector<MPI_Request> requests(kUnderWay, MPI_REQUEST_NULL);
      for (int i = 0; i < kUnderWay; ++i) {
        const Memory &in = run.buffer(kind_here(i), size_bytes * n_ranks());
        const Memory &out = run.buffer(kind_here(i / 4), size_bytes * n_ranks());
        run.refill(in, i);
        const Exchange &exchange = kExchanges[as_size(i) % kExchanges.size()];
        run.call(exchange.name,
                 exchange.start(in.data(), out.data(), count, i % Session::get().size(), &requests[as_size(i)]));
      }
      for (int i = 0; i < kUnderWay; ++i) {
        const int which = i % 2 == 0 ? i / 2 : kUnderWay - 1 - i / 2;
        run.call("MPI_Wait", MPI_Wait(&requests[as_size(which)], MPI_STATUS_IGNORE));
      }
    });
  }
}

// Calls that are staged go over one communicator, in the order in which they were made: also where one of them came by
// the board and the other did not. Reductions have met there, movements have not; and the last rank, which has one
// buffer on the host, makes its second call only when the first is complete.
TEST(FailureCases, T15_StagedInTheOrderOfTheCalls) {
  constexpr int kBytes = 100'000;
  const bool is_last = Session::get().rank() + 1 == Session::get().size();
  compare_with_host(between_devices(), [&](Trial &run) {
    const auto start = [&](const Exchange &exchange, Kind kind, int iteration, MPI_Request *request) {
      const Memory &in = run.buffer(kind, kBytes);
      const Memory &out = run.buffer(kind, kBytes * n_ranks());
      run.refill(in, iteration);
      run.call(exchange.name, exchange.start(in.data(), out.data(), kBytes, 0, request));
    };
    const Exchange &gather = kExchanges[0];
    const Exchange &reduction = kExchanges[4];
    const Kind device = Session::get().has_kind(Kind::device) ? Kind::device : Kind::host;
    MPI_Request requests[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
    for (int i = 0; i < 2; ++i) {  // the ranks ask each other at the first two calls of a kind
      start(gather, Kind::host, i, &requests[0]);
      start(reduction, device, i, &requests[1]);
      run.call("MPI_Waitall", MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
    }
    start(reduction, is_last ? Kind::host : device, 2, &requests[0]);
    if (is_last) run.call("MPI_Wait", MPI_Wait(&requests[0], MPI_STATUS_IGNORE));
    start(gather, Kind::host, 3, &requests[1]);
    run.call("MPI_Waitall", MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
  });
}

}  // namespace
}  // namespace sluice::tests::failure_cases_kinds_test
