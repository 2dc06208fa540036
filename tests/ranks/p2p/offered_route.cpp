// SPDX-License-Identifier: BSD-3-Clause
// Messages that a sender offers by a route which the receiver has to ask for. `relayed`: out of memory that other
// processes cannot map, by way of Sluice's own. `direct`: between nodes, by a network library. Lengths round the edges
// of their blocks, more under way than there are slots, receives in another order, too short, and that cannot go so.
// TEST_OFFERED names the kind of memory that is sent from here, which may be that of host memory, and TEST_ROUTE the
// route; without them what is delivered is compared, and not the route.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <string>
#include <vector>

#include "src/transfer/relay.hpp"
#include "tests/support/host_mpi.hpp"
#include "tests/support/oracle.hpp"
#include "tests/support/statistics.hpp"

namespace sluice::tests::offered_route_test {
namespace {

using transfer::kRelayBlockBytes;
using transfer::kRelaySlots;

constexpr int kTag = 37;
// The shortest message that is offered out of any memory.
constexpr std::size_t kFromBytes = std::size_t{512} << 10;

bool must_be_offered() {
  return std::getenv("TEST_OFFERED") != nullptr;  // NOLINT(concurrency-mt-unsafe): nobody sets it
}

const char *offered_route() {
  const char *named = std::getenv("TEST_ROUTE");  // NOLINT(concurrency-mt-unsafe): nobody sets it
  return named == nullptr ? "relayed" : named;
}

Kind sent_kind() {
  const char *named = std::getenv("TEST_OFFERED");  // NOLINT(concurrency-mt-unsafe): nobody sets it
  const std::string name = named == nullptr ? "shared" : named;
  for (const Kind kind : {Kind::pinned, Kind::shared, Kind::device}) {
    if (name == kind_name(kind) && Session::get().has_kind(kind)) return kind;
  }
  return device_or_host();
}

// Its messages are relayed from another length on, and a receiver that could not pull one is sent no more of them for a
// while.
bool is_host_memory() {
  return sent_kind() == Kind::pinned;
}

// `size_bytes`, or as much longer as it has to be.
std::size_t long_enough(std::size_t size_bytes) {
  return is_host_memory() ? std::max(size_bytes, kFromBytes + size_bytes % 1024) : size_bytes;
}

class OfferedRoute : public testing::Test {
 protected:
  void SetUp() override {
    counts_ = count_statistics();
    if (!must_be_offered()) return;
    ASSERT_TRUE(counts_) << "the route is counted";
    // The messages before are plain, until the receiver has given its permission.
    constexpr std::size_t kBytes = kFromBytes;
    const Memory in(session_.module(), sent_kind(), kBytes);
    const Memory out(session_.module(), Kind::device, kBytes);
    bool is_offered = false;
    for (int round = 0; round < 200 && !is_offered; ++round) {
      const long long before = calls_by("MPI_Irecv", offered_route());
      MPI_Request request = MPI_REQUEST_NULL;
      ASSERT_EQ(MPI_Irecv(out.data(), kBytes, MPI_BYTE, session_.partner(), kTag, session_.comm(), &request),
                MPI_SUCCESS);
      ASSERT_EQ(MPI_Send(in.data(), kBytes, MPI_BYTE, session_.partner(), kTag, session_.comm()), MPI_SUCCESS);
      ASSERT_EQ(MPI_Wait(&request, MPI_STATUS_IGNORE), MPI_SUCCESS);
      is_offered = !session_.agree_any(calls_by("MPI_Irecv", offered_route()) == before);
    }
    ASSERT_TRUE(is_offered) << "nothing goes by " << offered_route() << " out of memory " << kind_name(sent_kind());
    sent_ = calls_by("MPI_Isend", offered_route()) + calls_by("MPI_Send_init", offered_route());
    received_ = calls_by("MPI_Irecv", offered_route());
  }

  // This rank has sent so many messages of this sort since the test began, and received so many so.
  void expect_offered(long long n_sent, long long n_received) const {
    if (!must_be_offered()) return;
    EXPECT_EQ(calls_by("MPI_Isend", offered_route()) + calls_by("MPI_Send_init", offered_route()) - sent_, n_sent);
    EXPECT_EQ(calls_by("MPI_Irecv", offered_route()) - received_, n_received);
  }

  void start_send(Trial *run, const Memory &in, std::size_t size_bytes, int tag, MPI_Request *request) const {
    run->call("MPI_Isend", MPI_Isend(in.data(), static_cast<int>(size_bytes), MPI_BYTE, session_.partner(), tag,
                                     session_.comm(), request));
  }
  void start_receive(Trial *run, const Memory &out, std::size_t size_bytes, int tag, MPI_Request *request) const {
    run->call("MPI_Irecv", MPI_Irecv(out.data(), static_cast<int>(size_bytes), MPI_BYTE, session_.partner(), tag,
                                     session_.comm(), request));
  }
  static Case to(Kind kind) { return {sent_kind(), kind, 0}; }

