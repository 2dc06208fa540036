// SPDX-License-Identifier: BSD-3-Clause
// Cases in which GPU-aware MPIs are known to have failed, named after their numbers there. T4, T5 and T15 are in
// routes.cpp, T6, T16 and T17 in lifetime.cpp; T8 and T9 are runs of the other tests on other sorts of device memory;
// T14 is the matrix of kinds that every test goes through; T2, T3, T11, T15 and T22 of collective
// operations are in ranks/coll/failure_cases.cpp.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "tests/support/oracle.hpp"
#include "tests/support/program_queue.hpp"

namespace sluice::tests::failure_cases_test {
namespace {

constexpr int kTag = 23;

std::size_t as_size(int number) {
  return static_cast<std::size_t>(number);
}

void exchange(const Memory &in, const Memory &out, int iteration) {
  const Session &session = Session::get();
  const int count = static_cast<int>(in.size_bytes());
  in.fill_pattern(session.rank(), iteration);
  out.fill(kPoison);
  ASSERT_EQ(MPI_Sendrecv(in.data(), count, MPI_BYTE, session.partner(), kTag, out.data(), count, MPI_BYTE,
                         session.partner(), kTag, session.comm(), MPI_STATUS_IGNORE),
            MPI_SUCCESS);
  EXPECT_EQ(find_pattern_error(out.read(), session.partner(), iteration), "") << "iteration " << iteration;
}

// The program exchanges handles itself and maps the peer's buffer, before and while MPI moves messages out of it.
TEST(FailureCases, T7_HandleThatTheProgramOpenedItself) {
  const Session &session = Session::get();
  const bool can = session.has_kind(Kind::device) && session.module()->table().ipc_export != nullptr;
  if (session.agree_any(!can)) GTEST_SKIP() << "missing: device memory, or handles for other processes";
  const sluice_backend_t &table = session.module()->table();
  constexpr std::size_t kBytes = 300'000;
  const Memory in(session.module(), Kind::device, kBytes);
  const Memory out(session.module(), Kind::device, kBytes);
  struct {
    sluice_ipc_handle_t handle;
    std::uint64_t offset;
    std::uint64_t size;
  } mine = {{}, 0, kBytes}, theirs = {};
  const bool is_exported = table.ipc_export(in.data(), &mine.handle, &mine.offset, &mine.size) == SLUICE_SUCCESS;
  if (session.agree_any(!is_exported)) GTEST_SKIP() << "missing: " << table.last_error();
  ASSERT_EQ(MPI_Sendrecv(&mine, sizeof mine, MPI_BYTE, session.partner(), kTag, &theirs, sizeof theirs, MPI_BYTE,
                         session.partner(), kTag, session.comm(), MPI_STATUS_IGNORE),
            MPI_SUCCESS);
  void *base = nullptr;
  std::uint64_t mapped_bytes = 0;
  ASSERT_EQ(table.ipc_open(0, &theirs.handle, &base, &mapped_bytes), SLUICE_SUCCESS) << table.last_error();
  const ProgramQueue queue(table);
  for (int iteration = 0; iteration < 3; ++iteration) {
    exchange(in, out, iteration);
    const Bytes seen = queue.read(static_cast<std::byte *>(base) + theirs.offset, kBytes);
    EXPECT_EQ(find_pattern_error(seen, session.partner(), iteration), "") << "through the program's own mapping";
    ASSERT_EQ(MPI_Barrier(session.comm()), MPI_SUCCESS);
  }
  EXPECT_EQ(table.ipc_close(0, base), SLUICE_SUCCESS) << table.last_error();
  ASSERT_EQ(MPI_Barrier(session.comm()), MPI_SUCCESS);
  exchange(in, out, 3);
  // The other way round: MPI has it mapped when the program opens it.
  ASSERT_EQ(table.ipc_open(0, &theirs.handle, &base, &mapped_bytes), SLUICE_SUCCESS) << table.last_error();
  EXPECT_EQ(table.ipc_close(0, base), SLUICE_SUCCESS) << table.last_error();
  ASSERT_EQ(MPI_Barrier(session.comm()), MPI_SUCCESS);
  exchange(in, out, 4);
}

TEST(FailureCases, T7_ThreadsSendSlicesOfOneAllocation) {
  const Session &session = Session::get();
  if (!session.options().wants_threads) GTEST_SKIP() << "started without --threads";
  constexpr int kThreads = 4;
  constexpr int kRounds = 10;
  constexpr std::size_t kSlice = 40'000;
  const Kind kind = session.has_kind(Kind::device) ? Kind::device : Kind::host;
  const Memory in(session.module(), kind, kThreads * kSlice);
  const Memory out(session.module(), kind, kThreads * kSlice);
  in.fill_pattern(session.rank(), 0);
  std::vector<int> codes(kThreads, MPI_SUCCESS);
  std::vector<std::thread> threads;
  threads.reserve(kThreads);
  for (int thread = 0; thread < kThreads; ++thread) {
    threads.emplace_back([&, thread] {
      const std::size_t at = as_size(thread) * kSlice;
      for (int round = 0; round < kRounds && codes[as_size(thread)] == MPI_SUCCESS; ++round) {
        codes[as_size(thread)] = MPI_Sendrecv(in.at(at), static_cast<int>(kSlice), MPI_BYTE, session.partner(),
                                              100 + thread, out.at(at), static_cast<int>(kSlice), MPI_BYTE,
                                              session.partner(), 100 + thread, session.comm(), MPI_STATUS_IGNORE);
      }
    });
  }
  for (std::thread &thread : threads) thread.join();
  for (const int code : codes) EXPECT_EQ(code, MPI_SUCCESS);
  EXPECT_EQ(find_pattern_error(out.read(), session.partner(), 0), "");
}

// Each rank uses the last device that it sees; which that is, and whether the peer sees it too, is the start's choice.
TEST(FailureCases, T12_DevicesThatThePeerDoesNotSee) {
  const Session &session = Session::get();
  if (session.agree_any(!session.has_kind(Kind::device))) GTEST_SKIP() << "missing: device memory";
  const BackendModule &module = *session.module();
  for (const int device : {module.device_count() - 1, 0}) {
    module.set_device(device);
    for (const std::size_t size_bytes :
         {std::size_t{64}, std::size_t{5000}, std::size_t{70'000}, std::size_t{3} << 20U}) {
      const Memory in(&module, Kind::device, size_bytes);
      const Memory out(&module, Kind::device, size_bytes);
      for (int iteration = 0; iteration < 3; ++iteration) exchange(in, out, iteration);
    }
  }
}

// ---- T21 ----

constexpr std::size_t kChunk = std::size_t{64} << 20U;
constexpr std::size_t kChunks = 48;  // 3 GiB

// Each chunk is a pattern with the chunk's number in many places.
void write_chunk(std::vector<unsigned char> *chunk, std::size_t number) {
  for (std::size_t at = 0; at < kChunk; at += 4096) std::memcpy(chunk->data() + at, &number, sizeof number);
}

std::vector<unsigned char> make_chunk() {
  std::vector<unsigned char> chunk(kChunk);
  for (std::size_t i = 0; i < kChunk; ++i) chunk[i] = pattern_byte(3, i, 1);
  return chunk;
}

void fill_chunks(const Memory &memory) {
  std::vector<unsigned char> chunk = make_chunk();
  for (std::size_t number = 0; number < kChunks; ++number) {
    write_chunk(&chunk, number);
    memory.write(number * kChunk, chunk.data(), kChunk);
  }
}

void check_chunks(const Memory &memory) {
  std::vector<unsigned char> chunk = make_chunk();
  for (std::size_t number = 0; number < kChunks; ++number) {
    write_chunk(&chunk, number);
    ASSERT_TRUE(std::ranges::equal(memory.read(number * kChunk, kChunk), chunk)) << "chunk " << number << " of 64 MiB";
  }
}

// 3 GiB as 3072 elements of 1 MiB, and where the host MPI has it by a count of 64 bits.
void move_large(const Memory &memory, bool is_sender, bool uses_large_count) {
  const Session &session = Session::get();
  const int peer = session.partner();
  if (uses_large_count) {
#if MPI_VERSION >= 4
    const auto count = static_cast<MPI_Count>(kChunks * kChunk);
    const int code = is_sender
                         ? MPI_Send_c(memory.data(), count, MPI_BYTE, peer, kTag, session.comm())
                         : MPI_Recv_c(memory.data(), count, MPI_BYTE, peer, kTag, session.comm(), MPI_STATUS_IGNORE);
    ASSERT_EQ(code, MPI_SUCCESS);
#endif
    return;
  }
  MPI_Datatype mebibyte = MPI_DATATYPE_NULL;
  ASSERT_EQ(MPI_Type_contiguous(1 << 20, MPI_BYTE, &mebibyte), MPI_SUCCESS);
  ASSERT_EQ(MPI_Type_commit(&mebibyte), MPI_SUCCESS);
  const int count = static_cast<int>(kChunks * kChunk >> 20U);
  MPI_Status status;
  const int code = is_sender ? MPI_Send(memory.data(), count, mebibyte, peer, kTag, session.comm())
                             : MPI_Recv(memory.data(), count, mebibyte, peer, kTag, session.comm(), &status);
  ASSERT_EQ(code, MPI_SUCCESS);
  int n_received = count;
  if (!is_sender) {
    ASSERT_EQ(MPI_Get_count(&status, mebibyte, &n_received), MPI_SUCCESS);
  }
  EXPECT_EQ(n_received, count);
  ASSERT_EQ(MPI_Type_free(&mebibyte), MPI_SUCCESS);
}

TEST(FailureCases, T21_ThreeGibibytes) {
  const Session &session = Session::get();
  if (!session.options().is_full) GTEST_SKIP() << "started without --matrix full";
  if (session.agree_any(!session.has_kind(Kind::device))) GTEST_SKIP() << "missing: device memory";
  if (session.rank() > 1) return;
  const Memory memory(session.module(), Kind::device, kChunks * kChunk);
  for (const bool uses_large_count : {false, true}) {
#if MPI_VERSION < 4
    if (uses_large_count) continue;
#endif
    if (session.begins()) {
      fill_chunks(memory);
    } else {
      memory.fill(kPoison);
    }
    move_large(memory, session.begins(), uses_large_count);
    if (!session.begins()) check_chunks(memory);
    if (HasFatalFailure()) return;
  }
}

}  // namespace
}  // namespace sluice::tests::failure_cases_test
