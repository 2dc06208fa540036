// SPDX-License-Identifier: BSD-3-Clause
// Files in atomic mode, whose accesses are whole however ranks overlap, and files that are written and read in sequence
// only.
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/ranks/io/test_file.hpp"
#include "tests/support/host_mpi.hpp"
#include "tests/support/statistics.hpp"

namespace sluice::tests::modes_test {
namespace {

constexpr std::size_t kBytes = 48 << 10;
constexpr int kTimes = 8;  // accesses of each rank, for ranks to meet in one

void use_atomic_mode(MPI_File file) {
  int is_atomic = 0;
  EXPECT_EQ(MPI_File_set_atomicity(file, 1), MPI_SUCCESS);
  EXPECT_EQ(MPI_File_get_atomicity(file, &is_atomic), MPI_SUCCESS);
  EXPECT_NE(is_atomic, 0);
}

// At how many ranks `holds`.
int count_ranks(bool holds) {
  int own = holds ? 1 : 0;
  int all = 0;
  MPI_Allreduce(&own, &all, 1, MPI_INT, MPI_SUM, Session::get().comm());
  return all;
}

// All ranks write the same bytes at once.
void overwrite(Trial &run, Way way) {
  TestFile file;
  use_atomic_mode(file.get());
  Bytes last;
  for (int time = 0; time < kTimes; ++time) {
    const Memory &in = run.input(kBytes, time);
    FileCall call;
    call.buffer = in.data();
    call.count = kBytes;
    MPI_File_seek(file.get(), 0, seek_set());
    MPI_Barrier(Session::get().comm());
    MPI_Status status{};
    run.call("write", write_by(way, file.get(), call, &status));
    note_file_status(run, "write", status, MPI_BYTE);
    last = in.read();
    MPI_Barrier(Session::get().comm());
  }
  // The last access of one rank is there, and of no other.
  EXPECT_EQ(count_ranks(file.close() == last), 1) << "ranks whose data is in the file, whole";
}

TEST(FileModes, KeepWritesWhole_InAtomicMode) {
  for (const Way way : every_way()) {
    if (is_by_shared_pointer(way)) continue;  // which lets no ranks overlap
    if (is_joint(way) && has_request(way) && tears_collective_requests_in_atomic_mode()) continue;
    if (is_joint(way) && has_request(way) && crashes_in_atomic_requests()) continue;
    SCOPED_TRACE(way_name(way));
    compare_with_host({device_or_host(), device_or_host(), 0}, [&](Trial &run) { overwrite(run, way); });
  }
}

// The first rank writes what the others read at the same time.
TEST(FileModes, KeepReadsWhole_InAtomicMode) {
  const Session &session = Session::get();
  if (tears_reads_in_atomic_mode()) GTEST_SKIP() << "missing: a host MPI that reads whole in atomic mode";
  for (const Way way : {Way::at, Way::individual, Way::i_at, Way::i_individual}) {
    SCOPED_TRACE(way_name(way));
    TestFile file;
    use_atomic_mode(file.get());
    const Memory memory(session.module(), device_or_host(), kBytes);
    FileCall call;
    call.buffer = memory.data();
    call.count = kBytes;
    for (int time = 0; time < kTimes; ++time) {
      MPI_File_seek(file.get(), 0, seek_set());
      if (time > 0 && session.rank() != 0) {
        EXPECT_EQ(read_by(way, file.get(), call, MPI_STATUS_IGNORE), MPI_SUCCESS);
        const Bytes seen = memory.read();
        EXPECT_TRUE(find_pattern_error(seen, 0, time - 1).empty() || find_pattern_error(seen, 0, time).empty())
            << "neither what was there nor what was written: " << find_pattern_error(seen, 0, time);
      } else if (session.rank() == 0) {
        memory.fill_pattern(0, time);
        EXPECT_EQ(write_by(way, file.get(), call, MPI_STATUS_IGNORE), MPI_SUCCESS);
      }
      MPI_Barrier(session.comm());
    }
  }
}

// One access needs all of its data in staging memory, and no more.
TEST(FileModes, TakeTheDataOfStagingMemory_InAtomicMode) {
  if (!Session::get().has_kind(Kind::device)) GTEST_SKIP() << "missing: device memory";
  if (staging_bytes() < 0) GTEST_SKIP() << "missing: statistics";
  const Memory memory(Session::get().module(), Kind::device, kBytes);
  const auto limit = std::max(staging_bytes(), 2 * static_cast<long long>(kBytes));  // the pool's next length
  for (const Way way : every_way()) {
    if (is_joint(way) && has_request(way) && crashes_in_atomic_requests()) continue;
    SCOPED_TRACE(way_name(way));
    TestFile file;
    use_atomic_mode(file.get());
    FileCall call;
    call.buffer = memory.data();
    call.count = kBytes;
    call.offset = Session::get().rank() * static_cast<MPI_Offset>(kBytes);
    in_order(way, [&] { EXPECT_EQ(write_by(way, file.get(), call, MPI_STATUS_IGNORE), MPI_SUCCESS); });
    EXPECT_LE(staging_bytes(), limit);
  }
}

// Written in turns by the shared pointer, then read so.
TEST(FileModes, AreThoseOfTheHostMpi_InSequence) {
  constexpr std::size_t kPart = 1500;
  for (const Way way : {Way::shared, Way::ordered, Way::split_ordered, Way::i_shared}) {
    SCOPED_TRACE(way_name(way));
    compare_with_host({device_or_host(), device_or_host(), 0}, [&](Trial &run) {
      TestFile file(MPI_MODE_CREATE | MPI_MODE_WRONLY | MPI_MODE_SEQUENTIAL);
      MPI_Status status{};
      const Memory &in = run.input(kPart, 1);
      const Memory &out = run.output(kPart);
      for (const bool is_read : {false, true}) {
        if (is_read) file.reopen(MPI_MODE_RDONLY | MPI_MODE_SEQUENTIAL);
        FileCall call;
        call.buffer = is_read ? out.data() : in.data();
        call.count = kPart;
        const auto function = is_read ? read_by : write_by;
        in_order(way, [&] { run.call("access", function(way, file.get(), call, &status)); });
        note_file_status(run, "access", status, MPI_BYTE);
        MPI_Barrier(Session::get().comm());
      }
      const Bytes all = file.close();
      run.buffer(Kind::host, all.size()).write(0, all.data(), all.size());
      run.expect_pattern(out, Session::get().rank(), 1, kPart);
    });
  }
}

// Open MPI lets them write.
TEST(FileModes, RefuseOtherPositionsAsTheHostMpi_InSequence) {
  compare_with_host({device_or_host(), device_or_host(), 0}, [](Trial &run) {
    TestFile file(MPI_MODE_CREATE | MPI_MODE_WRONLY | MPI_MODE_SEQUENTIAL);
    FileCall call;
    call.buffer = run.input(1500, 1).data();
    call.count = 1500;
    for (const Way way : {Way::at, Way::individual}) {
      note_class(run, way_name(way), write_by(way, file.get(), call, MPI_STATUS_IGNORE));
    }
  });
}

}  // namespace
}  // namespace sluice::tests::modes_test