  const Session &session_ = Session::get();

 private:
  bool counts_ = false;
  long long sent_ = 0;
  long long received_ = 0;
};

TEST_F(OfferedRoute, DeliversEveryLength_RoundTheEdgesOfBlocks_BothWays) {
  const auto exchange = [&](Kind kind, std::size_t size_bytes) {
    SCOPED_TRACE(std::to_string(size_bytes) + " bytes to " + kind_name(kind));
    compare_with_host(to(kind), [&](Trial &run) {
      MPI_Request requests[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
      const Memory &out = run.output(size_bytes);
      start_receive(&run, out, size_bytes, kTag, &requests[0]);
      start_send(&run, run.input(size_bytes, 1), size_bytes, kTag, &requests[1]);
      MPI_Status statuses[2];
      run.call("MPI_Waitall", MPI_Waitall(2, requests, statuses));
      run.note_status("receive", statuses[0], MPI_BYTE);
      run.expect_pattern(out, session_.partner(), 1, size_bytes);
    });
  };
  const std::vector<std::size_t> sizes_bytes = {long_enough(65'536), kRelayBlockBytes - 1, kRelayBlockBytes,
                                                kRelayBlockBytes + 1, (kRelaySlots + 1) * kRelayBlockBytes + 13};
  for (const std::size_t size_bytes : sizes_bytes) exchange(device_or_host(), size_bytes);
  exchange(sent_kind(), kRelayBlockBytes + 1);
  const long long n = static_cast<long long>(sizes_bytes.size()) + 1;
  expect_offered(n, n);
}

// The receiver waits for the last one first: the slots that it needs must not be those of messages that it has not
// received yet.
TEST_F(OfferedRoute, DeliversAll_WhenTheLastOfManyIsReceivedFirst) {
  constexpr int kMessages = 3 * static_cast<int>(kRelaySlots);
  const std::size_t bytes = long_enough(70'001);  // a slot each
  compare_with_host(to(device_or_host()), [&](Trial &run) {
    std::vector<MPI_Request> sends(kMessages, MPI_REQUEST_NULL);
    for (int i = 0; i < kMessages; ++i) {
      start_send(&run, run.input(bytes, i), bytes, kTag + i, &sends[static_cast<std::size_t>(i)]);
    }
    for (int i = kMessages - 1; i >= 0; --i) {
      MPI_Request request = MPI_REQUEST_NULL;
      const Memory &out = run.output(bytes);
      start_receive(&run, out, bytes, kTag + i, &request);
      MPI_Status status;
      run.call("MPI_Wait", MPI_Wait(&request, &status));
      run.note_status("receive", status, MPI_BYTE);
      run.expect_pattern(out, session_.partner(), i, bytes);
    }
    run.call("MPI_Waitall", MPI_Waitall(kMessages, sends.data(), MPI_STATUSES_IGNORE));
  });
  expect_offered(kMessages, kMessages);
}

TEST_F(OfferedRoute, DeliversAll_WhenManyAreReceivedAtOnce) {
  constexpr int kMessages = 4 * static_cast<int>(kRelaySlots);
  const std::size_t bytes = long_enough(300'001);
  compare_with_host(to(device_or_host()), [&](Trial &run) {
    std::vector<MPI_Request> requests(2 * kMessages, MPI_REQUEST_NULL);
    std::vector<const Memory *> outputs;
    for (int i = 0; i < kMessages; ++i) {
      outputs.push_back(&run.output(bytes));
      start_receive(&run, *outputs.back(), bytes, kTag, &requests[static_cast<std::size_t>(i)]);
    }
    for (int i = 0; i < kMessages; ++i) {
      start_send(&run, run.input(bytes, i), bytes, kTag, &requests[requests.size() / 2 + static_cast<std::size_t>(i)]);
    }
    run.call("MPI_Waitall", MPI_Waitall(2 * kMessages, requests.data(), MPI_STATUSES_IGNORE));
    for (int i = 0; i < kMessages; ++i) {
      run.expect_pattern(*outputs[static_cast<std::size_t>(i)], session_.partner(), i, bytes);
    }
  });
  expect_offered(kMessages, kMessages);
}

TEST_F(OfferedRoute, BringsEachStart_OfAPersistentSend) {
  constexpr std::size_t kBytes = kRelayBlockBytes + 5;
  constexpr int kStarts = 3;
  compare_with_host(to(device_or_host()), [&](Trial &run) {
    const Memory &in = run.input(kBytes);
    const Memory &out = run.output(kBytes);
    MPI_Request send = MPI_REQUEST_NULL;
    run.call("MPI_Send_init", MPI_Send_init(in.data(), static_cast<int>(kBytes), MPI_BYTE, session_.partner(), kTag,
                                            session_.comm(), &send));
    for (int start = 0; start < kStarts; ++start) {
      run.refill(in, start);
      MPI_Request receive = MPI_REQUEST_NULL;
      start_receive(&run, out, kBytes, kTag, &receive);
      run.call("MPI_Start", MPI_Start(&send));
      run.call("MPI_Wait", MPI_Wait(&receive, MPI_STATUS_IGNORE));
      run.call("MPI_Wait", MPI_Wait(&send, MPI_STATUS_IGNORE));
      run.expect_pattern(out, session_.partner(), start, kBytes);
    }
    run.call("MPI_Request_free", MPI_Request_free(&send));
  });
  const int n = is_host_memory() ? 0 : kStarts;  // else the host MPI's own persistent send
  expect_offered(n, n);
}

TEST_F(OfferedRoute, FillsAReceiveThatIsTooShort_AndNoMore) {
  if (aborts_on_truncation() && !session_.has_kind(Kind::device)) {
    GTEST_SKIP() << "this host MPI ends the job at a truncated receive";
  }
  constexpr std::size_t kBytes = 2 * kRelayBlockBytes;
  for (const std::size_t room_bytes : {kRelayBlockBytes + 100, kRelayBlockBytes, std::size_t{70'000}}) {
    SCOPED_TRACE(room_bytes);
    const Memory in(session_.module(), sent_kind(), kBytes);
    const Memory out(session_.module(), device_or_host(), kBytes);
    in.fill_pattern(session_.rank(), 5);
    MPI_Comm comm = MPI_COMM_NULL;
    ASSERT_EQ(MPI_Comm_dup(session_.comm(), &comm), MPI_SUCCESS);
    ASSERT_EQ(MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN), MPI_SUCCESS);
    MPI_Request requests[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
    const int room = static_cast<int>(room_bytes);
    ASSERT_EQ(MPI_Irecv(out.data(), room, MPI_BYTE, session_.partner(), kTag, comm, &requests[0]), MPI_SUCCESS);
    ASSERT_EQ(MPI_Isend(in.data(), static_cast<int>(kBytes), MPI_BYTE, session_.partner(), kTag, comm, &requests[1]),
              MPI_SUCCESS);
    const int code = MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
    int error_class = MPI_SUCCESS;
    MPI_Error_class(code, &error_class);
    EXPECT_EQ(error_class, MPI_ERR_TRUNCATE);
    EXPECT_EQ(MPI_Wait(&requests[1], MPI_STATUS_IGNORE), MPI_SUCCESS);
    EXPECT_EQ(find_difference(Bytes(kBytes - room_bytes, kPoison), out.read(room_bytes, kBytes - room_bytes)), "");
    ASSERT_EQ(MPI_Comm_free(&comm), MPI_SUCCESS);
  }
}

// Host memory does not pull, and data that come apart are no one run: blocks by the host, at the sender's word.
TEST_F(OfferedRoute, DeliversByTheHost_WhereTheReceiverCannotPull) {
  constexpr std::size_t kBytes = kRelayBlockBytes + 8;
  for (const bool is_gapped : {false, true}) {
    SCOPED_TRACE(is_gapped);
    compare_with_host(to(is_gapped ? device_or_host() : Kind::host), [&](Trial &run) {
      const std::size_t room_bytes = is_gapped ? 2 * kBytes : kBytes;
      const Memory &out = run.output(room_bytes);
      MPI_Datatype type = MPI_BYTE;
      int count = static_cast<int>(kBytes);
      if (is_gapped) {
        ASSERT_EQ(MPI_Type_vector(count / 8, 8, 16, MPI_BYTE, &type), MPI_SUCCESS);
        ASSERT_EQ(MPI_Type_commit(&type), MPI_SUCCESS);
        count = 1;
      }
      MPI_Request requests[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
      run.call("MPI_Irecv",
               MPI_Irecv(out.data(), count, type, session_.partner(), kTag, session_.comm(), &requests[0]));
      start_send(&run, run.input(kBytes, 2), kBytes, kTag, &requests[1]);
      run.call("MPI_Waitall", MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
      if (is_gapped) MPI_Type_free(&type);
    });
  }
  expect_offered(is_host_memory() ? 1 : 2, 0);
}

// What was allocated while messages out of other memory came and went is freed, and its place taken again.
TEST_F(OfferedRoute, DeliversAll_WhileMemoryComesAndGoes) {
  constexpr std::size_t kBytes = kRelayBlockBytes / 4;
  for (int round = 0; round < 8; ++round) {
    SCOPED_TRACE(round);
    compare_with_host(to(device_or_host()), [&](Trial &run) {
      MPI_Request requests[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
      const Memory &out = run.output(kBytes);
      start_receive(&run, out, kBytes, kTag, &requests[0]);
      start_send(&run, run.input(kBytes, round), kBytes, kTag, &requests[1]);
      run.call("MPI_Waitall", MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
      run.expect_pattern(out, session_.partner(), round, kBytes);
    });
  }
}

}  // namespace
}  // namespace sluice::tests::offered_route_test
