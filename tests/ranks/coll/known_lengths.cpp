// SPDX-License-Identifier: BSD-3-Clause
// Collective operations of which all ranks know how long they are: those on host memory are looked at less and less
// often, and others of another length are counted apart, so that the first one of its length on device memory goes over
// IPC, whatever came before on host memory. Every byte is compared with what was sent. Started as short_calls.cpp says.
#include <gtest/gtest.h>

#include <cstdint>
#include <set>

#include "tests/ranks/coll/threshold_alone.hpp"
#include "tests/support/session.hpp"
#include "tests/support/statistics.hpp"

namespace sluice::tests::known_lengths_test {
namespace {

constexpr std::size_t kLongBytes = std::size_t{256} << 10;
constexpr std::size_t kShorterBytes = std::size_t{16} << 10;  // of another class of lengths (ops/comm/attempts.hpp)

enum class Known : std::uint8_t { allreduce, bcast };

const char *name_of(Known known) {
  return known == Known::bcast ? "MPI_Bcast" : "MPI_Allreduce";
}

class ShortCallsOfKnownLength : public testing::Test {
 protected:
  void SetUp() override {
    SKIP_WITHOUT_THRESHOLD_ALONE();
    ASSERT_GE(calls_by("MPI_Bcast", "ipc"), 0) << "no statistics";
    ASSERT_EQ(MPI_Comm_dup(session_.comm(), &comm_), MPI_SUCCESS);  // on which nothing has been called yet
  }
  void TearDown() override {
    if (comm_ != MPI_COMM_NULL) {
      EXPECT_EQ(MPI_Comm_free(&comm_), MPI_SUCCESS);
    }
  }

  // Makes one call. Whether the ranks carried it out together.
  bool goes_together(Known known, Kind kind, std::size_t size_bytes) {
    ++n_rounds_;
    return known == Known::bcast ? broadcasts_together(kind, size_bytes) : reduces_together(kind, size_bytes);
  }

  // A broadcast of one element of a type that is made for the call and freed behind it: host MPIs give the same handle
  // again.
  bool broadcasts_own_type_together(std::size_t size_bytes) {
    ++n_rounds_;
    MPI_Datatype type = MPI_DATATYPE_NULL;
    EXPECT_EQ(MPI_Type_contiguous(static_cast<int>(size_bytes), MPI_BYTE, &type), MPI_SUCCESS);
    EXPECT_EQ(MPI_Type_commit(&type), MPI_SUCCESS);
    handles_.insert(type);
    const bool goes = broadcasts_together(Kind::device, size_bytes, 0, 1, type);
    EXPECT_EQ(MPI_Type_free(&type), MPI_SUCCESS);
    return goes;
  }

  int n_rounds_ = 0;
  std::set<MPI_Datatype> handles_;  // of own types
  const Session &session_ = Session::get();

 private:
  Bytes pattern(int rank, std::size_t size_bytes) const {
    Bytes bytes(size_bytes);
    for (std::size_t i = 0; i < size_bytes; ++i) bytes[i] = pattern_byte(rank, i, n_rounds_);
    return bytes;
  }

  static void expect_right(Bytes expected, const Memory &memory) {
    expected.resize(expected.size() + kGuardBytes, kPoison);
    EXPECT_EQ(find_difference(expected, memory.read_with_guards()), "");
  }

  bool broadcasts_together(Kind kind, std::size_t size_bytes) const {
    return broadcasts_together(kind, size_bytes, n_rounds_ % session_.size(), static_cast<int>(size_bytes), MPI_BYTE);
  }

  bool broadcasts_together(Kind kind, std::size_t size_bytes, int root, int count, MPI_Datatype type) const {
    const Memory memory(session_.module(), kind, size_bytes);
    const Bytes sent = pattern(root, size_bytes);
    if (session_.rank() == root) memory.write(0, sent.data(), sent.size());
    const long long before = calls_by("MPI_Bcast", "ipc");
    EXPECT_EQ(MPI_Bcast(memory.data(), count, type, root, comm_), MPI_SUCCESS);
    expect_right(sent, memory);
    return calls_by("MPI_Bcast", "ipc") != before;
  }

  bool reduces_together(Kind kind, std::size_t size_bytes) const {
    const Memory in(session_.module(), kind, size_bytes);
    const Memory out(session_.module(), kind, size_bytes);
    const Bytes own = pattern(session_.rank(), size_bytes);
    in.write(0, own.data(), own.size());
    const long long before = calls_by("MPI_Allreduce", "kernel");
    EXPECT_EQ(MPI_Allreduce(in.data(), out.data(), static_cast<int>(size_bytes), MPI_BYTE, MPI_BXOR, comm_),
              MPI_SUCCESS);
    Bytes expected(size_bytes);
    for (int rank = 0; rank < session_.size(); ++rank) {
      const Bytes its = pattern(rank, size_bytes);
      for (std::size_t i = 0; i < size_bytes; ++i) expected[i] ^= its[i];
    }
    expect_right(expected, out);
    expect_right(own, in);
    return calls_by("MPI_Allreduce", "kernel") != before;
  }

