// SPDX-License-Identifier: BSD-3-Clause
// Puts, gets and signals of queues: the stream starts them, a signal comes behind the puts before it, and what stands
// behind a wait finds the data, whoever moves it.
#include <algorithm>
#include <array>
#include <cstdlib>
#include <string>
#include <vector>

#include "tests/ranks/queue/one_sided_case.hpp"

namespace sluice::tests::one_sided_test {
namespace {

// What is put, at some place of a slot, and the slots of a window, one behind the other.
constexpr std::size_t kBegin = 16;
constexpr int kRounds = 6;

// Rounds that are all enqueued before the first one begins: each puts into a slot of its own and signals, and waits for
// the other's signal; a copy behind the wait keeps what has come.
void put_in_rounds(Kind kind, std::size_t size_bytes) {
  SCOPED_TRACE(std::string(kind_name(kind)) + ", " + std::to_string(size_bytes) + " bytes");
  const Session &session = Session::get();
  const std::size_t slot = kBegin + size_bytes + kGuardBytes;
  const Memory memory = make_memory(Kind::device, kRounds * slot);
  const Memory kept = make_memory(Kind::device, kRounds * slot);
  std::vector<Memory> sent;
  for (int k = 0; k < kRounds; ++k) {
    sent.push_back(make_memory(kind, size_bytes + 1));
    sent.back().fill_pattern(session.rank(), k);
  }
  ProgramStream stream;
  const TestQueue queue(stream);
  QueueWindow window(memory);
  window.meet(stream, queue);
  const long long puts = calls_by("MPIX_Enqueue_put", "device");
  stream.close_gate();
  for (int k = 0; k < kRounds; ++k) {
    const auto at = static_cast<std::size_t>(k) * slot;
    window.put(queue, sent[static_cast<std::size_t>(k)].data(), size_bytes, at + kBegin);
    window.signal(queue);
    window.wait_signal(queue);
    queue.start();
    queue.wait();
    stream.copy(kept.at(at), memory.at(at), slot);
  }
  for (int k = 0; k < kRounds; ++k) {
    EXPECT_TRUE(is_poison(memory.read(static_cast<std::size_t>(k) * slot, slot))) << "put before its start";
  }
  EXPECT_MPI(MPI_Barrier(session.comm()));
  stream.open_gates();
  stream.synchronize();
  for (int k = 0; k < kRounds; ++k) {
    const auto at = static_cast<std::size_t>(k) * slot;
    EXPECT_EQ(find_pattern_error(kept.read(at + kBegin, size_bytes), session.partner(), k), "") << "round " << k;
    EXPECT_TRUE(is_poison(kept.read(at, kBegin)) && is_poison(kept.read(at + kBegin + size_bytes, kGuardBytes)));
  }
  window.complete();
  const bool is_by_stream = streams_reach_windows() && kind == Kind::device && size_bytes != 0;
  EXPECT_EQ(calls_by("MPIX_Enqueue_put", "device"), puts + (is_by_stream ? kRounds : 0));
}

class QueueOneSided : public testing::Test {
 protected:
  void SetUp() override {
    SKIP_WITHOUT_QUEUES();
    SKIP_WITHOUT_WINDOWS();
    ASSERT_TRUE(count_statistics());
    if (!Session::get().has_kind(Kind::device)) GTEST_SKIP() << "missing: device memory";
  }
};

}  // namespace

TEST_F(QueueOneSided, WhatStandsBehindAWait_FindsWhatWasPut) {
  for (const Kind kind : {Kind::device, Kind::host}) {
    for (const std::size_t size_bytes : {0UL, 1UL, 3001UL, 70001UL, (3UL << 20U) + 5}) put_in_rounds(kind, size_bytes);
  }
}

// What the other side's stream has written just before its signal.
TEST_F(QueueOneSided, AGet_BehindASignal_ReadsWhatIsThereThen) {
  const Session &session = Session::get();
  for (const Kind kind : {Kind::device, Kind::host}) {
    for (const std::size_t size_bytes : {1UL, 70001UL, (3UL << 20U) + 5}) {
      SCOPED_TRACE(std::string(kind_name(kind)) + ", " + std::to_string(size_bytes) + " bytes");
      const Memory memory = make_memory(Kind::device, size_bytes + kBegin);
      const Memory written = make_memory(Kind::device, size_bytes);
      const Memory got = make_memory(kind, size_bytes + kGuardBytes);
      written.fill_pattern(session.rank(), 4);
      ProgramStream stream;
      const TestQueue queue(stream);
      QueueWindow window(memory);
      window.meet(stream, queue);
      stream.copy(memory.at(kBegin), written.data(), size_bytes);
      window.signal(queue);
      window.wait_signal(queue);
      queue.start();
      queue.wait();
      window.get_into(queue, got.data(), size_bytes, kBegin);
      queue.start();
      queue.wait();
      stream.synchronize();
      EXPECT_EQ(find_pattern_error(got.read(0, size_bytes), session.partner(), 4), "");
      EXPECT_TRUE(is_poison(got.read(size_bytes, kGuardBytes)));
      window.complete();
      window.meet(stream, queue);  // nobody frees what the other still reads
    }
  }
}

// Many puts of one batch, from both kinds of memory, in front of one signal.
TEST_F(QueueOneSided, ASignal_ComesBehindAllPutsOfItsBatch) {
  constexpr std::size_t kBytes = 40000;
  constexpr int kPuts = 40;
  const Session &session = Session::get();
  const Memory memory = make_memory(Kind::device, kPuts * kBytes);
  const Memory kept = make_memory(Kind::device, kPuts * kBytes);
  const Memory of_device = make_memory(Kind::device, kPuts * kBytes);
  const Memory of_host = make_memory(Kind::host, kPuts * kBytes);
  of_device.fill_pattern(session.rank(), 1);
  of_host.fill_pattern(session.rank(), 1);
  ProgramStream stream;
  const TestQueue queue(stream);
  QueueWindow window(memory);
  window.meet(stream, queue);
  for (int k = 0; k < kPuts; ++k) {
    const std::size_t at = static_cast<std::size_t>(k) * kBytes;
    window.put(queue, (k % 3 == 0 ? of_host : of_device).at(at), kBytes, at);
  }
  window.signal(queue);
  window.wait_signal(queue);
  queue.start();
  queue.wait();
  stream.copy(kept.data(), memory.data(), kPuts * kBytes);
  stream.synchronize();
  EXPECT_EQ(find_pattern_error(kept.read(), session.partner(), 1), "");
  window.complete();
}

// The bytes are those that the host MPI packs and unpacks.
TEST_F(QueueOneSided, TypesWithGaps_OnBothSides) {
  constexpr int kInts = 6000;
  constexpr std::size_t kBytes = kInts * 3 * sizeof(int);
  const Session &session = Session::get();
  MPI_Datatype pairs = MPI_DATATYPE_NULL;
  MPI_Datatype triples = MPI_DATATYPE_NULL;
  EXPECT_MPI(MPI_Type_vector(kInts / 2, 2, 5, MPI_INT, &pairs));
  EXPECT_MPI(MPI_Type_vector(kInts / 3, 3, 7, MPI_INT, &triples));
  EXPECT_MPI(MPI_Type_commit(&pairs));
  EXPECT_MPI(MPI_Type_commit(&triples));
  for (const Kind kind : {Kind::device, Kind::host}) {
    SCOPED_TRACE(kind_name(kind));
    const Memory memory = make_memory(Kind::device, kBytes);
    const Memory out = make_memory(kind, kBytes);
    out.fill_pattern(session.rank(), 7);
    const Memory theirs = make_memory(Kind::host, kBytes);
    theirs.fill_pattern(session.partner(), 7);
    const Memory expected = make_memory(Kind::host, kBytes);
    Bytes packed(kInts * sizeof(int));
    int position = 0;
    EXPECT_MPI(
        MPI_Pack(theirs.data(), 1, pairs, packed.data(), static_cast<int>(packed.size()), &position, MPI_COMM_SELF));
    position = 0;
    EXPECT_MPI(MPI_Unpack(packed.data(), static_cast<int>(packed.size()), &position, expected.data(), 1, triples,
                          MPI_COMM_SELF));
    ProgramStream stream;
    const TestQueue queue(stream);
    QueueWindow window(memory);
    window.meet(stream, queue);
    EXPECT_MPI(one_sided().put(out.data(), 1, pairs, QueueWindow::peer(), 0, 1, triples, window.get(), queue.get(),
                               window.add()));
    window.signal(queue);
    window.wait_signal(queue);
    queue.start();
    queue.wait();
    stream.synchronize();
    EXPECT_TRUE(memory.read() == expected.read());
    window.complete();
  }
  EXPECT_MPI(MPI_Type_free(&pairs));
  EXPECT_MPI(MPI_Type_free(&triples));
}

// Signals are of a window: those of another one do not count, in whichever order they come.
TEST_F(QueueOneSided, SignalsOfTwoWindows_AreNotMixedUp) {
  const Session &session = Session::get();
  const Memory first = make_memory(Kind::device, 4096);
  const Memory second = make_memory(Kind::device, 4096);
  const Memory out = make_memory(Kind::device, 4096);
  const Memory kept = make_memory(Kind::device, 4096);
  out.fill_pattern(session.rank(), 5);
  ProgramStream stream;
  const TestQueue queue(stream);
  QueueWindow one(first);
  QueueWindow two(second);
  one.meet(stream, queue);
  two.meet(stream, queue);
  one.signal(queue);
  queue.start();
  two.put(queue, out.data(), 4096, 0);
  two.signal(queue);
  queue.start();
  two.wait_signal(queue);
  queue.start();
  queue.wait();
  stream.copy(kept.data(), second.data(), 4096);
  one.wait_signal(queue);
  queue.start();
  queue.wait();
  stream.synchronize();
  EXPECT_EQ(find_pattern_error(kept.read(), session.partner(), 5), "");
  one.complete();
  two.complete();
}

TEST_F(QueueOneSided, ToTheRankItself_AndToNobody) {
  const Session &session = Session::get();
  const Memory memory = make_memory(Kind::device, 5003);
  const Memory out = make_memory(Kind::device, 5003);
  out.fill_pattern(session.rank(), 2);
  ProgramStream stream;
  const TestQueue queue(stream);
  QueueWindow window(memory);
  window.meet(stream, queue);
  for (const int target : std::array<int, 2>{session.rank(), MPI_PROC_NULL}) {
    EXPECT_MPI(one_sided().put(out.data(), 5003, MPI_BYTE, target, 0, 5003, MPI_BYTE, window.get(), queue.get(),
                               window.add()));
    EXPECT_MPI(one_sided().signal(target, window.get(), queue.get(), window.add()));
    EXPECT_MPI(one_sided().wait_signal(target, window.get(), queue.get(), window.add()));
    queue.start();
    queue.wait();
    stream.synchronize();
    EXPECT_EQ(find_pattern_error(memory.read(), session.rank(), 2), "");
  }
  window.complete();
}

TEST_F(QueueOneSided, WrongCalls_AreRefused_AndNothingIsLost) {
  const Session &session = Session::get();
  const Memory memory = make_memory(Kind::device, 4096);
  const Memory of_host = make_memory(Kind::host, 4096);
  const Memory out = make_memory(Kind::device, 4096);
  out.fill_pattern(session.rank(), 3);
  ProgramStream stream;
  const TestQueue queue(stream);
  MPI_Request request = MPI_REQUEST_NULL;
  const int peer = QueueWindow::peer();
  {
    const TestWindow without_epoch(memory, 1);
    expect_refused(
        one_sided().put(out.data(), 8, MPI_BYTE, peer, 0, 8, MPI_BYTE, without_epoch.get(), queue.get(), &request),
        MPI_ERR_RMA_SYNC, "MPI_Win_lock");
    const TestWindow of_the_host(of_host, 1);
    expect_refused(one_sided().signal(peer, of_the_host.get(), queue.get(), &request), MPI_ERR_ARG, "device memory");
    expect_refused(one_sided().signal(session.size(), without_epoch.get(), queue.get(), &request), MPI_ERR_RANK,
                   "no rank");
    const TestQueue of_self(stream, MPI_COMM_SELF);
    if (session.size() > 1) {
      expect_refused(one_sided().signal(0, without_epoch.get(), of_self.get(), &request), MPI_ERR_ARG, "other ranks");
    }
  }
  QueueWindow window(memory);
  expect_refused(one_sided().put(out.data(), 8, MPI_BYTE, peer, 4090, 8, MPI_BYTE, window.get(), queue.get(), &request),
                 MPI_ERR_RMA_RANGE, "beyond the window");
  expect_refused(
      one_sided().get(out.data(), 8, MPI_BYTE, session.size(), 0, 8, MPI_BYTE, window.get(), queue.get(), &request),
      MPI_ERR_RANK, "no rank");
  expect_refused(one_sided().put(out.data(), 8, MPI_BYTE, peer, 0, 8, MPI_BYTE, window.get(), queue.get(), nullptr),
                 MPI_ERR_ARG, "null");
  EXPECT_EQ(request, MPI_REQUEST_NULL);
  EXPECT_TRUE(is_poison(memory.read()));
  window.meet(stream, queue);
  window.put(queue, out.data(), 4096, 0);
  window.meet(stream, queue);
  EXPECT_EQ(find_pattern_error(memory.read(), session.partner(), 3), "");
}

TEST_F(QueueOneSided, AWindow_IsNotFreedBeforeAllIsComplete) {
  const Session &session = Session::get();
  const Memory memory = make_memory(Kind::device, 4096);
  const Memory out = make_memory(Kind::device, 4096);
  ProgramStream stream;
  const TestQueue queue(stream);
  MPI_Win window = MPI_WIN_NULL;
  EXPECT_MPI(MPI_Win_create(memory.data(), 4096, 1, MPI_INFO_NULL, session.comm(), &window));
  EXPECT_MPI(MPI_Win_set_errhandler(window, MPI_ERRORS_RETURN));
  EXPECT_MPI(MPI_Win_lock_all(0, window));
  MPI_Request request = MPI_REQUEST_NULL;
  stream.close_gate();
  EXPECT_MPI(one_sided().put(out.data(), 4096, MPI_BYTE, QueueWindow::peer(), 0, 4096, MPI_BYTE, window, queue.get(),
                             &request));
  queue.start();
  EXPECT_MPI(MPI_Win_unlock_all(window));
  expect_refused(MPI_Win_free(&window), MPI_ERR_RMA_SYNC, "1 operations of queues");
  stream.open_gates();
  EXPECT_MPI(MPI_Wait(&request, MPI_STATUS_IGNORE));
  EXPECT_MPI(MPI_Barrier(session.comm()));
  EXPECT_MPI(MPI_Win_free(&window));
}

// Though nobody has looked since: the queue does.
TEST_F(QueueOneSided, AQueueIsFree_WhenTheStreamHasPassedItsWait) {
  const Session &session = Session::get();
  const Memory memory = make_memory(Kind::device, 4096);
  const Memory out = make_memory(Kind::device, 4096);
  out.fill_pattern(session.rank(), 6);
  ProgramStream stream;
  QueueWindow window(memory);
  for (int k = 0; k < 50; ++k) {
    const TestQueue queue(stream);
    window.put(queue, out.data(), 4096, 0);
    queue.start();
    queue.wait();
    stream.synchronize();
  }
  window.complete();
  EXPECT_MPI(MPI_Barrier(session.comm()));
  EXPECT_EQ(find_pattern_error(memory.read(), session.partner(), 6), "");
}

}  // namespace sluice::tests::one_sided_test
