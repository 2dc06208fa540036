// SPDX-License-Identifier: BSD-3-Clause
// The failure cases of docs/testing.md that queues can meet.
#include <sched.h>

#include <array>
#include <string>

#include "tests/ranks/queue/functions.hpp"

namespace sluice::tests::failure_cases_test {

// ---- T11: what the stream has waited for is there: for what it runs next, and for the host that hears of it ----

TEST(FailureCases, T11_WhatFollowsAWaitSeesTheData) {
  SKIP_WITHOUT_QUEUES();
  const Session &session = Session::get();
  constexpr std::array<int, 3> kSizes = {7, 4096, 30011};
  constexpr int kTag = 111;
  const int n_iterations = session.options().is_full ? 1000 : 60;
  const Memory in(session.module(), Kind::device, kSizes.back());
  const Memory out(session.module(), Kind::device, kSizes.back());
  const Memory seen(session.module(), Kind::device, kSizes.back());
  ProgramStream stream;
  TestQueue queue(stream);
  std::string first_error;
  for (int iteration = 0; iteration < n_iterations; ++iteration) {
    const int size_bytes = kSizes.at(static_cast<std::size_t>(iteration) % kSizes.size());
    // What came last stays in `in`: a read that comes too early finds it.
    out.fill_pattern(session.rank(), iteration);
    queue.recv(in.data(), size_bytes, kTag, session.partner());
    queue.send(out.data(), size_bytes, kTag, session.partner());
    queue.start();
    queue.wait();
    const bool is_read_by_stream = iteration / 3 % 2 == 0;
    if (is_read_by_stream) stream.copy(seen.data(), in.data(), static_cast<std::size_t>(size_bytes));
    stream.mark();
    while (!stream.has_come()) sched_yield();
    const Bytes bytes = (is_read_by_stream ? seen : in).read(0, static_cast<std::size_t>(size_bytes));
    const std::string error = find_pattern_error(bytes, session.partner(), iteration);
    // The partner goes on, and so does this rank.
    if (!error.empty() && first_error.empty()) first_error = "iteration " + std::to_string(iteration) + ": " + error;
    queue.complete();
  }
  EXPECT_EQ(first_error, "");
}

}  // namespace sluice::tests::failure_cases_test
