// SPDX-License-Identifier: BSD-3-Clause
// Messages longer than the receive: MPI_ERR_TRUNCATE at the receiver, success at the sender, nothing written beyond.
#include <gtest/gtest.h>

#include "tests/support/host_mpi.hpp"
#include "tests/support/oracle.hpp"

namespace sluice::tests::truncation_test {
namespace {

constexpr int kTag = 71;
constexpr std::size_t kMissing = 24;

int class_of(int code) {
  int error_class = MPI_SUCCESS;
  MPI_Error_class(code, &error_class);
  return error_class;
}

// What lands before the end of a truncated buffer is undefined; only what lies behind it is compared.
void expect_guard_untouched(const Memory &memory) {
  const Bytes all = memory.read_with_guards();
  for (std::size_t i = all.size() - kGuardBytes; i < all.size(); ++i) {
    ASSERT_EQ(all[i], kPoison) << "byte " << i << " behind the buffer was written";
  }
  memory.fill(kPoison);
}

void send_too_much(Trial &run, std::size_t size_bytes, std::size_t missing_bytes = kMissing) {
  const Session &session = Session::get();
  const std::size_t sent_bytes = size_bytes + missing_bytes;
  const Memory &in = run.input(sent_bytes);
  run.call("MPI_Send",
           MPI_Send(in.data(), static_cast<int>(sent_bytes), MPI_BYTE, session.partner(), kTag, session.comm()));
}

// A message after the failed one shows that the communicator still works.
void exchange_one_more(Trial &run, std::size_t size_bytes) {
  const Session &session = Session::get();
  const int count = static_cast<int>(size_bytes);
  const Memory &in = run.input(size_bytes, 3);
  const Memory &out = run.output(size_bytes);
  run.call("MPI_Sendrecv", MPI_Sendrecv(in.data(), count, MPI_BYTE, session.partner(), kTag + 1, out.data(), count,
                                        MPI_BYTE, session.partner(), kTag + 1, session.comm(), MPI_STATUS_IGNORE));
  run.expect_pattern(out, session.partner(), 3, size_bytes);
}

class Truncation : public testing::Test {
 protected:
  void SetUp() override {
    if (aborts_on_truncation()) {
      GTEST_SKIP() << "this host MPI ends the job at a truncated receive";
    }
  }
};

TEST_F(Truncation, RecvReturnsTruncate_WhenTheMessageIsLonger) {
  compare_each_case(Breadth::narrow, {0, 8, 4000, 70'000, 300'000}, [](Trial &run, const Case &c) {
    const Session &session = Session::get();
    in_turn([&] { send_too_much(run, c.size_bytes); },
            [&] {
              const Memory &out = run.output(c.size_bytes);
              const int code = MPI_Recv(out.data(), static_cast<int>(c.size_bytes), MPI_BYTE, session.partner(), kTag,
                                        session.comm(), MPI_STATUS_IGNORE);
              EXPECT_EQ(class_of(code), MPI_ERR_TRUNCATE);
              expect_guard_untouched(out);
            });
    exchange_one_more(run, c.size_bytes);
  });
}

// The receive has failed before the send is complete: the partner sends first, and receives afterwards.
TEST_F(Truncation, SendrecvReturnsTruncate_WhenItsSendEndsLater) {
  compare_each_case(Breadth::narrow, {8, 4000, 70'000}, [](Trial &run, const Case &c) {
    const Session &session = Session::get();
    const int count = static_cast<int>(c.size_bytes);
    const Memory &out = run.output(c.size_bytes);
    if (session.begins()) {
      const Memory &in = run.input(c.size_bytes);
      const int code = MPI_Sendrecv(in.data(), count, MPI_BYTE, session.partner(), kTag, out.data(), count, MPI_BYTE,
                                    session.partner(), kTag, session.comm(), MPI_STATUS_IGNORE);
      EXPECT_EQ(class_of(code), MPI_ERR_TRUNCATE);
      expect_guard_untouched(out);
    } else {
      send_too_much(run, c.size_bytes);
      run.call("MPI_Recv",
               MPI_Recv(out.data(), count, MPI_BYTE, session.partner(), kTag, session.comm(), MPI_STATUS_IGNORE));
      run.expect_pattern(out, session.partner(), 0, c.size_bytes);
    }
  });
}

TEST_F(Truncation, WaitallReturnsTruncateInTheStatus_OfTheReceiveThatWasTooShort) {
  if (hangs_in_truncated_waitall()) {
    GTEST_SKIP() << "this Open MPI hangs in it when it was started with MPI_THREAD_MULTIPLE, without Sluice too";
  }
  compare_each_case(Breadth::narrow, {8, 4000, 70'000}, [](Trial &run, const Case &c) {
    const Session &session = Session::get();
    const int count = static_cast<int>(c.size_bytes);
    const Memory &good = run.output(c.size_bytes);
    const Memory &small = run.output(c.size_bytes);
    MPI_Request requests[3] = {};
    run.call("MPI_Irecv",
             MPI_Irecv(good.data(), count, MPI_BYTE, session.partner(), kTag, session.comm(), &requests[0]));
    run.call("MPI_Irecv",
             MPI_Irecv(small.data(), count, MPI_BYTE, session.partner(), kTag, session.comm(), &requests[1]));
    MPI_Barrier(session.comm());
    run.call("MPI_Isend", MPI_Isend(run.input(c.size_bytes, 1).data(), count, MPI_BYTE, session.partner(), kTag,
                                    session.comm(), &requests[2]));
    send_too_much(run, c.size_bytes);
    MPI_Status statuses[3] = {};
    EXPECT_EQ(class_of(MPI_Waitall(3, requests, statuses)), MPI_ERR_IN_STATUS);
    run.note("class of the good receive", class_of(statuses[0].MPI_ERROR));
    run.note("class of the short receive", class_of(statuses[1].MPI_ERROR));
    // MPI lets Waitall leave what neither failed nor completed.
    const bool is_pending = class_of(statuses[2].MPI_ERROR) == MPI_ERR_PENDING;
    run.call("the send", is_pending ? MPI_Wait(&requests[2], MPI_STATUS_IGNORE) : statuses[2].MPI_ERROR);
    EXPECT_EQ(class_of(statuses[1].MPI_ERROR), MPI_ERR_TRUNCATE);
    run.expect_pattern(good, session.partner(), 1, c.size_bytes);
    expect_guard_untouched(small);
    exchange_one_more(run, c.size_bytes);
  });
}

TEST_F(Truncation, WaitReturnsTruncate_WhenTheMessageIsLonger) {
  compare_each_case(Breadth::narrow, {8, 4000, 70'000}, [](Trial &run, const Case &c) {
    const Session &session = Session::get();
    const Memory &out = run.output(c.size_bytes);
    MPI_Request request = MPI_REQUEST_NULL;
    run.call("MPI_Irecv", MPI_Irecv(out.data(), static_cast<int>(c.size_bytes), MPI_BYTE, session.partner(), kTag,
                                    session.comm(), &request));
    MPI_Barrier(session.comm());
    send_too_much(run, c.size_bytes);
    EXPECT_EQ(class_of(MPI_Wait(&request, MPI_STATUS_IGNORE)), MPI_ERR_TRUNCATE);
    expect_guard_untouched(out);
    exchange_one_more(run, c.size_bytes);
  });
}

// Far more than a receive that has not even room for a descriptor: the sender is told all the same.
constexpr std::size_t kMuchMore[] = {300, 70'000};

// A way of MPI to receive `count` bytes into `out`. Returns the error code of what completes it.
struct Receive {
  const char *name;
  int (*function)(void *out, int count);
};

int receive_blocking(void *out, int count) {
  const Session &session = Session::get();
  return MPI_Recv(out, count, MPI_BYTE, session.partner(), kTag, session.comm(), MPI_STATUS_IGNORE);
}

int receive_nonblocking(void *out, int count) {
  const Session &session = Session::get();
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Irecv(out, count, MPI_BYTE, session.partner(), kTag, session.comm(), &request);
  return MPI_Wait(&request, MPI_STATUS_IGNORE);
}

int receive_persistent(void *out, int count) {
  const Session &session = Session::get();
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Recv_init(out, count, MPI_BYTE, session.partner(), kTag, session.comm(), &request);
  MPI_Start(&request);
  const int code = MPI_Wait(&request, MPI_STATUS_IGNORE);
  if (request != MPI_REQUEST_NULL) MPI_Request_free(&request);
  return code;
}

int receive_probed(void *out, int count) {
  const Session &session = Session::get();
  MPI_Probe(session.partner(), kTag, session.comm(), MPI_STATUS_IGNORE);
  return receive_blocking(out, count);
}

int receive_matched(void *out, int count) {
  const Session &session = Session::get();
  MPI_Message message = MPI_MESSAGE_NULL;
  MPI_Mprobe(session.partner(), kTag, session.comm(), &message, MPI_STATUS_IGNORE);
  return MPI_Mrecv(out, count, MPI_BYTE, &message, MPI_STATUS_IGNORE);
}

int receive_in_sendrecv(void *out, int count) {
  const Session &session = Session::get();
  return MPI_Sendrecv(nullptr, 0, MPI_BYTE, MPI_PROC_NULL, 0, out, count, MPI_BYTE, session.partner(), kTag,
                      session.comm(), MPI_STATUS_IGNORE);
}

int receive_replacing(void *out, int count) {
  const Session &session = Session::get();
  return MPI_Sendrecv_replace(out, count, MPI_BYTE, MPI_PROC_NULL, 0, session.partner(), kTag, session.comm(),
                              MPI_STATUS_IGNORE);
}

TEST_F(Truncation, SenderOfALongMessageIsReleased_WhenTheReceiveIsShort) {
  constexpr Receive kWays[] = {{"MPI_Recv", receive_blocking},
                               {"MPI_Irecv", receive_nonblocking},
                               {"MPI_Recv_init", receive_persistent},
                               {"MPI_Probe", receive_probed},
                               {"MPI_Mprobe", receive_matched},
                               {"MPI_Sendrecv", receive_in_sendrecv},
                               {"MPI_Sendrecv_replace", receive_replacing}};
  for (const Receive &receive : kWays) {
    SCOPED_TRACE(receive.name);
    for (const std::size_t missing_bytes : kMuchMore) {
      compare_each_case(Breadth::narrow, {0, 8, 255}, [&](Trial &run, const Case &c) {
        in_turn([&] { send_too_much(run, c.size_bytes, missing_bytes); },
                [&] {
                  const Memory &out = run.output(c.size_bytes);
                  EXPECT_EQ(class_of(receive.function(out.data(), static_cast<int>(c.size_bytes))), MPI_ERR_TRUNCATE);
                  expect_guard_untouched(out);
                });
        exchange_one_more(run, c.size_bytes);
      });
    }
  }
}

// The receiver has freed the short receive and goes on with other messages: those serve the sender.
TEST_F(Truncation, SenderOfALongMessageIsReleased_WhenTheShortReceiveWasFreed) {
  compare_each_case(Breadth::narrow, {0, 8, 255}, [](Trial &run, const Case &c) {
    const Session &session = Session::get();
    const Memory &out = run.output(c.size_bytes);
    in_turn([&] { send_too_much(run, c.size_bytes, 4096); },
            [&] {
              MPI_Request request = MPI_REQUEST_NULL;
              run.call("MPI_Irecv", MPI_Irecv(out.data(), static_cast<int>(c.size_bytes), MPI_BYTE, session.partner(),
                                              kTag, session.comm(), &request));
              run.call("MPI_Request_free", MPI_Request_free(&request));
            });
    exchange_one_more(run, c.size_bytes);
    MPI_Barrier(session.comm());
    expect_guard_untouched(out);
  });
}

}  // namespace
}  // namespace sluice::tests::truncation_test
