// SPDX-License-Identifier: BSD-3-Clause
// Persistent requests: every mode, restarted with new data, with Start and Startall.
#include <gtest/gtest.h>

#include <vector>

#include "tests/support/host_mpi.hpp"
#include "tests/support/oracle.hpp"

namespace sluice::tests::persistent_test {
namespace {

constexpr int kTag = 51;
constexpr int kRounds = 4;

using InitFunction = int (*)(const void *, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request *);

void start_wait_rounds(Trial &run, MPI_Request *requests, const Memory &in, const Memory &out, bool is_ready_mode) {
  const Session &session = Session::get();
  for (int round = 0; round < kRounds; ++round) {
    run.refill(in, round);
    run.call("MPI_Start", MPI_Start(&requests[0]));
    if (is_ready_mode) {
      MPI_Barrier(session.comm());
    }
    run.call("MPI_Start", MPI_Start(&requests[1]));
    MPI_Status statuses[2];
    run.call("MPI_Waitall", MPI_Waitall(2, requests, statuses));
    run.note_status("receive", statuses[0], MPI_BYTE);
    run.note("stays persistent", requests[0] != MPI_REQUEST_NULL && requests[1] != MPI_REQUEST_NULL ? 1 : 0);
    run.expect_pattern(out, session.partner(), round, in.size_bytes());
    out.fill(kPoison);
  }
}

void exchange_rounds(const char *name, InitFunction function, bool is_ready_mode = false) {
  compare_each_case(Breadth::narrow, [&](Trial &run, const Case &c) {
    const Session &session = Session::get();
    const int count = static_cast<int>(c.size_bytes);
    const Memory &in = run.input(c.size_bytes);
    const Memory &out = run.output(c.size_bytes);
    MPI_Request requests[2] = {};
    run.call("MPI_Recv_init",
             MPI_Recv_init(out.data(), count, MPI_BYTE, session.partner(), kTag, session.comm(), &requests[0]));
    run.call(name, function(in.data(), count, MPI_BYTE, session.partner(), kTag, session.comm(), &requests[1]));
    start_wait_rounds(run, requests, in, out, is_ready_mode);
    for (MPI_Request &request : requests) {
      run.call("MPI_Request_free", MPI_Request_free(&request));
      run.note("request is null", request == MPI_REQUEST_NULL ? 1 : 0);
    }
  });
}

TEST(SendInit, DeliversNewData_AtEveryStart) {
  exchange_rounds("MPI_Send_init", MPI_Send_init);
}

TEST(SsendInit, DeliversNewData_AtEveryStart) {
  exchange_rounds("MPI_Ssend_init", MPI_Ssend_init);
}

TEST(RsendInit, DeliversNewData_AtEveryStart) {
  exchange_rounds("MPI_Rsend_init", MPI_Rsend_init, true);
}

TEST(BsendInit, DeliversNewData_AtEveryStart) {
  if (loses_data_in_restarted_bsend()) {
    GTEST_SKIP() << "this host MPI loses data in restarted buffered sends";
  }
  std::vector<char> attached((std::size_t{20} << 20U));
  ASSERT_EQ(MPI_Buffer_attach(attached.data(), static_cast<int>(attached.size())), MPI_SUCCESS);
  exchange_rounds("MPI_Bsend_init", MPI_Bsend_init);
  void *detached = nullptr;
  int detached_bytes = 0;
  EXPECT_EQ(MPI_Buffer_detach(static_cast<void *>(&detached), &detached_bytes), MPI_SUCCESS);
}

TEST(Startall, StartsAll_WhenDeviceAndHostRequestsAreMixed) {
  compare_each_case(Breadth::narrow, {0, 300, 70'000}, [](Trial &run, const Case &c) {
    const Session &session = Session::get();
    const int count = static_cast<int>(c.size_bytes);
    constexpr std::size_t kMessages = 3;
    std::vector<MPI_Request> requests;
    std::vector<const Memory *> inputs;
    std::vector<const Memory *> outputs;
    for (std::size_t i = 0; i < kMessages; ++i) {
      // The middle message is a plain host one.
      outputs.push_back(&run.buffer(i == 1 ? Kind::host : run.recv_kind(), c.size_bytes));
      inputs.push_back(&run.buffer(i == 1 ? Kind::host : run.send_kind(), c.size_bytes));
      const int tag = static_cast<int>(i);
      run.call("MPI_Recv_init", MPI_Recv_init(outputs[i]->data(), count, MPI_BYTE, session.partner(), tag,
                                              session.comm(), &requests.emplace_back(MPI_REQUEST_NULL)));
      run.call("MPI_Send_init", MPI_Send_init(inputs[i]->data(), count, MPI_BYTE, session.partner(), tag,
                                              session.comm(), &requests.emplace_back(MPI_REQUEST_NULL)));
    }
    const int n_requests = static_cast<int>(requests.size());
    for (int round = 0; round < kRounds; ++round) {
      for (std::size_t i = 0; i < kMessages; ++i) {
        run.refill(*inputs[i], round * 10 + static_cast<int>(i));
      }
      run.call("MPI_Startall", MPI_Startall(n_requests, requests.data()));
      run.call("MPI_Waitall", MPI_Waitall(n_requests, requests.data(), MPI_STATUSES_IGNORE));
      for (std::size_t i = 0; i < kMessages; ++i) {
        run.expect_pattern(*outputs[i], session.partner(), round * 10 + static_cast<int>(i), c.size_bytes);
      }
    }
    for (MPI_Request &request : requests) {
      run.call("MPI_Request_free", MPI_Request_free(&request));
    }
  });
}

TEST(RecvInit, CompletesAtOnce_WhenInactive) {
  compare_each_case(Breadth::narrow, {64}, [](Trial &run, const Case &c) {
    const Session &session = Session::get();
    const Memory &out = run.output(c.size_bytes);
    MPI_Request request = MPI_REQUEST_NULL;
    run.call("MPI_Recv_init",
             MPI_Recv_init(out.data(), 64, MPI_BYTE, session.partner(), kTag, session.comm(), &request));
    MPI_Status status;
    run.call("MPI_Wait", MPI_Wait(&request, &status));
    run.note_status("inactive MPI_Wait", status, MPI_BYTE);
    int is_done = 0;
    run.call("MPI_Test", MPI_Test(&request, &is_done, &status));
    run.note("MPI_Test of an inactive request", is_done);
    EXPECT_EQ(is_done, 1);
    EXPECT_NE(request, MPI_REQUEST_NULL);
    run.call("MPI_Request_free", MPI_Request_free(&request));
  });
}

TEST(SendInit, MeetsPlainCalls_OnTheOtherSide) {
  compare_each_case(Breadth::narrow, [](Trial &run, const Case &c) {
    const Session &session = Session::get();
    const int count = static_cast<int>(c.size_bytes);
    in_turn(
        [&] {
          const Memory &in = run.input(c.size_bytes);
          MPI_Request request = MPI_REQUEST_NULL;
          run.call("MPI_Send_init",
                   MPI_Send_init(in.data(), count, MPI_BYTE, session.partner(), kTag, session.comm(), &request));
          run.call("MPI_Start", MPI_Start(&request));
          run.call("MPI_Wait", MPI_Wait(&request, MPI_STATUS_IGNORE));
          run.call("MPI_Request_free", MPI_Request_free(&request));
        },
        [&] {
          const Memory &out = run.output(c.size_bytes);
          run.call("MPI_Recv",
                   MPI_Recv(out.data(), count, MPI_BYTE, session.partner(), kTag, session.comm(), MPI_STATUS_IGNORE));
          run.expect_pattern(out, session.partner(), 0, c.size_bytes);
        });
  });
}

#if MPI_VERSION >= 4
TEST(SendInit, DeliversNewData_InTheLargeCountForm) {
  compare_each_case(Breadth::narrow, [](Trial &run, const Case &c) {
    const Session &session = Session::get();
    const auto count = static_cast<MPI_Count>(c.size_bytes);
    const Memory &in = run.input(c.size_bytes);
    const Memory &out = run.output(c.size_bytes);
    MPI_Request requests[2] = {};
    run.call("MPI_Recv_init_c",
             MPI_Recv_init_c(out.data(), count, MPI_BYTE, session.partner(), kTag, session.comm(), &requests[0]));
    run.call("MPI_Send_init_c",
             MPI_Send_init_c(in.data(), count, MPI_BYTE, session.partner(), kTag, session.comm(), &requests[1]));
    start_wait_rounds(run, requests, in, out, false);
    run.call("MPI_Request_free", MPI_Request_free(&requests[0]));
    run.call("MPI_Request_free", MPI_Request_free(&requests[1]));
  });
}
#endif

}  // namespace
}  // namespace sluice::tests::persistent_test
