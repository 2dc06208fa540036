// SPDX-License-Identifier: BSD-3-Clause
// The shared pointer, moved by all ranks at once: each call has one part of the file for itself, however many blocks it
// takes, and whatever memory the other ranks have.
#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <set>
#include <string>
#include <utility>

#include "tests/ranks/io/test_file.hpp"
#include "tests/support/host_mpi.hpp"

namespace sluice::tests::shared_test {
namespace {

constexpr std::size_t kBytes = 3000;
constexpr int kTimes = 6;

// The call of which these bytes are: its rank and its number; {-1, -1} if they are no call's data.
std::pair<int, int> call_of(const Bytes &bytes) {
  for (int rank = 0; rank < Session::get().size(); ++rank) {
    for (int time = 0; time < kTimes; ++time) {
      if (find_pattern_error(bytes, rank, time).empty()) return {rank, time};
    }
  }
  return {-1, -1};
}

// The first rank of several has host memory.
Kind own_kind() {
  return Session::get().rank() == 0 && Session::get().size() > 1 ? Kind::host : device_or_host();
}

FileCall call_on(const Memory &memory) {
  FileCall call;
  call.buffer = memory.data();
  call.count = kBytes;
  return call;
}

// Of each way to write a file in which every call is whole.
void write_at_once(Way way, MPI_File file) {
  const Session &session = Session::get();
  const Memory memory(session.module(), own_kind(), kBytes);
  for (int time = 0; time < kTimes; ++time) {
    memory.fill_pattern(session.rank(), time);
    MPI_Status status{};
    EXPECT_EQ(write_by(way, file, call_on(memory), &status), MPI_SUCCESS);
    int count = 0;
    MPI_Get_count(&status, MPI_BYTE, &count);
    EXPECT_EQ(count, static_cast<int>(kBytes));
  }
}

void expect_whole_calls(const Bytes &all) {
  const std::size_t n_calls = static_cast<std::size_t>(Session::get().size()) * kTimes;
  ASSERT_EQ(all.size(), n_calls * kBytes);
  std::set<std::pair<int, int>> found;
  for (std::size_t i = 0; i < n_calls; ++i) {
    const auto begin = all.begin() + static_cast<std::ptrdiff_t>(i * kBytes);
    const std::pair<int, int> call = call_of(Bytes(begin, begin + kBytes));
    EXPECT_NE(call.first, -1) << "part " << i << " of the file is of several calls";
    found.insert(call);
  }
  EXPECT_EQ(found.size(), n_calls);
}

TEST(SharedPointers, GiveEachCallItsPart_WhenAllRanksWriteAtOnce) {
  for (const Way way : {Way::shared, Way::i_shared, Way::ordered, Way::split_ordered}) {
    SCOPED_TRACE(way_name(way));
    TestFile file;
    write_at_once(way, file.get());
    expect_whole_calls(file.close());
  }
}

TEST(SharedPointers, GiveEachCallItsPart_WhenAllRanksReadAtOnce) {
  const Session &session = Session::get();
  for (const Way way : {Way::shared, Way::i_shared, Way::ordered}) {
    SCOPED_TRACE(way_name(way));
    TestFile file;
    write_at_once(way, file.get());
    MPI_File_sync(file.get());
    MPI_Barrier(session.comm());
    MPI_File_seek_shared(file.get(), 0, seek_set());
    const Memory memory(session.module(), own_kind(), kBytes);
    int n_whole = 0;
    for (int time = 0; time < kTimes; ++time) {
      EXPECT_EQ(read_by(way, file.get(), call_on(memory), MPI_STATUS_IGNORE), MPI_SUCCESS);
      if (call_of(memory.read()).first != -1) ++n_whole;
    }
    EXPECT_EQ(n_whole, kTimes) << "reads that brought one call's data";
  }
}

// Between the start and the completion of a call the pointer stands behind it already, for all ranks.
TEST(SharedPointers, StandBehindACallWithARequest_WhenItIsMade) {
  const Session &session = Session::get();
  TestFile file;
  const Memory memory(session.module(), own_kind(), kBytes);
  memory.fill_pattern(session.rank(), 0);
  std::array<MPI_Request, 1> request = {MPI_REQUEST_NULL};
  for (int rank = 0; rank < session.size(); ++rank) {
    if (rank == session.rank()) {
      EXPECT_EQ(start_writing(Way::i_shared, file.get(), call_on(memory), request.data()), MPI_SUCCESS);
    }
    MPI_Barrier(session.comm());
    MPI_Offset position = 0;
    EXPECT_EQ(MPI_File_get_position_shared(file.get(), &position), MPI_SUCCESS);
    EXPECT_EQ(position, (rank + 1) * static_cast<MPI_Offset>(kBytes));
    MPI_Barrier(session.comm());
  }
  EXPECT_EQ(MPI_Waitall(1, request.data(), MPI_STATUSES_IGNORE), MPI_SUCCESS);
  const Bytes all = file.close();
  ASSERT_EQ(all.size(), kBytes * static_cast<std::size_t>(session.size()));
  const auto own = all.begin() + session.rank() * static_cast<std::ptrdiff_t>(kBytes);
  EXPECT_EQ(find_pattern_error(Bytes(own, own + kBytes), session.rank(), 0), "");
}

}  // namespace
}  // namespace sluice::tests::shared_test
