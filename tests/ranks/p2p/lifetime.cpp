// SPDX-License-Identifier: BSD-3-Clause
// When memory comes and goes: before MPI_Init, freed and allocated again, on several devices.
#include <gtest/gtest.h>

#include <set>

#include "tests/support/oracle.hpp"

namespace sluice::tests::lifetime_test {
namespace {

constexpr int kTag = 91;

void exchange(Trial &run, const Memory &in, const Memory &out, std::size_t size_bytes, int tag = kTag) {
  const Session &session = Session::get();
  const int count = static_cast<int>(size_bytes);
  MPI_Status status;
  run.call("MPI_Sendrecv", MPI_Sendrecv(in.data(), count, MPI_BYTE, session.partner(), tag, out.data(), count, MPI_BYTE,
                                        session.partner(), tag, session.comm(), &status));
  run.note_status("MPI_Sendrecv", status, MPI_BYTE);
  run.expect_pattern(out, session.partner(), 0, size_bytes);
}

TEST(Memory, IsKnown_WhenAllocatedBeforeMpiInit) {
  const Session &session = Session::get();
  if (session.early_memory() == nullptr) {
    GTEST_SKIP() << "no device memory was allocated before MPI_Init";
  }
  const Memory &early = *session.early_memory();
  compare_each_case(Breadth::narrow, {64, 70'000}, [&](Trial &run, const Case &c) {
    run.refill(early, 0);
    exchange(run, early, run.output(c.size_bytes), c.size_bytes);
    // And as a destination.
    early.fill(kPoison);
    exchange(run, run.input(c.size_bytes), early, c.size_bytes);
  });
}

// The same address holds memory of other sizes and kinds as time goes on. Nothing is known about an address but what
// is true at this moment.
TEST(Memory, IsKnown_WhenAddressesAreUsedAgain) {
  const Session &session = Session::get();
  std::set<void *> seen;
  std::size_t n_reused = 0;
  Trial run({Kind::host, Kind::host, 0}, 500'000);
  const int n_rounds = session.options().is_full ? 300 : 60;
  for (int round = 0; round < n_rounds; ++round) {
    const std::size_t size_bytes = 64 + static_cast<std::size_t>(round % 7) * 11'000;
    const auto &kinds = session.kinds();
    const Memory in(session.module(), kinds[static_cast<std::size_t>(round) % kinds.size()], size_bytes);
    const Memory out(session.module(), kinds[static_cast<std::size_t>(round / 2) % kinds.size()], size_bytes,
                     round % 3 == 0);
    n_reused += seen.insert(in.data()).second ? 0 : 1;
    run.refill(in, 0);
    exchange(run, in, out, size_bytes);
    if (session.agree_any(HasFailure())) {
      return;
    }
  }
  RecordProperty("reused_addresses", static_cast<int>(n_reused));
}

TEST(Memory, MayBeFreed_BetweenTwoMessagesInFlight) {
  compare_each_case(Breadth::narrow, {100, 70'000}, [](Trial &run, const Case &c) {
    const Session &session = Session::get();
    const int count = static_cast<int>(c.size_bytes);
    const Memory &out = run.output(c.size_bytes);
    MPI_Request request = MPI_REQUEST_NULL;
    run.call("MPI_Irecv", MPI_Irecv(out.data(), count, MPI_BYTE, session.partner(), kTag, session.comm(), &request));
    {
      const Memory other(session.module(), run.recv_kind(), c.size_bytes);
      exchange(run, run.input(c.size_bytes), other, c.size_bytes, kTag + 1);
    }
    MPI_Request send = MPI_REQUEST_NULL;
    run.call("MPI_Isend", MPI_Isend(run.input(c.size_bytes).data(), count, MPI_BYTE, session.partner(), kTag,
                                    session.comm(), &send));
    run.call("MPI_Wait", MPI_Wait(&request, MPI_STATUS_IGNORE));
    run.call("MPI_Wait", MPI_Wait(&send, MPI_STATUS_IGNORE));
    run.expect_pattern(out, session.partner(), 0, c.size_bytes);
  });
}

TEST(Devices, AreToldApart_WhenAnotherOneIsCurrent) {
  const Session &session = Session::get();
  if (session.module() == nullptr || session.module()->device_count() < 2) {
    GTEST_SKIP() << "fewer than two devices";
  }
  const BackendModule &module = *session.module();
  for (const std::size_t size_bytes : {std::size_t{64}, std::size_t{70'000}, std::size_t{1} << 20U}) {
    Trial run({Kind::device, Kind::device, size_bytes}, 700'000);
    module.set_device(1);
    const Memory in(&module, Kind::device, size_bytes);
    run.refill(in, 0);
    module.set_device(0);
    const Memory out(&module, Kind::device, size_bytes);
    // Device 0 is current while memory of device 1 is sent, and the other way round.
    exchange(run, in, out, size_bytes);
    module.set_device(1);
    out.fill(kPoison);
    exchange(run, in, out, size_bytes);
    run.refill(out, 0);
    in.fill(kPoison);
    exchange(run, out, in, size_bytes);
    module.set_device(0);
    // The current device is still the program's choice: memory of now is usable at once.
    const Memory after(&module, Kind::device, size_bytes);
    exchange(run, out, after, 0);
  }
}

}  // namespace
}  // namespace sluice::tests::lifetime_test
