// SPDX-License-Identifier: BSD-3-Clause
// Many messages of mixed sizes and kinds at the same time.
#include <gtest/gtest.h>

#include <array>
#include <vector>

#include "tests/support/completers.hpp"
#include "tests/support/oracle.hpp"

namespace sluice::tests::outstanding_test {
namespace {

constexpr std::array<std::size_t, 8> kSizes = {1, 70'000, 13, 4096, 0, 65'536, 999, 20'000};

std::size_t size_of(std::size_t message) {
  return kSizes[message % kSizes.size()] + message;
}

void exchange_many(Trial &run, std::size_t n_messages, const Completer &completer) {
  const Session &session = Session::get();
  std::vector<MPI_Request> requests;
  std::vector<const Memory *> outputs;
  for (std::size_t i = 0; i < n_messages; ++i) {
    outputs.push_back(&run.buffer(i % 5 == 4 ? Kind::host : run.recv_kind(), size_of(i)));
    run.call("MPI_Irecv", MPI_Irecv(outputs.back()->data(), static_cast<int>(size_of(i)), MPI_BYTE, session.partner(),
                                    static_cast<int>(i % 7), session.comm(), &requests.emplace_back(MPI_REQUEST_NULL)));
  }
  for (std::size_t i = 0; i < n_messages; ++i) {
    const Memory &in = run.buffer(i % 3 == 2 ? Kind::host : run.send_kind(), size_of(i));
    run.refill(in, static_cast<int>(i));
    run.call("MPI_Isend", MPI_Isend(in.data(), static_cast<int>(size_of(i)), MPI_BYTE, session.partner(),
                                    static_cast<int>(i % 7), session.comm(), &requests.emplace_back(MPI_REQUEST_NULL)));
  }
  std::vector<MPI_Status> statuses(requests.size());
  completer.complete(run, requests, &statuses);
  for (std::size_t i = 0; i < n_messages; ++i) {
    run.note_status("receive", statuses[i], MPI_BYTE);
    run.expect_pattern(*outputs[i], session.partner(), static_cast<int>(i), size_of(i));
  }
}

TEST(Outstanding, DeliversAll_WhenHundredsAreInFlight) {
  const std::vector<std::size_t> counts = {Session::get().options().is_full ? std::size_t{256} : std::size_t{64}};
  compare_each_case(Breadth::narrow, counts, [](Trial &run, const Case &c) {
    // size_bytes is the number of messages here.
    exchange_many(run, c.size_bytes, completers()[3]);
  });
}

TEST(Outstanding, DeliversAll_WhateverCompletesThem) {
  for (const Completer &completer : completers()) {
    SCOPED_TRACE(completer.name);
    compare_each_case(Breadth::narrow, {24},
                      [&](Trial &run, const Case &c) { exchange_many(run, c.size_bytes, completer); });
  }
}

}  // namespace
}  // namespace sluice::tests::outstanding_test
