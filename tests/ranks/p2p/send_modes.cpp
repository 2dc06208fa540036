// SPDX-License-Identifier: BSD-3-Clause
// Blocking sends in every mode, and the blocking receive.
#include <gtest/gtest.h>

#include <vector>

#include "tests/support/oracle.hpp"

namespace sluice::tests::send_modes_test {
namespace {

constexpr int kTag = 11;

using SendFunction = int (*)(const void *, int, MPI_Datatype, int, int, MPI_Comm);

void receive(Trial &run, std::size_t size_bytes, int iteration) {
  const Session &session = Session::get();
  const Memory &memory = run.output(size_bytes);
  MPI_Status status;
  run.call("MPI_Recv", MPI_Recv(memory.data(), static_cast<int>(size_bytes), MPI_BYTE, session.partner(), kTag,
                                session.comm(), &status));
  run.note_status("MPI_Recv", status, MPI_BYTE);
  run.expect_pattern(memory, session.partner(), iteration, size_bytes);
}

void send_and_receive(Trial &run, const char *name, SendFunction function, std::size_t size_bytes) {
  const Session &session = Session::get();
  in_turn(
      [&] {
        const Memory &memory = run.input(size_bytes);
        run.call(name, function(memory.data(), static_cast<int>(size_bytes), MPI_BYTE, session.partner(), kTag,
                                session.comm()));
        // The buffer is the program's again: what it does now must not reach the receiver.
        memory.fill(0x11);
      },
      [&] { receive(run, size_bytes, 0); });
}

TEST(Send, DeliversBytes_ForEveryKindAndSize) {
  for_each_case(Breadth::wide, [](const Case &c) {
    compare_with_host(c, [&](Trial &run) { send_and_receive(run, "MPI_Send", MPI_Send, c.size_bytes); });
  });
}

TEST(Ssend, DeliversBytes_ForEveryKindAndSize) {
  for_each_case(Breadth::narrow, [](const Case &c) {
    compare_with_host(c, [&](Trial &run) { send_and_receive(run, "MPI_Ssend", MPI_Ssend, c.size_bytes); });
  });
}

TEST(Bsend, DeliversBytes_AndLeavesTheBufferToTheProgram) {
  std::vector<char> attached((std::size_t{9} << 20U) + 4 * MPI_BSEND_OVERHEAD);
  ASSERT_EQ(MPI_Buffer_attach(attached.data(), static_cast<int>(attached.size())), MPI_SUCCESS);
  for_each_case(Breadth::narrow, [](const Case &c) {
    compare_with_host(c, [&](Trial &run) {
      // Both begin: a buffered send waits for nobody.
      const Session &session = Session::get();
      const Memory &memory = run.input(c.size_bytes);
      run.call("MPI_Bsend", MPI_Bsend(memory.data(), static_cast<int>(c.size_bytes), MPI_BYTE, session.partner(), kTag,
                                      session.comm()));
      memory.fill(0x22);
      receive(run, c.size_bytes, 0);
    });
  });
  void *detached = nullptr;
  int detached_bytes = 0;
  EXPECT_EQ(MPI_Buffer_detach(static_cast<void *>(&detached), &detached_bytes), MPI_SUCCESS);
  EXPECT_EQ(detached, attached.data());
  EXPECT_EQ(detached_bytes, static_cast<int>(attached.size()));
}

TEST(Rsend, DeliversBytes_WhenTheReceiveIsPosted) {
  for_each_case(Breadth::narrow, [](const Case &c) {
    compare_with_host(c, [&](Trial &run) {
      const Session &session = Session::get();
      const int count = static_cast<int>(c.size_bytes);
      const Memory &in = run.input(c.size_bytes);
      const Memory &out = run.output(c.size_bytes);
      MPI_Request request = MPI_REQUEST_NULL;
      run.call("MPI_Irecv", MPI_Irecv(out.data(), count, MPI_BYTE, session.partner(), kTag, session.comm(), &request));
      MPI_Barrier(session.comm());
      run.call("MPI_Rsend", MPI_Rsend(in.data(), count, MPI_BYTE, session.partner(), kTag, session.comm()));
      MPI_Status status;
      run.call("MPI_Wait", MPI_Wait(&request, &status));
      run.note_status("MPI_Wait", status, MPI_BYTE);
      run.expect_pattern(out, session.partner(), 0, c.size_bytes);
    });
  });
}

TEST(Send, KeepsOrder_WhenDeviceAndHostSendsAlternate) {
  for_each_case(Breadth::narrow, {16, 5000, 70'000}, [](const Case &c) {
    compare_with_host(c, [&](Trial &run) {
      const Session &session = Session::get();
      const int count = static_cast<int>(c.size_bytes);
      constexpr int kMessages = 6;
      in_turn(
          [&] {
            for (int i = 0; i < kMessages; ++i) {
              const Memory &memory = run.buffer(i % 2 == 0 ? run.send_kind() : Kind::host, c.size_bytes);
              run.refill(memory, i);
              run.call("MPI_Send", MPI_Send(memory.data(), count, MPI_BYTE, session.partner(), kTag, session.comm()));
            }
          },
          [&] {
            for (int i = 0; i < kMessages; ++i) {
              const Memory &memory = run.buffer(i % 3 == 0 ? Kind::host : run.recv_kind(), c.size_bytes);
              run.call("MPI_Recv", MPI_Recv(memory.data(), count, MPI_BYTE, session.partner(), kTag, session.comm(),
                                            MPI_STATUS_IGNORE));
              run.expect_pattern(memory, session.partner(), i, c.size_bytes);
            }
          });
    });
  });
}

TEST(Recv, LeavesTheRestUntouched_WhenTheMessageIsShorter) {
  for_each_case(Breadth::narrow, {0, 100, 5001, 70'001}, [](const Case &c) {
    compare_with_host(c, [&](Trial &run) {
      const Session &session = Session::get();
      in_turn(
          [&] {
            const Memory &memory = run.input(c.size_bytes);
            run.call("MPI_Send", MPI_Send(memory.data(), static_cast<int>(c.size_bytes), MPI_BYTE, session.partner(),
                                          kTag, session.comm()));
          },
          [&] {
            const Memory &memory = run.output(c.size_bytes + 9000);
            MPI_Status status;
            run.call("MPI_Recv", MPI_Recv(memory.data(), static_cast<int>(memory.size_bytes()), MPI_BYTE,
                                          session.partner(), kTag, session.comm(), &status));
            run.note_status("MPI_Recv", status, MPI_BYTE);
            run.note_status("MPI_Recv as int", status, MPI_INT);
            run.expect_pattern(memory, session.partner(), 0, c.size_bytes);
          });
    });
  });
}

#if MPI_VERSION >= 4
using LargeSendFunction = int (*)(const void *, MPI_Count, MPI_Datatype, int, int, MPI_Comm);

void send_large_count(const char *name, LargeSendFunction function) {
  for_each_case(Breadth::narrow, [&](const Case &c) {
    compare_with_host(c, [&](Trial &run) {
      const Session &session = Session::get();
      const auto count = static_cast<MPI_Count>(c.size_bytes);
      in_turn(
          [&] {
            const Memory &memory = run.input(c.size_bytes);
            run.call(name, function(memory.data(), count, MPI_BYTE, session.partner(), kTag, session.comm()));
          },
          [&] {
            const Memory &memory = run.output(c.size_bytes);
            MPI_Status status;
            run.call("MPI_Recv_c",
                     MPI_Recv_c(memory.data(), count, MPI_BYTE, session.partner(), kTag, session.comm(), &status));
            run.note_status("MPI_Recv_c", status, MPI_BYTE);
            run.expect_pattern(memory, session.partner(), 0, c.size_bytes);
          });
    });
  });
}

TEST(Send, DeliversBytes_InTheLargeCountForm) {
  send_large_count("MPI_Send_c", MPI_Send_c);
}

TEST(Ssend, DeliversBytes_InTheLargeCountForm) {
  send_large_count("MPI_Ssend_c", MPI_Ssend_c);
}

TEST(Bsend, DeliversBytes_InTheLargeCountForm) {
  std::vector<char> attached((std::size_t{9} << 20U) + 4 * MPI_BSEND_OVERHEAD);
  ASSERT_EQ(MPI_Buffer_attach(attached.data(), static_cast<int>(attached.size())), MPI_SUCCESS);
  send_large_count("MPI_Bsend_c", MPI_Bsend_c);
  void *detached = nullptr;
  int detached_bytes = 0;
  EXPECT_EQ(MPI_Buffer_detach(static_cast<void *>(&detached), &detached_bytes), MPI_SUCCESS);
}
#endif

}  // namespace
}  // namespace sluice::tests::send_modes_test
