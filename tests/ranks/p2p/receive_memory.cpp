// SPDX-License-Identifier: BSD-3-Clause
// What long receives take: none of the staging pool for messages that are pulled, however many are posted; and plain
// messages that come all the same arrive right.
#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "tests/support/oracle.hpp"
#include "tests/support/statistics.hpp"

namespace sluice::tests::receive_memory_test {
namespace {

constexpr int kTag = 29;
constexpr int kPlainTag = 31;
constexpr std::size_t kRoomBytes = std::size_t{64} << 20;
constexpr int kRoomCount = static_cast<int>(kRoomBytes);
constexpr std::size_t kMessageBytes = 256 << 10;
constexpr int kMessageCount = static_cast<int>(kMessageBytes);
constexpr int kReceives = 32;

class ReceiveMemory : public testing::Test {
 protected:
  void SetUp() override {
    if (!session_.has_kind(Kind::device) || !count_statistics()) GTEST_SKIP() << "missing: device memory, statistics";
    // The messages before are plain, until the receiver has given its permission.
    const Memory in(session_.module(), Kind::device, kMessageBytes);
    const Memory out(session_.module(), Kind::device, kMessageBytes);
    for (int round = 0; round < 200 && !is_pulling_; ++round) {
      const long long before = calls_by("MPI_Irecv", "ipc");
      MPI_Request request = MPI_REQUEST_NULL;
      start(out, 0, kMessageCount, kTag, &request);
      send(in, kMessageCount, kTag);
      ASSERT_EQ(MPI_Wait(&request, MPI_STATUS_IGNORE), MPI_SUCCESS);
      is_pulling_ = !session_.agree_any(calls_by("MPI_Irecv", "ipc") == before);
    }
    if (!is_pulling_) GTEST_SKIP() << "missing: memory that another process can pull";
    fallbacks_ = fallbacks("pool_exhausted");
  }

  // With room for 64 MiB from the `place` on, whatever comes.
  void start(const Memory &out, std::size_t place, int count, int tag, MPI_Request *request) const {
    ASSERT_EQ(MPI_Irecv(out.at(place), count, MPI_BYTE, session_.partner(), tag, session_.comm(), request),
              MPI_SUCCESS);
  }
  void send(const Memory &in, int count, int tag) const {
    ASSERT_EQ(MPI_Send(in.data(), count, MPI_BYTE, session_.partner(), tag, session_.comm()), MPI_SUCCESS);
  }
  void expect_pattern(const Memory &out, std::size_t place, std::size_t size_bytes, int round) const {
    EXPECT_EQ(find_pattern_error(out.read(place, size_bytes), session_.partner(), round), "") << "at " << place;
  }
  // A long plain message, into a receive that may expect another.
  void exchange_plain(const Memory &out, int round) const {
    const Memory in(session_.module(), Kind::host, kRoomBytes);
    in.fill_pattern(session_.rank(), round);
    MPI_Request request = MPI_REQUEST_NULL;
    start(out, 0, kRoomCount, kPlainTag, &request);
    send(in, kRoomCount, kPlainTag);
    ASSERT_EQ(MPI_Wait(&request, MPI_STATUS_IGNORE), MPI_SUCCESS);
    expect_pattern(out, 0, kRoomBytes, round);
  }

  const Session &session_ = Session::get();
  bool is_pulling_ = false;
  long long fallbacks_ = 0;
};

TEST_F(ReceiveMemory, IsNone_ForMessagesThatArePulled) {
  const Memory out(session_.module(), Kind::device, kRoomBytes + kReceives * kMessageBytes);
  const Memory in(session_.module(), Kind::device, kMessageBytes);
  const long long held = staging_bytes();
  const long long pulled = calls_by("MPI_Irecv", "ipc");
  ASSERT_GE(held, 0);
  std::vector<MPI_Request> requests(kReceives);
  for (int i = 0; i < kReceives; ++i) {
    start(out, static_cast<std::size_t>(i) * kMessageBytes, kRoomCount, kTag, &requests[static_cast<std::size_t>(i)]);
  }
  EXPECT_EQ(staging_bytes(), held) << "2 GiB are posted";
  for (int i = 0; i < kReceives; ++i) {
    in.fill_pattern(session_.rank(), i);
    send(in, kMessageCount, kTag);
  }
  ASSERT_EQ(MPI_Waitall(kReceives, requests.data(), MPI_STATUSES_IGNORE), MPI_SUCCESS);
  for (int i = 0; i < kReceives; ++i) {
    expect_pattern(out, static_cast<std::size_t>(i) * kMessageBytes, kMessageBytes, i);
  }
  EXPECT_EQ(calls_by("MPI_Irecv", "ipc"), pulled + kReceives);
  EXPECT_EQ(staging_bytes(), held);
  EXPECT_EQ(fallbacks("pool_exhausted"), fallbacks_);
}

// The first lands where a descriptor was expected, and those behind it in the pool, as long as it spares anything.
TEST_F(ReceiveMemory, TakesPlainMessages_BesideThoseThatArePulled) {
  const Memory out(session_.module(), Kind::device, kRoomBytes);
  const Memory in(session_.module(), Kind::device, kMessageBytes);
  const long long held = staging_bytes();
  exchange_plain(out, 1);
  EXPECT_EQ(staging_bytes(), held) << "a pulled one was expected";
  exchange_plain(out, 2);
  EXPECT_GE(staging_bytes(), held + static_cast<long long>(kRoomBytes)) << "a plain one was expected";
  in.fill_pattern(session_.rank(), 3);
  for (int i = 0; i < 2; ++i) {
    MPI_Request request = MPI_REQUEST_NULL;
    start(out, 0, kRoomCount, kTag, &request);
    send(in, kMessageCount, kTag);
    ASSERT_EQ(MPI_Wait(&request, MPI_STATUS_IGNORE), MPI_SUCCESS);
    expect_pattern(out, 0, kMessageBytes, 3);
  }
  EXPECT_EQ(fallbacks("pool_exhausted"), fallbacks_);
}

TEST_F(ReceiveMemory, IsNone_OfPersistentReceives_WhichTakeEither) {
  const Memory out(session_.module(), Kind::device, kRoomBytes);
  const Memory device(session_.module(), Kind::device, kMessageBytes);
  const Memory host(session_.module(), Kind::host, kRoomBytes);
  const long long held = staging_bytes();
  MPI_Request request = MPI_REQUEST_NULL;
  ASSERT_EQ(MPI_Recv_init(out.data(), kRoomCount, MPI_BYTE, session_.partner(), kTag, session_.comm(), &request),
            MPI_SUCCESS);
  for (int round = 0; round < 6; ++round) {
    const bool is_plain = round % 3 == 1;
    const Memory &in = is_plain ? host : device;
    in.fill_pattern(session_.rank(), round);
    ASSERT_EQ(MPI_Start(&request), MPI_SUCCESS);
    send(in, is_plain ? kRoomCount : kMessageCount, kTag);
    ASSERT_EQ(MPI_Wait(&request, MPI_STATUS_IGNORE), MPI_SUCCESS);
    expect_pattern(out, 0, in.size_bytes(), round);
  }
  EXPECT_EQ(staging_bytes(), held);
  EXPECT_EQ(MPI_Request_free(&request), MPI_SUCCESS);
}

}  // namespace
}  // namespace sluice::tests::receive_memory_test
