// SPDX-License-Identifier: BSD-3-Clause
// Who may send descriptors (docs/protocol.md, "Permission"): windows of receives into one buffer, and persistent sends
// that nobody has permitted yet.
#include <gtest/gtest.h>

#include <utility>
#include <vector>

#include "tests/support/oracle.hpp"

namespace sluice::tests::permissions_test {
namespace {

constexpr int kTag = 17;
constexpr std::size_t kBytes = 50'000;

// Persistent sends to host memory, which nobody permits to be described, in each way of completion.
TEST(PlainStarts, EndByEachWayOfCompletion) {
  using Complete = std::function<int(int, MPI_Request *, int *)>;
  const std::vector<std::pair<const char *, Complete>> ways = {
      {"MPI_Waitany", [](int n, MPI_Request *r, int *index) { return MPI_Waitany(n, r, index, MPI_STATUS_IGNORE); }},
      {"MPI_Testany",
       [](int n, MPI_Request *r, int *index) {
         int result = MPI_SUCCESS;
         for (int flag = 0; result == MPI_SUCCESS && flag == 0;) {
           result = MPI_Testany(n, r, index, &flag, MPI_STATUS_IGNORE);
         }
         return result;
       }},
      {"MPI_Waitsome",
       [](int n, MPI_Request *r, int *index) {
         int n_done = 0;
         return MPI_Waitsome(n, r, &n_done, index, MPI_STATUSES_IGNORE);
       }},
      {"MPI_Test", [](int /*n*/, MPI_Request *r, int *index) {
         int result = MPI_SUCCESS;
         for (int flag = 0; result == MPI_SUCCESS && flag == 0;) result = MPI_Test(r, &flag, MPI_STATUS_IGNORE);
         *index = 0;
         return result;
       }}};
  for (const auto &[label, finish] : ways) {
    SCOPED_TRACE(label);
    compare_with_host({device_or_host(), Kind::host, kBytes}, [&, name = label, complete = finish](Trial &run) {
      const Session &session = Session::get();
      const int count = static_cast<int>(kBytes);
      const Memory &in = run.input(kBytes);
      const Memory &out = run.output(kBytes);
      MPI_Request request = MPI_REQUEST_NULL;
      run.call("MPI_Ssend_init",
               MPI_Ssend_init(in.data(), count, MPI_BYTE, session.partner(), kTag, session.comm(), &request));
      for (int round = 0; round < 2; ++round) {
        run.refill(in, round);
        run.call("MPI_Start", MPI_Start(&request));
        run.call("MPI_Recv",
                 MPI_Recv(out.data(), count, MPI_BYTE, session.partner(), kTag, session.comm(), MPI_STATUS_IGNORE));
        run.expect_pattern(out, session.partner(), round, kBytes);
        int index = -1;
        run.call(name, complete(1, &request, &index));
        run.note("index", index);
      }
      run.call("MPI_Start", MPI_Start(&request));
      run.call("MPI_Request_free", MPI_Request_free(&request));
      run.call("MPI_Recv",
               MPI_Recv(out.data(), count, MPI_BYTE, session.partner(), kTag, session.comm(), MPI_STATUS_IGNORE));
    });
  }
}

// Programs that measure receive a whole window into one buffer. The sender has been permitted to describe its messages.
TEST(SharedBuffers, TakeAWindow_WhereMessagesMayBeDescribed) {
  constexpr int kWindow = 20;
  for (const bool is_persistent : {false, true}) {
    for (const std::size_t bytes : {std::size_t{8}, std::size_t{300}, kBytes, std::size_t{200'000}}) {
      SCOPED_TRACE(bytes);
      for (const Kind target : {Kind::host, Kind::pinned, device_or_host()}) {
        if (!Session::get().has_kind(target)) continue;
        compare_with_host({device_or_host(), target, bytes}, [&](Trial &run) {
          const Session &session = Session::get();
          const int count = static_cast<int>(bytes);
          const Kind known = run.send_kind();
          const Memory &warm = run.buffer(known, bytes);
          std::vector<MPI_Request> requests(kWindow, MPI_REQUEST_NULL);
          if (session.begins()) {
            for (int i = 0; i < 2; ++i) {  // into device memory: the receiver permits
              run.call("MPI_Send", MPI_Send(warm.data(), count, MPI_BYTE, session.partner(), kTag, session.comm()));
              run.call("MPI_Recv",
                       MPI_Recv(nullptr, 0, MPI_BYTE, session.partner(), kTag, session.comm(), MPI_STATUS_IGNORE));
            }
            const Memory &in = run.input(bytes);
            for (MPI_Request &request : requests) {
              run.call("MPI_Isend",
                       MPI_Isend(in.data(), count, MPI_BYTE, session.partner(), kTag, session.comm(), &request));
            }
            run.call("MPI_Waitall", MPI_Waitall(kWindow, requests.data(), MPI_STATUSES_IGNORE));
            return;
          }
          for (int i = 0; i < 2; ++i) {
            run.call("MPI_Recv", MPI_Recv(warm.data(), count, MPI_BYTE, session.partner(), kTag, session.comm(),
                                          MPI_STATUS_IGNORE));
            run.call("MPI_Send", MPI_Send(nullptr, 0, MPI_BYTE, session.partner(), kTag, session.comm()));
          }
          const Memory &out = run.output(bytes);
          for (MPI_Request &request : requests) {
            if (is_persistent) {
              run.call("MPI_Recv_init",
                       MPI_Recv_init(out.data(), count, MPI_BYTE, session.partner(), kTag, session.comm(), &request));
              run.call("MPI_Start", MPI_Start(&request));
            } else {
              run.call("MPI_Irecv",
                       MPI_Irecv(out.data(), count, MPI_BYTE, session.partner(), kTag, session.comm(), &request));
            }
          }
          std::vector<MPI_Status> statuses(kWindow);
          run.call("MPI_Waitall", MPI_Waitall(kWindow, requests.data(), statuses.data()));
          for (const MPI_Status &status : statuses) run.note_status("MPI_Waitall", status, MPI_BYTE);
          run.expect_pattern(out, session.partner(), 0, bytes);
          for (MPI_Request &request : requests) {
            if (request != MPI_REQUEST_NULL) run.call("MPI_Request_free", MPI_Request_free(&request));
          }
        });
      }
    }
  }
}

// A message into device memory, after which the receiver permits descriptors.
void exchange_into_device(Trial &run, const Memory &device) {
  const Session &session = Session::get();
  const int count = static_cast<int>(device.size_bytes());
  if (session.begins()) {
    run.call("MPI_Ssend", MPI_Ssend(device.data(), count, MPI_BYTE, session.partner(), kTag, session.comm()));
  } else {
    run.call("MPI_Recv",
             MPI_Recv(device.data(), count, MPI_BYTE, session.partner(), kTag, session.comm(), MPI_STATUS_IGNORE));
  }
}

// The same window, of persistent sends: at first nothing is permitted, and then something is.
TEST(SharedBuffers, TakeAWindowOfPersistentSends_BeforeAnythingIsPermitted) {
  constexpr int kWindow = 20;
  for (const bool is_permitted : {false, true}) {
    for (const std::size_t bytes : {std::size_t{8}, std::size_t{300}, kBytes, std::size_t{200'000}}) {
      SCOPED_TRACE(bytes);
      compare_with_host({device_or_host(), Kind::host, bytes}, [&](Trial &run) {
        const Session &session = Session::get();
        const int count = static_cast<int>(bytes);
        const Memory &in = run.input(bytes);
        const Memory &out = run.output(bytes);
        if (is_permitted) exchange_into_device(run, run.buffer(run.send_kind(), bytes));
        std::vector<MPI_Request> requests(kWindow, MPI_REQUEST_NULL);
        for (MPI_Request &request : requests) {
          if (!session.begins()) break;
          run.call("MPI_Send_init",
                   MPI_Send_init(in.data(), count, MPI_BYTE, session.partner(), kTag, session.comm(), &request));
        }
        for (int round = 0; round < 2; ++round) {
          run.refill(in, round);
          for (MPI_Request &request : requests) {
            if (session.begins()) break;
            run.call("MPI_Irecv",
                     MPI_Irecv(out.data(), count, MPI_BYTE, session.partner(), kTag, session.comm(), &request));
          }
          MPI_Barrier(session.comm());
          if (session.begins()) run.call("MPI_Startall", MPI_Startall(kWindow, requests.data()));
          std::vector<MPI_Status> statuses(kWindow);
          run.call("MPI_Waitall", MPI_Waitall(kWindow, requests.data(), statuses.data()));
          if (session.begins()) continue;
          for (const MPI_Status &status : statuses) run.note_status("MPI_Waitall", status, MPI_BYTE);
          run.expect_pattern(out, session.partner(), round, bytes);
        }
        for (MPI_Request &request : requests) {
          if (request != MPI_REQUEST_NULL) run.call("MPI_Request_free", MPI_Request_free(&request));
        }
      });
    }
  }
}

}  // namespace
}  // namespace sluice::tests::permissions_test
