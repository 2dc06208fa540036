// SPDX-License-Identifier: BSD-3-Clause
// The engine device by itself: the program says by the communicator's info that queues alone use it, and no knob is
// set. With TEST_ASSERT_QUEUES=1 the session's communicator says so, and all tests of the engine run with it.
#include <cstdlib>

#include "tests/ranks/queue/channel_case.hpp"
#include "tests/support/statistics.hpp"

namespace sluice::tests::assertion_test {
namespace {

constexpr int kBytes = 3000;
constexpr const char *kKey = "sluice_assert_queues_only";

void say(MPI_Comm comm, const char *value) {
  MPI_Info info = MPI_INFO_NULL;
  EXPECT_MPI(MPI_Info_create(&info));
  EXPECT_MPI(MPI_Info_set(info, kKey, value));
  EXPECT_MPI(MPI_Comm_set_info(comm, info));
  EXPECT_MPI(MPI_Info_free(&info));
}

class Say : public testing::Environment {
 public:
  void SetUp() override {
    if (std::getenv("TEST_ASSERT_QUEUES") != nullptr) say(Session::get().comm(), "true");
  }
};
const testing::Environment *const environment = testing::AddGlobalTestEnvironment(new Say);

// The value of the key in the communicator's info; "" without.
std::string told(MPI_Comm comm) {
  MPI_Info info = MPI_INFO_NULL;
  EXPECT_MPI(MPI_Comm_get_info(comm, &info));
  char value[16] = "";
  int is_set = 0;
  EXPECT_MPI(MPI_Info_get(info, kKey, sizeof(value) - 1, value, &is_set));
  EXPECT_MPI(MPI_Info_free(&info));
  return is_set != 0 ? value : "";
}

class Assertion : public testing::Test {
 protected:
  void SetUp() override {
    if (!Session::get().has_sluice()) GTEST_SKIP() << "missing: Sluice";
    EXPECT_MPI(MPI_Comm_dup(MPI_COMM_WORLD, &comm_));
    ASSERT_TRUE(count_statistics());
  }
  void TearDown() override {
    if (comm_ != MPI_COMM_NULL) EXPECT_MPI(MPI_Comm_free(&comm_));
  }

  // Messages to the partner on comm_, each right, up to the first that streams carry: whether one came. The two sides
  // learn of each other by the first ones.
  bool do_streams_carry(int n_messages) const {
    const Session &session = Session::get();
    ProgramStream stream;
    TestQueue queue(stream, comm_);
    const Memory out = make_memory(Kind::device, kBytes);
    const Memory in = make_memory(Kind::device, kBytes);
    const long long before = by_stream("MPIX_Enqueue_send");
    int n_carried = 0;
    for (int k = 0; k < n_messages && !session.agree_any(n_carried > 0); ++k) {
      out.fill_pattern(session.rank(), k);
      queue.recv(in.data(), kBytes, kTag, session.partner());
      queue.send(out.data(), kBytes, kTag, session.partner());
      queue.start();
      queue.wait();
      queue.complete();
      stream.synchronize();
      EXPECT_EQ(find_pattern_error(in.read(), session.partner(), k), "") << "message " << k;
      n_carried = static_cast<int>(by_stream("MPIX_Enqueue_send") - before);
    }
    return session.agree_any(n_carried > 0);
  }

  MPI_Comm comm_ = MPI_COMM_NULL;
};

TEST_F(Assertion, IsToldByTheInfo_AndTakenBack) {
  EXPECT_EQ(told(comm_), "");
  say(comm_, "true");
  EXPECT_EQ(told(comm_), "true");
  MPI_Comm duplicate = MPI_COMM_NULL;
  EXPECT_MPI(MPI_Comm_dup(comm_, &duplicate));
  EXPECT_EQ(told(duplicate), "");  // said of one communicator
  EXPECT_MPI(MPI_Comm_free(&duplicate));
  MPI_Info other = MPI_INFO_NULL;
  EXPECT_MPI(MPI_Info_create(&other));
  EXPECT_MPI(MPI_Info_set(other, "something", "else"));
  EXPECT_MPI(MPI_Comm_set_info(comm_, other));
  EXPECT_MPI(MPI_Info_free(&other));
  EXPECT_EQ(told(comm_), "true");
  say(comm_, "false");
  EXPECT_EQ(told(comm_), "");
}

TEST_F(Assertion, LetsTheStreamsCarryTheMessages) {
  SKIP_WITHOUT_QUEUES();
  // NOLINTNEXTLINE(concurrency-mt-unsafe)
  if (std::getenv("SLUICE_QUEUE_ENGINE") != nullptr || !has_channels(Session::get().module()->table())) {
    GTEST_SKIP() << "missing: a backend with the group channel, and SLUICE_QUEUE_ENGINE unset";
  }
  constexpr int kFew = 20;
  EXPECT_FALSE(do_streams_carry(kFew));
  say(comm_, "true");
  EXPECT_TRUE(do_streams_carry(kMostWarmUps));
  say(comm_, "false");
  EXPECT_FALSE(do_streams_carry(kFew));
}

}  // namespace
}  // namespace sluice::tests::assertion_test
