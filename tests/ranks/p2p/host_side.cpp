// SPDX-License-Identifier: BSD-3-Clause
// Long messages inside a node of which one side lies in host memory: every mode, windows into one buffer, probes,
// receives from anybody, short ones, gaps, and sends that are cancelled. TEST_HOST_SIDE names the kind of host memory
// that is sent from, and TEST_HOST_ROUTE the route that its messages to device memory take; without them what is
// delivered is compared, and not the route.
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "tests/support/host_mpi.hpp"
#include "tests/support/oracle.hpp"
#include "tests/support/statistics.hpp"

namespace sluice::tests::host_side_test {
namespace {

constexpr int kTag = 39;
constexpr std::size_t kBytes = (std::size_t{3} << 20) + 11;  // longer than what any of these routes begins at
constexpr int kCount = static_cast<int>(kBytes);

// "" where nobody says it.
std::string told(const char *name) {
  const char *value = std::getenv(name);  // NOLINT(concurrency-mt-unsafe): nobody sets it
  return value == nullptr ? "" : value;
}

Kind source_kind() {
  return told("TEST_HOST_SIDE") == "pinned" && Session::get().has_kind(Kind::pinned) ? Kind::pinned : Kind::host;
}

class HostSide : public testing::Test {
 protected:
  void SetUp() override {
    if (route_.empty()) return;
    ASSERT_TRUE(count_statistics()) << "the route is counted";
    // The messages before are plain, until the receiver has given its permission, and after one that it could not take.
    const Memory in(session_.module(), source_kind(), kBytes);
    const Memory out(session_.module(), Kind::device, kBytes);
    bool goes_so = false;
    for (int round = 0; round < 200 && !goes_so; ++round) {
      const long long before = received();
      MPI_Request request = MPI_REQUEST_NULL;
      ASSERT_EQ(MPI_Irecv(out.data(), kCount, MPI_BYTE, session_.partner(), kTag, session_.comm(), &request),
                MPI_SUCCESS);
      ASSERT_EQ(MPI_Send(in.data(), kCount, MPI_BYTE, session_.partner(), kTag, session_.comm()), MPI_SUCCESS);
      ASSERT_EQ(MPI_Wait(&request, MPI_STATUS_IGNORE), MPI_SUCCESS);
      goes_so = !session_.agree_any(received() == before);
    }
    ASSERT_TRUE(goes_so) << "nothing goes by route " << route_;
    before_ = received();
  }

  // This rank has received so many messages so since the test began.
  void expect_received(long long n_messages) const {
    if (route_.empty()) return;
    EXPECT_EQ(received() - before_, n_messages);
  }

  const Session &session_ = Session::get();

 private:
  long long received() const {
    return calls_by("MPI_Irecv", route_) + calls_by("MPI_Recv", route_) + calls_by("MPI_Sendrecv", route_) / 2;
  }