  MPI_Comm comm_ = MPI_COMM_NULL;
};

// What is remembered of a call is not remembered of a type that is gone.
TEST_F(ShortCallsOfKnownLength, OfAnotherTypeUnderTheSameHandleAreNotTheSame) {
  for (int i = 0; i < 20; ++i) {
    EXPECT_FALSE(broadcasts_own_type_together(64));
    EXPECT_TRUE(broadcasts_own_type_together(kLongBytes));
  }
  EXPECT_LT(handles_.size(), 40U) << "the host MPI gave no handle again, so that nothing was tried";
}

// Of 40 in vain the 1st, 2nd, 5th, 12th and 25th are looked at, so the next shorter one is not.
TEST_F(ShortCallsOfKnownLength, LetTheFirstLongOneGoOverIpc) {
  for (const Known known : {Known::allreduce, Known::bcast}) {
    SCOPED_TRACE(name_of(known));
    for (int i = 0; i < 40; ++i) EXPECT_FALSE(goes_together(known, Kind::host, kShorterBytes));
    EXPECT_FALSE(goes_together(known, Kind::device, kShorterBytes));
    EXPECT_TRUE(goes_together(known, Kind::device, kLongBytes));
    EXPECT_TRUE(goes_together(known, Kind::device, kShorterBytes)) << "after one that went together";
    if (session_.agree_any(HasFailure())) return;
  }
}

// Nor do long ones on host memory say that shorter ones are in vain.
TEST_F(ShortCallsOfKnownLength, AreNotLeftOut_AfterLongOnesOnHostMemory) {
  for (const Known known : {Known::allreduce, Known::bcast}) {
    SCOPED_TRACE(name_of(known));
    for (int i = 0; i < 40; ++i) EXPECT_FALSE(goes_together(known, Kind::host, kLongBytes));
    EXPECT_TRUE(goes_together(known, Kind::device, kShorterBytes));
    if (session_.agree_any(HasFailure())) return;
  }
}

// A program that has one call on host memory and one on devices in turns, both of one length: whichever it was that was
// looked at last, in the end it is one on devices.
TEST_F(ShortCallsOfKnownLength, AreFoundOnDevices_WhereEachSecondIsOnHostMemory) {
  constexpr int kMostTurns = 140;
  for (const Known known : {Known::allreduce, Known::bcast}) {
    SCOPED_TRACE(name_of(known));
    for (int i = 0; i < 150; ++i) EXPECT_FALSE(goes_together(known, Kind::host, kShorterBytes));
    int n_turns = 0;
    while (n_turns < kMostTurns && !goes_together(known, Kind::device, kShorterBytes)) {
      EXPECT_FALSE(goes_together(known, Kind::host, kShorterBytes));
      ++n_turns;
    }
    EXPECT_LT(n_turns, kMostTurns);
    for (int i = 0; i < 10; ++i) {
      EXPECT_FALSE(goes_together(known, Kind::host, kShorterBytes));
      EXPECT_TRUE(goes_together(known, Kind::device, kShorterBytes)) << "since they are known to have devices";
    }
    if (session_.agree_any(HasFailure())) return;
  }
}

// One rank's host memory is all ranks' reason; long ones are looked at less often, too, and again in the end.
TEST_F(ShortCallsOfKnownLength, AreStagedByAll_WhereARankHasHostMemory) {
  constexpr int kMostLeftOut = 67;
  const Kind kind = session_.rank() == session_.size() - 1 ? Kind::host : Kind::device;
  for (const Known known : {Known::allreduce, Known::bcast}) {
    SCOPED_TRACE(name_of(known));
    for (int i = 0; i < 5; ++i) EXPECT_FALSE(goes_together(known, kind, kLongBytes));
    EXPECT_FALSE(goes_together(known, Kind::device, kLongBytes))
        << "the 6th, of which the 1st, 2nd and 5th were looked at";
    int n_staged = 0;
    while (n_staged < kMostLeftOut && !goes_together(known, Kind::device, kLongBytes)) ++n_staged;
    EXPECT_LT(n_staged, kMostLeftOut);
    EXPECT_TRUE(goes_together(known, Kind::device, kLongBytes));
    if (session_.agree_any(HasFailure())) return;
  }
}

}  // namespace
}  // namespace sluice::tests::known_lengths_test
