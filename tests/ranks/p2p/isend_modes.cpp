// SPDX-License-Identifier: BSD-3-Clause
// Non-blocking sends in every mode, and the non-blocking receive.
#include <gtest/gtest.h>

#include <array>
#include <string>
#include <vector>

#include "tests/support/oracle.hpp"

namespace sluice::tests::isend_modes_test {
namespace {

constexpr int kTag = 12;

using IsendFunction = int (*)(const void *, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request *);

// Both partners post the receive, then send at the same time.
void exchange(Trial &run, const char *name, IsendFunction function, std::size_t size_bytes, bool is_ready_mode) {
  const Session &session = Session::get();
  const int count = static_cast<int>(size_bytes);
  const Memory &in = run.input(size_bytes);
  const Memory &out = run.output(size_bytes);
  std::array<MPI_Request, 2> requests{};
  run.call("MPI_Irecv",
           MPI_Irecv(out.data(), count, MPI_BYTE, session.partner(), kTag, session.comm(), requests.data()));
  if (is_ready_mode) {
    MPI_Barrier(session.comm());
  }
  run.call(name, function(in.data(), count, MPI_BYTE, session.partner(), kTag, session.comm(), &requests[1]));
  std::array<MPI_Status, 2> statuses{};
  run.call("MPI_Waitall", MPI_Waitall(2, requests.data(), statuses.data()));
  run.note_status("receive", statuses[0], MPI_BYTE);
  run.note("requests are null", requests[0] == MPI_REQUEST_NULL && requests[1] == MPI_REQUEST_NULL ? 1 : 0);
  run.expect_pattern(out, session.partner(), 0, size_bytes);
}

void exchange_each_case(Breadth breadth, const char *name, IsendFunction function, bool is_ready_mode = false) {
  for_each_case(breadth, [&](const Case &c) {
    compare_with_host(c, [&](Trial &run) { exchange(run, name, function, c.size_bytes, is_ready_mode); });
  });
}

TEST(Isend, DeliversBytes_ForEveryKindAndSize) {
  exchange_each_case(Breadth::wide, "MPI_Isend", MPI_Isend);
}

TEST(Issend, DeliversBytes_ForEveryKindAndSize) {
  exchange_each_case(Breadth::narrow, "MPI_Issend", MPI_Issend);
}

TEST(Irsend, DeliversBytes_WhenTheReceiveIsPosted) {
  exchange_each_case(Breadth::narrow, "MPI_Irsend", MPI_Irsend, true);
}

TEST(Ibsend, DeliversBytes_ForEveryKindAndSize) {
  std::vector<char> attached((std::size_t{9} << 20U) + 4 * MPI_BSEND_OVERHEAD);
  ASSERT_EQ(MPI_Buffer_attach(attached.data(), static_cast<int>(attached.size())), MPI_SUCCESS);
  exchange_each_case(Breadth::narrow, "MPI_Ibsend", MPI_Ibsend);
  void *detached = nullptr;
  int detached_bytes = 0;
  EXPECT_EQ(MPI_Buffer_detach(static_cast<void *>(&detached), &detached_bytes), MPI_SUCCESS);
}

TEST(Issend, StaysIncomplete_UntilTheReceiveIsPosted) {
  for_each_case(Breadth::narrow, {8, 70'000}, [](const Case &c) {
    compare_with_host(c, [&](Trial &run) {
      const Session &session = Session::get();
      const int count = static_cast<int>(c.size_bytes);
      const Memory &in = run.input(c.size_bytes);
      MPI_Request request = MPI_REQUEST_NULL;
      run.call("MPI_Issend", MPI_Issend(in.data(), count, MPI_BYTE, session.partner(), kTag, session.comm(), &request));
      // Neither has posted a receive yet, and the barrier proves that both have tested many times.
      int is_done = 0;
      for (int i = 0; i < 50 && is_done == 0; ++i) {
        run.call("MPI_Test", MPI_Test(&request, &is_done, MPI_STATUS_IGNORE));
      }
      run.note("done before a receive was posted", is_done);
      EXPECT_EQ(is_done, 0) << "a synchronous send completed without a receive";
      MPI_Barrier(session.comm());
      const Memory &out = run.output(c.size_bytes);
      run.call("MPI_Recv",
               MPI_Recv(out.data(), count, MPI_BYTE, session.partner(), kTag, session.comm(), MPI_STATUS_IGNORE));
      run.call("MPI_Wait", MPI_Wait(&request, MPI_STATUS_IGNORE));
      run.expect_pattern(out, session.partner(), 0, c.size_bytes);
    });
  });
}

TEST(Irecv, TakesMessagesInOrder_WhenTwoMatchTheSameSend) {
  for_each_case(Breadth::narrow, {33, 6000, 70'000}, [](const Case &c) {
    compare_with_host(c, [&](Trial &run) {
      const Session &session = Session::get();
      constexpr int kMessages = 5;
      const int count = static_cast<int>(c.size_bytes);
      std::vector<MPI_Request> requests;
      std::vector<const Memory *> outputs;
      for (int i = 0; i < kMessages; ++i) {
        outputs.push_back(&run.output(c.size_bytes));
        run.call("MPI_Irecv", MPI_Irecv(outputs.back()->data(), count, MPI_BYTE, session.partner(), kTag,
                                        session.comm(), &requests.emplace_back(MPI_REQUEST_NULL)));
      }
      for (int i = 0; i < kMessages; ++i) {
        const Memory &in = run.input(c.size_bytes, i);
        run.call("MPI_Isend", MPI_Isend(in.data(), count, MPI_BYTE, session.partner(), kTag, session.comm(),
                                        &requests.emplace_back(MPI_REQUEST_NULL)));
      }
      run.call("MPI_Waitall", MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE));
      for (int i = 0; i < kMessages; ++i) {
        run.expect_pattern(*outputs[static_cast<std::size_t>(i)], session.partner(), i, c.size_bytes);
      }
    });
  });
}

#if MPI_VERSION >= 4
using LargeIsendFunction = int (*)(const void *, MPI_Count, MPI_Datatype, int, int, MPI_Comm, MPI_Request *);

void exchange_large_count(const char *name, LargeIsendFunction function, bool is_ready_mode = false) {
  for_each_case(Breadth::narrow, [&](const Case &c) {
    compare_with_host(c, [&](Trial &run) {
      const Session &session = Session::get();
      const auto count = static_cast<MPI_Count>(c.size_bytes);
      const Memory &in = run.input(c.size_bytes);
      const Memory &out = run.output(c.size_bytes);
      std::array<MPI_Request, 2> requests{};
      run.call("MPI_Irecv_c",
               MPI_Irecv_c(out.data(), count, MPI_BYTE, session.partner(), kTag, session.comm(), requests.data()));
      if (is_ready_mode) {
        MPI_Barrier(session.comm());
      }
      run.call(name, function(in.data(), count, MPI_BYTE, session.partner(), kTag, session.comm(), &requests[1]));
      run.call("MPI_Waitall", MPI_Waitall(2, requests.data(), MPI_STATUSES_IGNORE));
      run.expect_pattern(out, session.partner(), 0, c.size_bytes);
    });
  });
}

TEST(Isend, DeliversBytes_InTheLargeCountForm) {
  exchange_large_count("MPI_Isend_c", MPI_Isend_c);
}

TEST(Issend, DeliversBytes_InTheLargeCountForm) {
  exchange_large_count("MPI_Issend_c", MPI_Issend_c);
}

TEST(Irsend, DeliversBytes_InTheLargeCountForm) {
  exchange_large_count("MPI_Irsend_c", MPI_Irsend_c, true);
}
#endif

}  // namespace
}  // namespace sluice::tests::isend_modes_test
