// SPDX-License-Identifier: BSD-3-Clause
// The accumulate family: every predefined operation on types of each sort, and that updates of one element do not tear
// each other.
#include <array>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <numeric>
#include <string>
#include <vector>

#include "tests/ranks/rma/test_window.hpp"
#include "tests/support/host_mpi.hpp"
#include "tests/support/statistics.hpp"

namespace sluice::tests::accumulates_test {
namespace {

constexpr int kElements = 33;

// `n` elements with small values, so that every order of sums and products gives the same bits. The type's C structure
// is a value and, in pairs, an int.
template <typename Value>
Bytes values_of(int n, int seed, std::size_t element_bytes, std::size_t index_offset) {
  Bytes bytes(static_cast<std::size_t>(n) * element_bytes, 0);
  for (int i = 0; i < n; ++i) {
    unsigned char *element = bytes.data() + static_cast<std::size_t>(i) * element_bytes;
    const auto value = static_cast<Value>((i * 3 + seed * 5) % 4 + 1);
    std::memcpy(element, &value, sizeof value);
    if (index_offset == 0) continue;
    const int index = (i + seed) % 7;
    std::memcpy(element + index_offset, &index, sizeof index);
  }
  return bytes;
}

struct TypeCase {
  const char *name;
  MPI_Datatype type;
  std::size_t element_bytes;
  Bytes (*values)(int n, int seed);
  std::vector<MPI_Op> operations;
};

template <typename Value>
Bytes plain(int n, int seed) {
  return values_of<Value>(n, seed, sizeof(Value), 0);
}

template <typename Value>
struct Pair {
  Value value;
  int index;
};
template <typename Value>
Bytes pairs(int n, int seed) {
  return values_of<Value>(n, seed, sizeof(Pair<Value>), offsetof(Pair<Value>, index));
}

std::vector<TypeCase> type_cases() {
  const std::vector<MPI_Op> integers{MPI_MAX,  MPI_MIN, MPI_SUM, MPI_PROD, MPI_LAND,
                                     MPI_BAND, MPI_LOR, MPI_BOR, MPI_LXOR, MPI_BXOR};
  const std::vector<MPI_Op> floats{MPI_MAX, MPI_MIN, MPI_SUM, MPI_PROD};
  const std::vector<MPI_Op> indexed{MPI_MINLOC, MPI_MAXLOC};
  std::vector<TypeCase> cases = {{"int", MPI_INT, sizeof(int), plain<int>, integers},
                                 {"int8", MPI_INT8_T, 1, plain<std::int8_t>, integers},
                                 {"uint16", MPI_UINT16_T, 2, plain<std::uint16_t>, integers},
                                 {"int64", MPI_INT64_T, 8, plain<std::int64_t>, integers},
                                 {"float", MPI_FLOAT, sizeof(float), plain<float>, floats},
                                 {"double", MPI_DOUBLE, sizeof(double), plain<double>, floats},
                                 {"byte", MPI_BYTE, 1, plain<std::uint8_t>, {MPI_BAND, MPI_BOR, MPI_BXOR}},
                                 {"2int", MPI_2INT, sizeof(Pair<int>), pairs<int>, indexed}};
  if (!loses_pairs_in_accumulates()) {
    cases.push_back({"short_int", MPI_SHORT_INT, sizeof(Pair<short>), pairs<short>, indexed});
    cases.push_back({"double_int", MPI_DOUBLE_INT, sizeof(Pair<double>), pairs<double>, indexed});
  }
  return cases;
}

// Every rank updates a block of its own, and one that all share, in the next rank's window; then it reads and updates
// its own block again.
void update(Trial &run, const WindowKinds &kinds, const TypeCase &c, MPI_Op op) {
  const Session &session = Session::get();
  const auto n = static_cast<std::size_t>(session.size());
  const std::size_t block = kElements * c.element_bytes;
  const Memory &memory = run.buffer(window_kind(run, kinds), (n + 1) * block);
  const Bytes before = c.values(static_cast<int>(n + 1) * kElements, session.rank() + 11);
  memory.write(0, before.data(), before.size());
  const Memory &in = run.buffer(run.send_kind(), block);
  const Bytes values = c.values(kElements, session.rank());
  in.write(0, values.data(), values.size());
  const Memory &result = run.buffer(run.send_kind(), block);
  result.write(0, before.data(), block);  // the gaps of pairs are nobody's
  const TestWindow window(memory, static_cast<int>(c.element_bytes));
  const int next = (session.rank() + 1) % session.size();
  const MPI_Aint own = session.rank() * kElements;
  const MPI_Aint shared = session.size() * kElements;
  MPI_Win_fence(0, window.get());
  run.call("accumulate", MPI_Accumulate(in.data(), kElements, c.type, next, own, kElements, c.type, op, window.get()));
  run.call("accumulate", MPI_Accumulate(in.data(), kElements, c.type, 0, shared, kElements, c.type, op, window.get()));
  run.call("fence", MPI_Win_fence(0, window.get()));
  run.call("get_accumulate", MPI_Get_accumulate(in.data(), kElements, c.type, result.data(), kElements, c.type, next,
                                                own, kElements, c.type, op, window.get()));
  run.call("fence", MPI_Win_fence(0, window.get()));
}

TEST(Accumulates, ComputeEveryOperation_OnEveryType) {
  for (const TypeCase &c : type_cases()) {
    for (std::size_t i = 0; i < c.operations.size(); ++i) {
      SCOPED_TRACE(std::string(c.name) + ", operation " + std::to_string(i));
      const bool goes_on = compare_each_kind(
          [&](Trial &run, const WindowKinds &kinds) { update(run, kinds, c, c.operations[i]); }, Breadth::narrow);
      if (!goes_on) return;
    }
  }
}

TEST(Accumulates, ReplaceAndReadOnly) {
  for (const TypeCase &c : type_cases()) {
    SCOPED_TRACE(c.name);
    const bool goes_on = compare_each_kind(
        [&](Trial &run, const WindowKinds &kinds) {
          const Session &session = Session::get();
          const std::size_t block = kElements * c.element_bytes;
          const Memory &memory = run.buffer(window_kind(run, kinds), block);
          const Bytes before = c.values(kElements, session.rank() + 11);
          memory.write(0, before.data(), before.size());
          const Memory &in = run.buffer(run.send_kind(), block);
          const Bytes values = c.values(kElements, session.rank());
          in.write(0, values.data(), values.size());
          const Memory &old = run.buffer(run.send_kind(), block);
          const Memory &read = run.buffer(run.send_kind(), block);
          for (const Memory *result : {&old, &read}) result->write(0, before.data(), block);
          const TestWindow window(memory, static_cast<int>(c.element_bytes));
          const int next = (session.rank() + 1) % session.size();
          MPI_Win_fence(0, window.get());
          run.call("replace", MPI_Get_accumulate(in.data(), kElements, c.type, old.data(), kElements, c.type, next, 0,
                                                 kElements, c.type, MPI_REPLACE, window.get()));
          run.call("fence", MPI_Win_fence(0, window.get()));
          run.call("read", MPI_Get_accumulate(nullptr, 0, c.type, read.data(), kElements, c.type, next, 0, kElements,
                                              c.type, MPI_NO_OP, window.get()));
          run.call("fence", MPI_Win_fence(0, window.get()));
        },
        Breadth::narrow);
    if (!goes_on) return;
  }
}

// Long enough for several messages; every second element, on both sides or on one.
TEST(Accumulates, TakeTypesWithGaps_AndLongOnes) {
  constexpr int kMany = 50000;
  MPI_Datatype strided = MPI_DATATYPE_NULL;
  MPI_Type_vector(kMany, 1, 2, MPI_DOUBLE, &strided);
  MPI_Type_commit(&strided);
  for (const bool is_strided : {true, false}) {
    compare_each_kind([&](Trial &run, const WindowKinds &kinds) {
      const Session &session = Session::get();
      const Memory &memory = run.buffer(window_kind(run, kinds), std::size_t{kMany} * 16);
      const Bytes before = plain<double>(2 * kMany, session.rank() + 11);
      memory.write(0, before.data(), before.size());
      const Memory &in = run.buffer(run.send_kind(), std::size_t{kMany} * 16);
      const Bytes values = plain<double>(2 * kMany, session.rank());
      in.write(0, values.data(), values.size());
      const TestWindow window(memory, 8);
      const int next = (session.rank() + 1) % session.size();
      MPI_Win_fence(0, window.get());
      run.call("accumulate",
               is_strided ? MPI_Accumulate(in.data(), kMany, MPI_DOUBLE, next, 0, 1, strided, MPI_SUM, window.get())
                          : MPI_Accumulate(in.data(), 1, strided, next, 5, kMany, MPI_DOUBLE, MPI_SUM, window.get()));
      run.call("fence", MPI_Win_fence(0, window.get()));
    });
  }
  MPI_Type_free(&strided);
}

TEST(Accumulates, FetchAndSwapOneElement) {
  compare_each_kind([](Trial &run, const WindowKinds &kinds) {
    const Session &session = Session::get();
    const Memory &memory = run.buffer(window_kind(run, kinds), 64);
    const std::array<std::int64_t, 8> before{100, 200, 300, 400, 500, 600, 700, 800};
    memory.write(0, before.data(), sizeof before);
    const Memory &in = run.buffer(run.send_kind(), 16);
    const std::array<std::int64_t, 2> given{7 + session.rank(), 300};
    in.write(0, given.data(), sizeof given);
    const Memory &results = run.buffer(run.send_kind(), 40);
    const TestWindow window(memory, 8);
    const int next = (session.rank() + 1) % session.size();
    run.call("lock", MPI_Win_lock(MPI_LOCK_SHARED, next, 0, window.get()));
    run.call("sum", MPI_Fetch_and_op(in.data(), results.at(0), MPI_INT64_T, next, 1, MPI_SUM, window.get()));
    run.call("replace", MPI_Fetch_and_op(in.data(), results.at(8), MPI_INT64_T, next, 3, MPI_REPLACE, window.get()));
    run.call("flush", MPI_Win_flush(next, window.get()));
    run.call("read", MPI_Fetch_and_op(nullptr, results.at(16), MPI_INT64_T, next, 3, MPI_NO_OP, window.get()));
    run.call("swap", MPI_Compare_and_swap(in.data(), in.at(8), results.at(24), MPI_INT64_T, next, 2, window.get()));
    run.call("no swap", MPI_Compare_and_swap(in.data(), in.at(8), results.at(32), MPI_INT64_T, next, 4, window.get()));
    run.call("unlock", MPI_Win_unlock(next, window.get()));
    MPI_Barrier(session.comm());
  });
}

// From device memory on the target's device, and short ones that fetch from any memory.
TEST(Accumulates, AreComputedByTheDevice) {
  const char *route = std::getenv("TEST_ROUTE");
  if (route == nullptr || std::string(route) != "ipc") GTEST_SKIP() << "missing: TEST_ROUTE=ipc";
  if (!Session::get().has_kind(Kind::device) || !count_statistics()) GTEST_SKIP() << "missing: device memory";
  const Memory memory(Session::get().module(), Kind::device, 4096);
  const Memory in(Session::get().module(), Kind::device, 4096);
  for (const Memory *one : {&memory, &in}) one->write(0, Bytes(4096, 1).data(), 4096);
  const Memory result(Session::get().module(), Kind::device, 4096);
  const int next = (Session::get().rank() + 1) % Session::get().size();
  const long long n_kernels = calls_by("MPI_Accumulate", "kernel");
  const long long n_fetched = calls_by("MPI_Get_accumulate", "kernel");
  {
    const TestWindow window(memory, 4);
    MPI_Win_fence(0, window.get());
    EXPECT_EQ(MPI_Accumulate(in.data(), 1024, MPI_INT, next, 0, 1024, MPI_INT, MPI_SUM, window.get()), MPI_SUCCESS);
    MPI_Win_fence(0, window.get());
    EXPECT_EQ(MPI_Get_accumulate(in.data(), 1024, MPI_INT, result.data(), 1024, MPI_INT, next, 0, 1024, MPI_INT,
                                 MPI_SUM, window.get()),
              MPI_SUCCESS);
    MPI_Win_fence(0, window.get());
  }
  EXPECT_EQ(calls_by("MPI_Accumulate", "kernel"), n_kernels + 1);
  EXPECT_EQ(calls_by("MPI_Get_accumulate", "kernel"), n_fetched + 1);
  EXPECT_EQ(find_difference(Bytes(4096, 2), result.read()), "");
  EXPECT_EQ(find_difference(Bytes(4096, 3), memory.read()), "");
}

// Each rank's window on a device of its own, as far as there are so many.
TEST(Accumulates, LongOnes_ToAnotherDevice) {
  if (!Session::get().has_kind(Kind::device)) GTEST_SKIP() << "missing: device memory";
  const Session &session = Session::get();
  const int next = (session.rank() + 1) % session.size();
  const int previous = (session.rank() + session.size() - 1) % session.size();
  const int n_ints = 9 * (1 << 18) + 3;
  const auto value = [](int rank, int i) { return rank * 1000003 + i * 7; };
  const auto n_bytes = static_cast<std::size_t>(n_ints) * sizeof(int);
  session.module()->set_device(session.rank() % session.module()->device_count());
  {
    const Memory memory(session.module(), Kind::device, n_bytes + kGuardBytes);
    const Memory in(session.module(), Kind::device, n_bytes);
    std::vector<int> own(static_cast<std::size_t>(n_ints));
    for (int i = 0; i < n_ints; ++i) own[static_cast<std::size_t>(i)] = value(session.rank(), i);
    memory.write(0, own.data(), n_bytes);
    in.write(0, own.data(), n_bytes);
    const TestWindow window(memory, sizeof(int));
    MPI_Win_fence(0, window.get());
    EXPECT_EQ(MPI_Accumulate(in.data(), n_ints, MPI_INT, next, 0, n_ints, MPI_INT, MPI_SUM, window.get()), MPI_SUCCESS);
    MPI_Win_fence(0, window.get());
    const Bytes now = memory.read();
    int n_wrong = 0;
    for (int i = 0; i < n_ints; ++i) {
      int sum = 0;
      std::memcpy(&sum, now.data() + static_cast<std::size_t>(i) * sizeof sum, sizeof sum);
      if (sum != value(session.rank(), i) + value(previous, i)) ++n_wrong;
    }
    EXPECT_EQ(n_wrong, 0);
    EXPECT_EQ(find_difference(Bytes(kGuardBytes, kPoison),
                              Bytes(now.begin() + static_cast<std::ptrdiff_t>(n_bytes), now.end())),
              "");
    EXPECT_EQ(find_difference(Bytes(reinterpret_cast<const unsigned char *>(own.data()),
                                    reinterpret_cast<const unsigned char *>(own.data()) + n_bytes),
                              in.read()),
              "");
  }
  session.module()->set_device(0);
}

// Sums are exact, no value is fetched twice, and a swap succeeds once for each number.
TEST(Accumulates, UpdateElementsOneAfterTheOther) {
  if (!Session::get().has_kind(Kind::device)) GTEST_SKIP() << "missing: device memory";
  const Session &session = Session::get();
  const int n_times = session.options().is_full ? 10000 : 500;
  const Memory memory(session.module(), Kind::device, 32);
  const std::array<std::int64_t, 4> zeros{};
  memory.write(0, zeros.data(), sizeof zeros);
  const TestWindow window(memory, 8);
  MPI_Barrier(session.comm());
  ASSERT_EQ(MPI_Win_lock_all(0, window.get()), MPI_SUCCESS);
  const std::int64_t one = 1;
  const Memory device_one(session.module(), Kind::device, 8);
  device_one.write(0, &one, sizeof one);
  std::int64_t sum_of_fetched = 0;
  std::int64_t n_swapped = 0;
  for (int i = 0; i < n_times; ++i) {
    std::int64_t fetched = -1;
    ASSERT_EQ(MPI_Fetch_and_op(&one, &fetched, MPI_INT64_T, 0, 0, MPI_SUM, window.get()), MPI_SUCCESS);
    // By a kernel, where the device has one: from device memory.
    ASSERT_EQ(MPI_Accumulate(i % 2 == 0 ? device_one.data() : &one, 1, MPI_INT64_T, 0, 1, 1, MPI_INT64_T, MPI_SUM,
                             window.get()),
              MPI_SUCCESS);
    const std::int64_t next = i + 1;
    const std::int64_t now = i;
    std::int64_t seen = -1;
    ASSERT_EQ(MPI_Compare_and_swap(&next, &now, &seen, MPI_INT64_T, 0, 2, window.get()), MPI_SUCCESS);
    ASSERT_EQ(MPI_Win_flush(0, window.get()), MPI_SUCCESS);
    sum_of_fetched += fetched;
    if (seen == now) ++n_swapped;
  }
  ASSERT_EQ(MPI_Win_unlock_all(window.get()), MPI_SUCCESS);
  std::array<std::int64_t, 2> sums{sum_of_fetched, n_swapped};
  MPI_Allreduce(MPI_IN_PLACE, sums.data(), 2, MPI_INT64_T, MPI_SUM, session.comm());
  const std::int64_t n_all = std::int64_t{n_times} * session.size();
  EXPECT_EQ(sums[0], n_all * (n_all - 1) / 2);
  if (session.rank() != 0) return;
  std::array<std::int64_t, 4> now{};
  const Bytes bytes = memory.read();
  std::memcpy(now.data(), bytes.data(), sizeof now);
  EXPECT_EQ(now[0], n_all);
  EXPECT_EQ(now[1], n_all);
  EXPECT_EQ(now[2], sums[1]);
}

}  // namespace
}  // namespace sluice::tests::accumulates_test