  const std::string route_ = told("TEST_HOST_ROUTE");
  long long before_ = 0;
};

Case to(Kind kind) {
  return {source_kind(), kind, kBytes};
}

// Every kind that a message may be received into, host memory last: after that messages are plain for a while.
std::vector<Kind> targets() {
  std::vector<Kind> kinds;
  for (const Kind kind : {Kind::device, Kind::pinned, Kind::shared, Kind::host}) {
    if (Session::get().has_kind(kind)) kinds.push_back(kind);
  }
  return kinds;
}

TEST_F(HostSide, DeliversInEveryMode) {
  using Send = int (*)(const void *, int, MPI_Datatype, int, int, MPI_Comm);
  const std::vector<std::pair<const char *, Send>> modes = {{"MPI_Send", &MPI_Send}, {"MPI_Ssend", &MPI_Ssend}};
  for (const Kind target : targets()) {
    SCOPED_TRACE(kind_name(target));
    compare_with_host(to(target), [&](Trial &run) {
      for (const auto &[name, send] : modes) {
        const Memory &in = run.input(kBytes, 1);
        const Memory &out = run.output(kBytes);
        MPI_Status status;
        in_turn([&] { run.call(name, send(in.data(), kCount, MPI_BYTE, session_.partner(), kTag, session_.comm())); },
                [&] {
                  run.call("MPI_Recv",
                           MPI_Recv(out.data(), kCount, MPI_BYTE, session_.partner(), kTag, session_.comm(), &status));
                });
        run.note_status("MPI_Recv", status, MPI_BYTE);
        run.expect_pattern(out, session_.partner(), 1, kBytes);
      }
      MPI_Status status;
      const Memory &in = run.input(kBytes, 2);
      const Memory &out = run.output(kBytes);
      run.call("MPI_Sendrecv", MPI_Sendrecv(in.data(), kCount, MPI_BYTE, session_.partner(), kTag, out.data(), kCount,
                                            MPI_BYTE, session_.partner(), kTag, session_.comm(), &status));
      run.note_status("MPI_Sendrecv", status, MPI_BYTE);
      run.expect_pattern(out, session_.partner(), 2, kBytes);
    });
  }
}

// Each message has the same bytes: the buffer may hold those of any of them.
TEST_F(HostSide, DeliversAWindow_IntoOneBuffer) {
  constexpr int kWindow = 16;
  constexpr int kRounds = 3;
  for (const Kind target : targets()) {
    SCOPED_TRACE(kind_name(target));
    compare_with_host(to(target), [&](Trial &run) {
      const Memory &in = run.input(kBytes);
      const Memory &out = run.output(kBytes);
      for (int round = 0; round < kRounds; ++round) {
        run.refill(in, round);
        std::vector<MPI_Request> requests(2 * kWindow, MPI_REQUEST_NULL);
        for (int i = 0; i < kWindow; ++i) {
          run.call("MPI_Irecv", MPI_Irecv(out.data(), kCount, MPI_BYTE, session_.partner(), kTag, session_.comm(),
                                          &requests[static_cast<std::size_t>(i)]));
        }
        for (int i = kWindow; i < 2 * kWindow; ++i) {
          run.call("MPI_Isend", MPI_Isend(in.data(), kCount, MPI_BYTE, session_.partner(), kTag, session_.comm(),
                                          &requests[static_cast<std::size_t>(i)]));
        }
        run.call("MPI_Waitall", MPI_Waitall(2 * kWindow, requests.data(), MPI_STATUSES_IGNORE));
        run.expect_pattern(out, session_.partner(), round, kBytes);
      }
    });
    if (target == Kind::device) expect_received(static_cast<long long>(kWindow) * kRounds);
  }
}

TEST_F(HostSide, TellsProbesItsLength_AndIsReceivedFromAnybody) {
  for (const Kind target : targets()) {
    SCOPED_TRACE(kind_name(target));
    compare_with_host(to(target), [&](Trial &run) {
      const Memory &in = run.input(kBytes, 3);
      const Memory &out = run.output(kBytes);
      MPI_Request request = MPI_REQUEST_NULL;
      run.call("MPI_Isend",
               MPI_Isend(in.data(), kCount, MPI_BYTE, session_.partner(), kTag, session_.comm(), &request));
      MPI_Status status;
      run.call("MPI_Probe", MPI_Probe(MPI_ANY_SOURCE, MPI_ANY_TAG, session_.comm(), &status));
      run.note_envelope("MPI_Probe", status, MPI_BYTE);
      run.call("MPI_Recv",
               MPI_Recv(out.data(), kCount, MPI_BYTE, MPI_ANY_SOURCE, MPI_ANY_TAG, session_.comm(), &status));
      run.note_status("MPI_Recv", status, MPI_BYTE);
      run.call("MPI_Wait", MPI_Wait(&request, MPI_STATUS_IGNORE));
      run.expect_pattern(out, session_.partner(), 3, kBytes);
    });
  }
}

// All others send to rank 0 at once.
TEST_F(HostSide, ComesFromAllOthersAtOnce) {
  compare_with_host(to(device_or_host()), [&](Trial &run) {
    if (session_.rank() != 0) {
      const Memory &in = run.input(kBytes);
      run.call("MPI_Send", MPI_Send(in.data(), kCount, MPI_BYTE, 0, kTag, session_.comm()));
      return;
    }
    std::vector<const Memory *> outputs;
    std::vector<MPI_Request> requests(static_cast<std::size_t>(session_.size() - 1), MPI_REQUEST_NULL);
    for (std::size_t i = 0; i < requests.size(); ++i) {
      outputs.push_back(&run.output(kBytes));
      run.call("MPI_Irecv", MPI_Irecv(outputs[i]->data(), kCount, MPI_BYTE, static_cast<int>(i) + 1, kTag,
                                      session_.comm(), &requests[i]));
    }
    run.call("MPI_Waitall", MPI_Waitall(session_.size() - 1, requests.data(), MPI_STATUSES_IGNORE));
    for (std::size_t i = 0; i < requests.size(); ++i) {
      run.expect_pattern(*outputs[i], static_cast<int>(i) + 1, 0, kBytes);
    }
  });
}

TEST_F(HostSide, LeavesGapsAlone_AndSendsThem) {
  constexpr int kRuns = kCount / 8;
  for (const Kind target : targets()) {
    SCOPED_TRACE(kind_name(target));
    compare_with_host(to(target), [&](Trial &run) {
      MPI_Datatype type = MPI_DATATYPE_NULL;
      ASSERT_EQ(MPI_Type_vector(kRuns, 8, 16, MPI_BYTE, &type), MPI_SUCCESS);
      ASSERT_EQ(MPI_Type_commit(&type), MPI_SUCCESS);
      const Memory &whole = run.input(kRuns * 8, 4);
      const Memory &gapped = run.input(kRuns * 16, 5);
      const Memory &apart = run.output(kRuns * 16);
      const Memory &together = run.output(kRuns * 8);
      MPI_Request requests[4] = {};
      const int partner = session_.partner();
      MPI_Comm comm = session_.comm();
      run.call("MPI_Irecv", MPI_Irecv(apart.data(), 1, type, partner, kTag, comm, &requests[0]));
      run.call("MPI_Irecv", MPI_Irecv(together.data(), kRuns * 8, MPI_BYTE, partner, kTag, comm, &requests[1]));
      run.call("MPI_Isend", MPI_Isend(whole.data(), kRuns * 8, MPI_BYTE, partner, kTag, comm, &requests[2]));
      run.call("MPI_Isend", MPI_Isend(gapped.data(), 1, type, partner, kTag, comm, &requests[3]));
      run.call("MPI_Waitall", MPI_Waitall(4, requests, MPI_STATUSES_IGNORE));
      MPI_Type_free(&type);
    });
  }
}

TEST_F(HostSide, FillsAReceiveThatIsTooShort_AndNoMore) {
  if (told("TEST_HOST_ROUTE").empty() && aborts_on_truncation()) {
    GTEST_SKIP() << "this host MPI ends the job at a truncated receive";
  }
  for (const std::size_t room_bytes : {kBytes - 1, kBytes / 2, std::size_t{100}}) {
    SCOPED_TRACE(room_bytes);
    const Memory in(session_.module(), source_kind(), kBytes);
    const Memory out(session_.module(), device_or_host(), kBytes);
    in.fill_pattern(session_.rank(), 5);
    MPI_Request requests[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
    const int room = static_cast<int>(room_bytes);
    ASSERT_EQ(MPI_Irecv(out.data(), room, MPI_BYTE, session_.partner(), kTag, session_.comm(), &requests[0]),
              MPI_SUCCESS);
    ASSERT_EQ(MPI_Isend(in.data(), kCount, MPI_BYTE, session_.partner(), kTag, session_.comm(), &requests[1]),
              MPI_SUCCESS);
    int error_class = MPI_SUCCESS;
    MPI_Error_class(MPI_Wait(&requests[0], MPI_STATUS_IGNORE), &error_class);
    EXPECT_EQ(error_class, MPI_ERR_TRUNCATE);
    EXPECT_EQ(MPI_Wait(&requests[1], MPI_STATUS_IGNORE), MPI_SUCCESS);
    EXPECT_EQ(find_difference(Bytes(kBytes - room_bytes, kPoison), out.read(room_bytes, kBytes - room_bytes)), "");
  }
}

// The program's request is the acknowledgement's, which is not withdrawn: the message comes all the same.
TEST_F(HostSide, IsNotCancelled) {
  if (told("TEST_HOST_ROUTE").empty()) GTEST_SKIP() << "the host MPI may cancel its own sends";
  const Memory in(session_.module(), source_kind(), kBytes);
  const Memory out(session_.module(), Kind::device, kBytes);
  in.fill_pattern(session_.rank(), 6);
  MPI_Request request = MPI_REQUEST_NULL;
  ASSERT_EQ(MPI_Isend(in.data(), kCount, MPI_BYTE, session_.partner(), kTag, session_.comm(), &request), MPI_SUCCESS);
  ASSERT_EQ(MPI_Cancel(&request), MPI_SUCCESS);
  ASSERT_EQ(MPI_Recv(out.data(), kCount, MPI_BYTE, session_.partner(), kTag, session_.comm(), MPI_STATUS_IGNORE),
            MPI_SUCCESS);
  MPI_Status status;
  ASSERT_EQ(MPI_Wait(&request, &status), MPI_SUCCESS);
  int is_cancelled = 1;
  ASSERT_EQ(MPI_Test_cancelled(&status, &is_cancelled), MPI_SUCCESS);
  EXPECT_EQ(is_cancelled, 0);
  EXPECT_EQ(find_pattern_error(out.read(), session_.partner(), 6), "");
}

// Whoever has freed its request finds its message delivered, and each start of a persistent send its own.
TEST_F(HostSide, DeliversEachStart_AndWhatWasFreed) {
  constexpr int kStarts = 2;
  compare_with_host(to(device_or_host()), [&](Trial &run) {
    const Memory &in = run.input(kBytes);
    const Memory &out = run.output(kBytes);
    const Memory &freed = run.input(kBytes, 9);
    MPI_Request send = MPI_REQUEST_NULL;
    run.call("MPI_Send_init",
             MPI_Send_init(in.data(), kCount, MPI_BYTE, session_.partner(), kTag, session_.comm(), &send));
    for (int start = 0; start < kStarts; ++start) {
      run.refill(in, start);
      MPI_Request receive = MPI_REQUEST_NULL;
      run.call("MPI_Irecv",
               MPI_Irecv(out.data(), kCount, MPI_BYTE, session_.partner(), kTag, session_.comm(), &receive));
      run.call("MPI_Start", MPI_Start(&send));
      run.call("MPI_Wait", MPI_Wait(&receive, MPI_STATUS_IGNORE));
      run.call("MPI_Wait", MPI_Wait(&send, MPI_STATUS_IGNORE));
      run.expect_pattern(out, session_.partner(), start, kBytes);
    }
    run.call("MPI_Request_free", MPI_Request_free(&send));
    MPI_Request request = MPI_REQUEST_NULL;
    run.call("MPI_Isend",
             MPI_Isend(freed.data(), kCount, MPI_BYTE, session_.partner(), kTag, session_.comm(), &request));
    run.call("MPI_Request_free", MPI_Request_free(&request));
    run.call("MPI_Recv",
             MPI_Recv(out.data(), kCount, MPI_BYTE, session_.partner(), kTag, session_.comm(), MPI_STATUS_IGNORE));
    run.expect_pattern(out, session_.partner(), 9, kBytes);
    MPI_Barrier(session_.comm());  // the partner has all of it
  });
}

}  // namespace
}  // namespace sluice::tests::host_side_test
