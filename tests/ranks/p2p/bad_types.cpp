// SPDX-License-Identifier: BSD-3-Clause
// Datatypes that reach out of the memory that they are used on: an error that says which bytes, at the rank that has
// them or at its partner, and the next message is right. On backends that can tell (the faulty ones can).
#include <gtest/gtest.h>

#include <string>

#include "tests/support/oracle.hpp"

namespace sluice::tests::bad_types_test {
namespace {

constexpr int kTag = 31;
constexpr int kHeldBytes = 64 << 10;
constexpr int kLongBytes = 512 << 10;  // runs over the end
constexpr int kGoodBytes = 1000;

std::string text_of(int code) {
  char text[MPI_MAX_ERROR_STRING] = {};
  int length = 0;
  return MPI_Error_string(code, text, &length) == MPI_SUCCESS ? text : "";
}

struct BadCase {
  const char *name;
  bool has_gaps;
  bool is_synchronous;
};

void PrintTo(const BadCase &one, std::ostream *out) {
  *out << one.name;
}

class TypesThatReachOut : public testing::TestWithParam<BadCase> {
 protected:
  void SetUp() override {
    if (!session_.has_kind(Kind::device)) GTEST_SKIP() << "missing: device memory";
    const int lengths[3] = {8, 8, kLongBytes - 16};
    const MPI_Aint gaps[3] = {0, 64, 256};
    const MPI_Aint none[3] = {0, 8, 16};
    ASSERT_EQ(MPI_Type_create_hindexed(3, lengths, GetParam().has_gaps ? gaps : none, MPI_BYTE, &type_), MPI_SUCCESS);
    ASSERT_EQ(MPI_Type_commit(&type_), MPI_SUCCESS);
  }
  void TearDown() override {
    if (type_ != MPI_DATATYPE_NULL) MPI_Type_free(&type_);
  }

  int send(const void *data, int count, MPI_Datatype type) const {
    return GetParam().is_synchronous ? MPI_Ssend(data, count, type, session_.partner(), kTag, session_.comm())
                                     : MPI_Send(data, count, type, session_.partner(), kTag, session_.comm());
  }
  int receive(void *data, int count, MPI_Datatype type, int *received) const {
    MPI_Status status;
    const int code = MPI_Recv(data, count, type, session_.partner(), kTag, session_.comm(), &status);
    *received = -1;
    if (code == MPI_SUCCESS) MPI_Get_count(&status, MPI_BYTE, received);
    return code;
  }

  void send_good() const {
    const Memory good(session_.module(), Kind::device, kGoodBytes);
    good.fill_pattern(session_.rank(), 2);
    EXPECT_EQ(send(good.data(), kGoodBytes, MPI_BYTE), MPI_SUCCESS);
  }
  void expect_good(const Memory &memory, int received) const {
    EXPECT_EQ(received, kGoodBytes);
    EXPECT_EQ(find_pattern_error(memory.read(0, kGoodBytes), session_.partner(), 2), "");
  }

  // Either of the two ranks of a pair saw it; the one that has the type is told which bytes.
  void expect_error(const std::string &text, bool is_mine) const {
    EXPECT_TRUE(!is_mine || text.empty() || text.find(" bytes at ") != std::string::npos) << text;
    int has_error[2] = {text.empty() ? 0 : 1, 0};
    MPI_Sendrecv(&has_error[0], 1, MPI_INT, session_.partner(), kTag + 1, &has_error[1], 1, MPI_INT, session_.partner(),
                 kTag + 1, session_.comm(), MPI_STATUS_IGNORE);
    EXPECT_GE(has_error[0] + has_error[1], 1);
  }

  const Session &session_ = Session::get();
  MPI_Datatype type_ = MPI_DATATYPE_NULL;
};

TEST_P(TypesThatReachOut, AreAnError_WhenTheyAreSent) {
  std::string text;
  if (session_.begins()) {
    const Memory held(session_.module(), Kind::device, kHeldBytes);
    const int code = send(held.data(), 1, type_);
    if (code != MPI_SUCCESS) text = text_of(code);
    send_good();
  } else {
    // The first message may have ended at the sender, or end here.
    const Memory room(session_.module(), Kind::device, kLongBytes);
    int received = 0;
    int code = receive(room.data(), kLongBytes, MPI_BYTE, &received);
    if (code != MPI_SUCCESS) text = text_of(code);
    if (received != kGoodBytes) code = receive(room.data(), kLongBytes, MPI_BYTE, &received);
    EXPECT_EQ(code, MPI_SUCCESS);
    expect_good(room, received);
  }
  expect_error(text, session_.begins());
}

TEST_P(TypesThatReachOut, AreAnErrorOfTheReceiver_WhenTheyAreReceived) {
  std::string text;
  if (session_.begins()) {
    const Memory data(session_.module(), Kind::device, kLongBytes);
    data.fill_pattern(session_.rank(), 1);
    static_cast<void>(send(data.data(), kLongBytes, MPI_BYTE));
    send_good();
  } else {
    const Memory held(session_.module(), Kind::device, kHeldBytes);
    int received = 0;
    const int code = receive(held.data(), 1, type_, &received);
    EXPECT_NE(code, MPI_SUCCESS);
    text = text_of(code);
    EXPECT_EQ(receive(held.data(), kHeldBytes, MPI_BYTE, &received), MPI_SUCCESS);
    expect_good(held, received);
  }
  expect_error(text, !session_.begins());
}

INSTANTIATE_TEST_SUITE_P(Each, TypesThatReachOut,
                         testing::Values(BadCase{"gaps", true, false}, BadCase{"gaps, synchronous", true, true},
                                         BadCase{"no gaps", false, false},
                                         BadCase{"no gaps, synchronous", false, true}));

}  // namespace
}  // namespace sluice::tests::bad_types_test
