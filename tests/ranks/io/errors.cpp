// SPDX-License-Identifier: BSD-3-Clause
// Calls that fail, and what is read behind the end: as the host MPI says on host memory. A device whose copy fails
// costs its rank the call, and no other.
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <string>

#include "tests/ranks/io/test_file.hpp"
#include "tests/support/host_mpi.hpp"
#include "tests/support/statistics.hpp"

namespace sluice::tests::errors_test {
namespace {

constexpr std::size_t kBytes = 3000;

FileCall call_of(const Memory &memory) {
  FileCall call;
  call.buffer = memory.data();
  call.count = kBytes;
  call.offset = Session::get().rank() * static_cast<MPI_Offset>(kBytes);
  return call;
}

template <typename Body>
void for_each_way(Body body) {
  for (const Way way : every_way()) {
    SCOPED_TRACE(way_name(way));
    body(way);
  }
}

TEST(FileErrors, AreTheHostMpis_WhenAFileIsReadOnly) {
  for_each_way([](Way way) {
    if (is_joint(way) && writes_read_only_files_together()) return;
    compare_with_host({device_or_host(), device_or_host(), 0}, [&](Trial &run) {
      TestFile file;
      file.reopen(MPI_MODE_RDONLY);
      const FileCall call = call_of(run.input(kBytes));
      // ROMIO never completes a request of its own that failed; and the halves of a split call have errors of their
      // own.
      if (has_request(way) && (is_joint(way) || run.send_kind() == Kind::host)) return;
      const int code = write_by(way, file.get(), call, MPI_STATUS_IGNORE);
      EXPECT_TRUE(code != MPI_SUCCESS || is_split(way));
      if (!has_request(way) && !is_split(way)) note_class(run, "write", code);
      EXPECT_EQ(file.close().size(), 0U);
    });
  });
}

TEST(FileErrors, AreTheHostMpis_WhenAFileIsClosed) {
  if (crashes_on_no_file()) GTEST_SKIP() << "missing: a host MPI that lives after MPI_FILE_NULL";
  for_each_way([](Way way) {
    compare_with_host({device_or_host(), device_or_host(), 0}, [&](Trial &run) {
      const FileCall call = call_of(run.input(kBytes));
      note_class(run, "write", write_by(way, MPI_FILE_NULL, call, MPI_STATUS_IGNORE));
    });
  });
}

// Calls of one rank alone: of collective ones the host MPIs leave the others waiting.
TEST(FileErrors, AreTheHostMpis_WhenArgumentsAreWrong) {
  compare_with_host({device_or_host(), device_or_host(), 0}, [&](Trial &run) {
    TestFile file;
    FileCall call = call_of(run.input(kBytes));
    call.offset = -5;
    note_class(run, "offset", write_by(Way::at, file.get(), call, MPI_STATUS_IGNORE));
    call.offset = 0;
    call.count = -1;
    note_class(run, "count", write_by(Way::at, file.get(), call, MPI_STATUS_IGNORE));
    note_class(run, "count of a request", write_by(Way::i_at, file.get(), call, MPI_STATUS_IGNORE));
    call.count = 4;
    call.type = MPI_DATATYPE_NULL;
    note_class(run, "type", write_by(Way::at, file.get(), call, MPI_STATUS_IGNORE));
    MPI_File_set_view(file.get(), 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL);
    call.count = 2999;  // no whole ints
    call.type = MPI_BYTE;
    note_class(run, "etypes", write_by(Way::at, file.get(), call, MPI_STATUS_IGNORE));
    run.note("file", static_cast<long long>(file.close().size()));
  });
}

TEST(FileErrors, AreNone_WhenAFileEndsEarly) {
  for_each_way([](Way way) {
    if ((is_split(way) || has_request(way)) && hangs_in_pending_reads_behind_the_end()) return;
    // What ROMIO's ranks exchange of what is behind the end is of its own memory.
    if (is_joint(way) && Session::get().size() > 1) return;
    compare_with_host({device_or_host(), device_or_host(), 0}, [&](Trial &run) {
      TestFile file;
      FileCall call = call_of(run.input(kBytes));
      call.offset = 0;
      if (Session::get().rank() == 0) {
        run.call("write", write_by(Way::at, file.get(), call, MPI_STATUS_IGNORE));
      }
      MPI_File_sync(file.get());
      MPI_Barrier(Session::get().comm());
      call.offset = 1100;
      MPI_File_seek(file.get(), call.offset, seek_set());
      call.buffer = run.output(kBytes).data();
      MPI_Status status{};
      in_order(way, [&] { run.call("read", read_by(way, file.get(), call, &status)); });
      note_file_status(run, "read", status, MPI_BYTE);
      MPI_Offset position = 0;
      if (way != Way::i_individual || !ends_pointers_at_the_end()) MPI_File_get_position(file.get(), &position);
      run.note("position", position);
    });
  });
}

// The file may grow no further than that.
class Limited {
 public:
  explicit Limited(rlim_t bytes) {
    former_handler_ = std::signal(SIGXFSZ, SIG_IGN);
    getrlimit(RLIMIT_FSIZE, &former_);
    rlimit limit = former_;
    limit.rlim_cur = bytes;
    setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~Limited() {
    setrlimit(RLIMIT_FSIZE, &former_);
    std::signal(SIGXFSZ, former_handler_);
  }
  Limited(const Limited &) = delete;
  Limited &operator=(const Limited &) = delete;

 private:
  rlimit former_{};
  void (*former_handler_)(int) = nullptr;
};

constexpr rlim_t kDiskBytes = 1000;

// The library failing_disk is there, and fails what is written, or read.
bool has_failing_disk(const char *direction) {
  const char *const given = std::getenv("TEST_DISK_DIRECTION");  // NOLINT(concurrency-mt-unsafe): nobody sets it
  return given != nullptr && std::string(given) == direction;
}

// Ways whose errors the host MPIs tell: not of calls with requests, nor of the halves of a split call.
bool tells_errors(Way way) {
  return !has_request(way) && !is_split(way);
}

// Writes of one rank, or of all, are cut off in the middle of their blocks: here, or by the library failing_disk.
TEST(FileErrors, AreTheHostMpis_WhenTheDiskIsFull) {
  for_each_way([](Way way) {
    // Under a limit of the system's the host MPIs fail to make memory, and a shared pointer's file, that ranks share.
    if ((is_joint(way) || is_by_shared_pointer(way)) && !has_failing_disk("write")) return;
    if (is_joint(way) && !tells_errors(way)) return;
    compare_with_host({device_or_host(), device_or_host(), 0}, [&](Trial &run) {
      const Memory &in = run.input(kBytes);
      if (!tells_errors(way) && run.send_kind() == Kind::host) return;
      TestFile file;
      const FileCall call = call_of(in);
      MPI_File_seek(file.get(), call.offset, seek_set());
      MPI_Status status{};
      int code = MPI_SUCCESS;
      const bool takes_part = is_joint(way) || Session::get().rank() == 0;
      if (takes_part) {
        const Limited limited(has_failing_disk("write") ? RLIM_INFINITY : kDiskBytes);
        code = write_by(way, file.get(), call, &status);
      }
      EXPECT_TRUE(code != MPI_SUCCESS || Session::get().rank() != 0 || takes_cut_calls_for_whole());
      if (tells_errors(way)) note_class(run, "write", code);
      // MPICH counts nothing of a call that fails; Sluice counts the blocks before.
      if (tells_errors(way) && code == MPI_SUCCESS) note_file_status(run, "write", status, MPI_BYTE);
      const Bytes bytes = file.close();
      EXPECT_TRUE(is_joint(way) || bytes.size() == kDiskBytes);
      if (Session::get().rank() != 0) return;
      Bytes expected = in.read();
      expected.resize(std::min(expected.size(), bytes.size()));
      EXPECT_EQ(find_difference(expected, bytes), "");
    });
  });
}

// Calls that fail give back what they took.
TEST(FileErrors, KeepNoMemory_WhenTheDiskIsFull) {
  if (staging_bytes() < 0) GTEST_SKIP() << "missing: statistics";
  if (!has_failing_disk("write")) GTEST_SKIP() << "missing: failing_disk";
  const Memory memory(Session::get().module(), device_or_host(), kBytes);
  long long after_first = 0;
  for (int time = 0; time < 6; ++time) {
    for (const Way way : {Way::at, Way::i_at, Way::at_all}) {
      TestFile file;
      const int code = write_by(way, file.get(), call_of(memory), MPI_STATUS_IGNORE);
      const bool may_be_good = device_or_host() == Kind::host || takes_cut_calls_for_whole();
      EXPECT_TRUE(code != MPI_SUCCESS || Session::get().rank() != 0 || may_be_good);
    }
    if (time == 0) after_first = staging_bytes();
  }
  EXPECT_EQ(staging_bytes(), after_first);
}

// What was there before the error is read, by the library failing_disk.
TEST(FileErrors, AreTheHostMpis_WhenADiskCannotBeRead) {
  if (!has_failing_disk("read")) GTEST_SKIP() << "missing: failing_disk";
  for_each_way([](Way way) {
    if (is_joint(way) && (!tells_errors(way) || Session::get().size() > 1)) return;
    compare_with_host({device_or_host(), device_or_host(), 0}, [&](Trial &run) {
      FileCall call = call_of(run.input(kBytes));
      if (!tells_errors(way) && run.send_kind() == Kind::host) return;
      TestFile file;
      call.offset = 0;
      if (Session::get().rank() == 0) static_cast<void>(write_by(Way::at, file.get(), call, MPI_STATUS_IGNORE));
      MPI_File_sync(file.get());
      MPI_Barrier(Session::get().comm());
      const Memory out(Session::get().module(), run.recv_kind(), kBytes);
      call.buffer = out.data();
      int code = MPI_SUCCESS;
      in_order(way, [&] { code = read_by(way, file.get(), call, MPI_STATUS_IGNORE); });
      EXPECT_TRUE(code != MPI_SUCCESS || is_by_shared_pointer(way) || takes_cut_calls_for_whole());
      if (tells_errors(way)) note_class(run, "read", code);
    });
  });
}

// A copy of the last rank's device fails in the middle (the test's environment says so): an error there, and the others
// have their data in the file.
TEST(FileFaults, AreOneRanksOwn_WhenItsCopyFails) {
  const Session &session = Session::get();
  for (const Way way : {Way::at_all, Way::all, Way::split_at, Way::i_at_all, Way::i_all}) {
    SCOPED_TRACE(way_name(way));
    TestFile file;
    const Memory memory(session.module(), device_or_host(), kBytes);
    memory.fill_pattern(session.rank(), 7);
    const FileCall call = call_of(memory);
    MPI_File_seek(file.get(), call.offset, seek_set());
    const int code = write_by(way, file.get(), call, MPI_STATUS_IGNORE);
    const bool fails = session.rank() == session.size() - 1;
    EXPECT_EQ(code != MPI_SUCCESS, fails);
    const Bytes all = file.close();
    if (fails) continue;
    ASSERT_GE(all.size(), static_cast<std::size_t>(call.offset) + kBytes);
    const Bytes own(all.begin() + call.offset, all.begin() + call.offset + static_cast<MPI_Offset>(kBytes));
    EXPECT_EQ(find_pattern_error(own, session.rank(), 7), "");
  }
}

}  // namespace
}  // namespace sluice::tests::errors_test
