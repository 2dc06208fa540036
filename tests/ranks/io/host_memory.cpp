// SPDX-License-Identifier: BSD-3-Clause
// What a long call takes of the process's memory, as the system counts it.
#include <gtest/gtest.h>
#include <malloc.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string>
#include <vector>

#include "tests/ranks/io/test_file.hpp"

namespace sluice::tests::host_memory_test {
namespace {

constexpr std::size_t kMiB = std::size_t{1} << 20;
constexpr std::size_t kPieceMiB = 16;
constexpr long long kLimitKiB = 64 * 1024;

// By hand 4096, too: what no int counts.
std::size_t wanted_mib() {
  const char *const mib = std::getenv("TEST_FILE_MIB");  // NOLINT(concurrency-mt-unsafe): nobody sets it
  return mib == nullptr ? 1024 : static_cast<std::size_t>(std::atoll(mib));
}

// A line of /proc/self/status in KiB: what lies in memory, or the most that did since begin_peak(). -1: there is none.
long long status_kib(const std::string &name) {
  std::ifstream lines("/proc/self/status");
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with(name + ":")) return std::atoll(line.c_str() + name.size() + 1);
  }
  return -1;
}

bool begin_peak() {
  std::ofstream clear("/proc/self/clear_refs");
  clear << "5" << std::flush;
  return clear.good();
}

// Words that depend on rank, iteration and place: of so much data pattern_byte() takes minutes.
Bytes pattern_of_piece(int rank, int iteration, std::size_t first) {
  constexpr std::uint64_t kSpread = 0x9E3779B97F4A7C15;
  std::vector<std::uint64_t> words(kPieceMiB * kMiB / sizeof(std::uint64_t));
  const auto begin = static_cast<std::uint64_t>(16 * rank + iteration) << 48U;
  for (std::size_t i = 0; i < words.size(); ++i) words[i] = (begin + first / sizeof(std::uint64_t) + i) * kSpread;
  Bytes piece(kPieceMiB * kMiB);
  std::memcpy(piece.data(), words.data(), piece.size());
  return piece;
}

// KiB in memory while `access` goes on, at the most.
template <typename Access>
long long peak_of(Access access) {
  malloc_trim(0);  // what the test itself had
  EXPECT_TRUE(begin_peak());
  EXPECT_EQ(access(), MPI_SUCCESS);
  return status_kib("VmHWM");
}

class HostMemory : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!session_.options().is_full) GTEST_SKIP() << "missing: --matrix full";
    if (!session_.has_kind(Kind::device)) GTEST_SKIP() << "missing: device memory";
    if (status_kib("VmHWM") < 0 || !begin_peak()) GTEST_SKIP() << "missing: /proc/self/status and clear_refs";
    MPI_Type_contiguous(kMiB, MPI_BYTE, &mib_);
    MPI_Type_commit(&mib_);
  }
  void TearDown() override {
    if (mib_ != MPI_DATATYPE_NULL) MPI_Type_free(&mib_);
  }

  const Session &session_ = Session::get();
  const std::size_t bytes_ = wanted_mib() * kMiB;
  MPI_Datatype mib_ = MPI_DATATYPE_NULL;
};

TEST_F(HostMemory, IsAFewBlocks_InALongCall) {
  const Memory memory(session_.module(), Kind::device, bytes_);
  FileCall call;
  call.buffer = memory.data();
  call.count = static_cast<int>(wanted_mib());
  call.type = mib_;
  call.offset = session_.rank() * static_cast<MPI_Offset>(bytes_);
  call.is_large = true;
  // Before the first access: what one leaves in Sluice's pool counts for the next ones, too.
  const long long before_kib = status_kib("VmRSS");
  int iteration = 0;
  for (const Way way : {Way::at, Way::at_all, Way::i_at_all}) {
    SCOPED_TRACE(way_name(way));
    ++iteration;
    for (std::size_t at = 0; at < bytes_; at += kPieceMiB * kMiB) {
      const Bytes piece = pattern_of_piece(session_.rank(), iteration, at);
      memory.write(at, piece.data(), piece.size());
    }
    TestFile file;
    const auto write = [&] { return write_by(way, file.get(), call, MPI_STATUS_IGNORE); };
    const long long write_kib = peak_of(write) - before_kib;
    MPI_Barrier(session_.comm());
    memory.fill(0);
    const auto read = [&] { return read_by(way, file.get(), call, MPI_STATUS_IGNORE); };
    const long long read_kib = peak_of(read) - before_kib;
    std::printf("%s of %zu MiB: at the peak %lld KiB more to write, %lld KiB more to read\n", way_name(way),
                wanted_mib(), write_kib, read_kib);
    std::fflush(stdout);
    EXPECT_LE(std::max(write_kib, read_kib), kLimitKiB);
    for (std::size_t at = 0; at < bytes_; at += kPieceMiB * kMiB) {
      ASSERT_TRUE(memory.read(at, kPieceMiB * kMiB) == pattern_of_piece(session_.rank(), iteration, at));
    }
  }
}

}  // namespace
}  // namespace sluice::tests::host_memory_test
