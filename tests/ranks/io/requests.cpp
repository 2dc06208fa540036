// SPDX-License-Identifier: BSD-3-Clause
// Several calls with requests under way on a file, completed in every fashion; and collective calls behind them.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <deque>
#include <string>
#include <vector>

#include "tests/ranks/io/test_file.hpp"
#include "tests/support/host_mpi.hpp"
#include "tests/support/statistics.hpp"

namespace sluice::tests::requests_test {
namespace {

constexpr int kCalls = 4;
constexpr std::size_t kBytes = 1500;

enum class Completion { waitall, testall, waitany };

void complete(Completion completion, std::array<MPI_Request, kCalls> *requests,
              std::array<MPI_Status, kCalls> *statuses) {
  int is_done = 0;
  switch (completion) {
    case Completion::waitall:
      EXPECT_EQ(MPI_Waitall(kCalls, requests->data(), statuses->data()), MPI_SUCCESS);
      return;
    case Completion::testall:
      while (is_done == 0) {
        ASSERT_EQ(MPI_Testall(kCalls, requests->data(), &is_done, statuses->data()), MPI_SUCCESS);
      }
      return;
    case Completion::waitany:
      for (int i = 0; i < kCalls; ++i) {
        int index = MPI_UNDEFINED;
        MPI_Status status;
        ASSERT_EQ(MPI_Waitany(kCalls, requests->data(), &index, &status), MPI_SUCCESS);
        ASSERT_NE(index, MPI_UNDEFINED);
        (*statuses)[static_cast<std::size_t>(index)] = status;
      }
  }
}

// Calls of one way, one behind the other in the file, with data of their own.
void have_under_way(Trial &run, Way way, Completion completion) {
  const int rank = Session::get().rank();
  TestFile file;
  const auto region = static_cast<MPI_Offset>(kBytes * kCalls);
  std::array<MPI_Request, kCalls> requests{};
  std::array<MPI_Status, kCalls> statuses{};
  std::array<const Memory *, kCalls> read{};
  for (const bool is_read : {false, true}) {
    MPI_File_seek(file.get(), rank * region, seek_set());
    for (std::size_t i = 0; i < kCalls; ++i) {
      const Memory &memory = is_read ? run.output(kBytes) : run.input(kBytes, static_cast<int>(i));
      if (is_read) read[i] = &memory;
      FileCall call;
      call.buffer = memory.data();
      call.count = kBytes;
      call.offset = rank * region + static_cast<MPI_Offset>(i * kBytes);
      requests[i] = MPI_REQUEST_NULL;
      run.call("start", (is_read ? start_reading : start_writing)(way, file.get(), call, &requests[i]));
    }
    MPI_Offset position = 0;
    run.call("MPI_File_get_position", MPI_File_get_position(file.get(), &position));
    run.note("position", position);
    complete(completion, &requests, &statuses);
    for (const MPI_Status &status : statuses) note_file_status(run, "completed", status, MPI_BYTE);
    MPI_File_sync(file.get());
    MPI_Barrier(Session::get().comm());
  }
  for (std::size_t i = 0; i < kCalls; ++i) run.expect_pattern(*read[i], rank, static_cast<int>(i), kBytes);
  run.note("file", static_cast<long long>(hash_of(file.close())));
}

TEST(FileRequests, MayBeUnderWayTogether) {
  for (const Way way : {Way::i_at, Way::i_individual, Way::i_at_all, Way::i_all}) {
    for (const Completion completion : {Completion::waitall, Completion::testall, Completion::waitany}) {
      if (completion == Completion::testall && loses_file_requests_in_testall()) continue;
      SCOPED_TRACE(std::string(way_name(way)) + " completion " + std::to_string(static_cast<int>(completion)));
      compare_with_host({device_or_host(), device_or_host(), 0},
                        [&](Trial &run) { have_under_way(run, way, completion); });
    }
  }
}

// A blocking collective call behind one that is still under way, completed afterwards.
TEST(FileRequests, ArePassedByNoCollectiveCall) {
  compare_with_host({device_or_host(), device_or_host(), 0}, [](Trial &run) {
    const Session &session = Session::get();
    TestFile file;
    const Memory &first = run.input(kBytes, 1);
    const Memory &second = run.input(kBytes, 2);
    const auto region = static_cast<MPI_Offset>(2 * kBytes);
    FileCall call;
    call.buffer = first.data();
    call.count = kBytes;
    call.offset = session.rank() * region;
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Status status{};
    run.call("start", start_writing(Way::i_at_all, file.get(), call, &request));
    call.buffer = second.data();
    call.offset += static_cast<MPI_Offset>(kBytes);
    run.call("write", write_by(Way::at_all, file.get(), call, &status));
    note_file_status(run, "write", status, MPI_BYTE);
    run.call("MPI_Wait", MPI_Wait(&request, &status));
    note_file_status(run, "wait", status, MPI_BYTE);
    run.note("file", static_cast<long long>(hash_of(file.close())));
  });
}

// ROMIO calls MPI by its public names with its lock held, and so has turns taken: they must not come to files again.
TEST(FileRequests, LeaveFunctionsOnTheFileTheirLock) {
  const Session &session = Session::get();
  compare_with_host({device_or_host(), device_or_host(), 0}, [&](Trial &run) {
    TestFile file;
    const auto region = static_cast<MPI_Offset>(kBytes);
    std::deque<MPI_Request> requests;
    for (int i = 0; i < 20; ++i) {
      FileCall call;
      call.buffer = run.input(kBytes, i).data();
      call.count = kBytes;
      call.offset = (session.rank() * 20 + i) * region;
      requests.push_back(MPI_REQUEST_NULL);
      run.call("start", start_writing(Way::i_at, file.get(), call, &requests.back()));
      run.call("MPI_File_seek_shared", MPI_File_seek_shared(file.get(), i, MPI_SEEK_SET));
    }
    for (MPI_Request &request : requests) run.call("MPI_Wait", MPI_Wait(&request, MPI_STATUS_IGNORE));
    run.note("file", static_cast<long long>(hash_of(file.close())));
  });
}

// The rank that the message is for waits for it before it comes to the collective call that the sender is in.
TEST(FileRequests, LeaveMessagesTheirWay_WhileARankWaitsInACollectiveCall) {
  const Session &session = Session::get();
  if (session.size() < 2) GTEST_SKIP() << "missing: a second rank";
  compare_with_host({device_or_host(), device_or_host(), 0}, [&](Trial &run) {
    constexpr std::size_t kLong = std::size_t{1} << 20;
    TestFile file;
    const Memory &sent = run.input(kLong, 1);
    const Memory &received = run.output(kLong);
    const Memory &written = run.input(kBytes, 2);
    MPI_Request request = MPI_REQUEST_NULL;
    if (session.rank() == 0) {
      run.call("MPI_Isend", MPI_Isend(sent.data(), kLong, MPI_BYTE, 1, 3, session.comm(), &request));
    }
    if (session.rank() == 1) {
      run.call("MPI_Recv", MPI_Recv(received.data(), kLong, MPI_BYTE, 0, 3, session.comm(), MPI_STATUS_IGNORE));
    }
    FileCall call;
    call.buffer = written.data();
    call.count = kBytes;
    call.offset = session.rank() * static_cast<MPI_Offset>(kBytes);
    run.call("write", write_by(Way::at_all, file.get(), call, MPI_STATUS_IGNORE));
    run.call("MPI_Wait", MPI_Wait(&request, MPI_STATUS_IGNORE));
    run.note("file", static_cast<long long>(hash_of(file.close())));
  });
}

// ROMIO sets the pointer back to where it was when a collective call began, in the middle of that call.
TEST(FileRequests, LeaveTheIndividualPointerToTheProgram) {
  const int rank = Session::get().rank();
  for (const Way way : {Way::i_at_all, Way::i_all}) {
    SCOPED_TRACE(way_name(way));
    compare_with_host({device_or_host(), device_or_host(), 0}, [&](Trial &run) {
      TestFile file;
      FileCall call;
      call.buffer = run.input(kBytes, 1).data();
      call.count = kBytes;
      call.offset = rank * static_cast<MPI_Offset>(kBytes);
      for (const bool is_read : {false, true}) {
        const Memory &read = run.output(kBytes);
        if (is_read) call.buffer = read.data();
        MPI_File_seek(file.get(), call.offset, seek_set());
        MPI_Request request = MPI_REQUEST_NULL;
        run.call("start", (is_read ? start_reading : start_writing)(way, file.get(), call, &request));
        int is_done = 0;
        for (MPI_Offset place = 1; is_done == 0; ++place) {
          MPI_File_seek(file.get(), place, seek_set());
          ASSERT_EQ(MPI_Test(&request, &is_done, MPI_STATUS_IGNORE), MPI_SUCCESS);
          MPI_Offset position = 0;
          MPI_File_get_position(file.get(), &position);
          ASSERT_EQ(position, place) << (is_read ? "in a read" : "in a write");
        }
        MPI_File_sync(file.get());
        MPI_Barrier(Session::get().comm());
        if (is_read) run.expect_pattern(read, rank, 1, kBytes);
      }
      run.note("file", static_cast<long long>(hash_of(file.close())));
    });
  }
}

// The bytes of a long call need no more staging memory than two blocks have.
TEST(FileRequests, TakeTwoBlocksOfStagingMemory) {
  if (!Session::get().has_kind(Kind::device)) GTEST_SKIP() << "missing: device memory";
  if (staging_bytes() < 0) GTEST_SKIP() << "missing: statistics";
  const char *const block = std::getenv("TEST_FILE_BLOCK");  // NOLINT(concurrency-mt-unsafe): nobody sets it
  if (block == nullptr) GTEST_SKIP() << "missing: the length of a block (TEST_FILE_BLOCK)";
  const long long limit = std::max(staging_bytes(), 2 * std::max(std::atoll(block), 4096LL));  // the pool's shortest
  constexpr int kLong = 16 << 10;
  const Memory memory(Session::get().module(), Kind::device, kLong);
  memory.fill_pattern(Session::get().rank(), 3);
  for (const Way way : every_way()) {
    // An ordered call is one access where its pointer cannot be moved.
    if (is_joint(way) && is_by_shared_pointer(way) && seek_set() != MPI_SEEK_SET) continue;
    SCOPED_TRACE(way_name(way));
    TestFile file;
    FileCall call;
    call.buffer = memory.data();
    call.count = kLong;
    call.offset = Session::get().rank() * static_cast<MPI_Offset>(kLong);
    MPI_File_seek(file.get(), call.offset, seek_set());
    in_order(way, [&] { EXPECT_EQ(write_by(way, file.get(), call, MPI_STATUS_IGNORE), MPI_SUCCESS); });
    EXPECT_LE(staging_bytes(), limit);
    const Bytes all = file.close();
    ASSERT_EQ(all.size(), static_cast<std::size_t>(kLong) * static_cast<std::size_t>(Session::get().size()));
    const Bytes own(all.begin() + call.offset, all.begin() + call.offset + kLong);
    EXPECT_EQ(find_pattern_error(own, Session::get().rank(), 3), "");
  }
}

}  // namespace
}  // namespace sluice::tests::requests_test
