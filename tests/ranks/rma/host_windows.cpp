// SPDX-License-Identifier: BSD-3-Clause
// Windows of the host MPI's, with origin, result and compare buffers on devices: every operation under every kind of
// synchronisation, compared with the same on host copies.
#include <array>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "tests/ranks/rma/test_window.hpp"
#include "tests/support/host_mpi.hpp"
#include "tests/support/statistics.hpp"

namespace sluice::tests::host_windows_test {
namespace {

enum class Making { create, allocate, shared };

// Memory of the host in a window that has no device memory anywhere.
class HostWindow {
 public:
  HostWindow(Trial &run, Making making, std::size_t size_bytes)
      : memory_(run.buffer(Kind::host, size_bytes)), base_(memory_.data()) {
    const auto size = static_cast<MPI_Aint>(size_bytes);
    const MPI_Comm comm = Session::get().comm();
    int code = MPI_SUCCESS;
    if (making == Making::create) code = MPI_Win_create(base_, size, 1, MPI_INFO_NULL, comm, &window_);
    if (making == Making::allocate) code = MPI_Win_allocate(size, 1, MPI_INFO_NULL, comm, &base_, &window_);
    if (making == Making::shared) code = MPI_Win_allocate_shared(size, 1, MPI_INFO_NULL, comm, &base_, &window_);
    run.call("make", code);
    MPI_Win_set_errhandler(window_, MPI_ERRORS_RETURN);
  }
  // What all have done is compared afterwards.
  ~HostWindow() {
    MPI_Win_lock(MPI_LOCK_SHARED, Session::get().rank(), 0, window_);
    if (base_ != memory_.data()) memory_.write(0, base_, memory_.size_bytes());
    MPI_Win_unlock(Session::get().rank(), window_);
    EXPECT_EQ(MPI_Win_free(&window_), MPI_SUCCESS);
  }
  HostWindow(const HostWindow &) = delete;
  HostWindow &operator=(const HostWindow &) = delete;
  HostWindow(HostWindow &&) = delete;
  HostWindow &operator=(HostWindow &&) = delete;

  // Before anybody accesses it; all ranks together.
  void fill(const void *bytes, std::size_t size_bytes) {
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, Session::get().rank(), 0, window_);
    std::memcpy(base_, bytes, size_bytes);
    MPI_Win_unlock(Session::get().rank(), window_);
    MPI_Barrier(Session::get().comm());
  }
  MPI_Win get() const { return window_; }

 private:
  const Memory &memory_;
  void *base_;
  MPI_Win window_ = MPI_WIN_NULL;
};

enum class Epoch { fence, groups, lock, lock_all, flush, flush_local, flush_all, flush_local_all };
constexpr std::array kEpochs{Epoch::fence, Epoch::groups,      Epoch::lock,      Epoch::lock_all,
                             Epoch::flush, Epoch::flush_local, Epoch::flush_all, Epoch::flush_local_all};

int next() {
  return (Session::get().rank() + 1) % Session::get().size();
}

MPI_Group group_of(int rank) {
  MPI_Group all = MPI_GROUP_NULL;
  MPI_Group one = MPI_GROUP_NULL;
  MPI_Comm_group(Session::get().comm(), &all);
  MPI_Group_incl(all, 1, &rank, &one);
  MPI_Group_free(&all);
  return one;
}

// The synchronisation around accesses to the next rank. `look` sees what is there when they are complete here.
template <typename Accesses, typename Look>
void within(Trial &run, Epoch epoch, MPI_Win window, Accesses accesses, Look look) {
  const int n = Session::get().size();
  MPI_Group targets = group_of(next());
  MPI_Group origins = group_of((Session::get().rank() + n - 1) % n);
  const bool has_all = epoch == Epoch::lock_all || epoch == Epoch::flush_all || epoch == Epoch::flush_local_all;
  const bool has_one = epoch == Epoch::lock || epoch == Epoch::flush || epoch == Epoch::flush_local;
  if (epoch == Epoch::fence) run.call("fence", MPI_Win_fence(0, window));
  if (epoch == Epoch::groups) run.call("post", MPI_Win_post(origins, 0, window));
  if (epoch == Epoch::groups) run.call("start", MPI_Win_start(targets, 0, window));
  if (has_one) run.call("lock", MPI_Win_lock(MPI_LOCK_SHARED, next(), 0, window));
  if (has_all) run.call("lock_all", MPI_Win_lock_all(0, window));
  accesses();
  if (epoch == Epoch::flush) run.call("flush", MPI_Win_flush(next(), window));
  if (epoch == Epoch::flush_local) run.call("flush_local", MPI_Win_flush_local(next(), window));
  if (epoch == Epoch::flush_all) run.call("flush_all", MPI_Win_flush_all(window));
  if (epoch == Epoch::flush_local_all) run.call("flush_local_all", MPI_Win_flush_local_all(window));
  const bool is_flushed = (has_one || has_all) && epoch != Epoch::lock && epoch != Epoch::lock_all;
  if (is_flushed) look();
  if (epoch == Epoch::fence) run.call("fence", MPI_Win_fence(0, window));
  if (epoch == Epoch::groups) run.call("complete", MPI_Win_complete(window));
  if (!is_flushed && !has_one && !has_all) look();
  if (epoch == Epoch::groups) run.call("wait", MPI_Win_wait(window));
  if (has_one) run.call("unlock", MPI_Win_unlock(next(), window));
  if (has_all) run.call("unlock_all", MPI_Win_unlock_all(window));
  if (!is_flushed && (has_one || has_all)) look();
  MPI_Barrier(Session::get().comm());
  MPI_Group_free(&targets);
  MPI_Group_free(&origins);
}

constexpr int kInts = 40;
constexpr std::size_t kBlock = kInts * sizeof(int);

std::vector<int> numbers(std::size_t n, int seed) {
  std::vector<int> values(n);
  for (std::size_t i = 0; i < n; ++i) values[i] = static_cast<int>(i % 5) + seed * 7 + Session::get().rank();
  return values;
}

// Each operation on a block of its own of the next rank's window. `requests`: by the forms that have them.
void every_operation(Trial &run, Making making, Epoch epoch, bool has_requests) {
  HostWindow window(run, making, 6 * kBlock);
  const std::vector<int> before = numbers(6 * kInts, 3);
  window.fill(before.data(), 6 * kBlock);
  const Memory &in = run.buffer(run.send_kind(), 3 * kBlock);
  const std::vector<int> given = numbers(3 * kInts, 1);
  in.write(0, given.data(), 3 * kBlock);
  const Memory &compare = run.buffer(run.send_kind(), sizeof(int));
  const int there = static_cast<int>((5 * kInts) % 5) + 3 * 7 + next();
  compare.write(0, &there, sizeof there);
  const Memory &got = run.buffer(run.send_kind(), kBlock);
  const Memory &fetched = run.buffer(run.send_kind(), kBlock);
  const Memory &results = run.buffer(run.send_kind(), 2 * sizeof(int));
  const MPI_Win w = window.get();
  const int to = next();
  const auto block = [](int i) { return static_cast<MPI_Aint>(i * static_cast<int>(kBlock)); };
  const auto accesses = [&] {
    std::array<MPI_Request, 4> requests;
    requests.fill(MPI_REQUEST_NULL);
    if (has_requests) {
      run.call("rput", MPI_Rput(in.data(), kInts, MPI_INT, to, block(0), kInts, MPI_INT, w, &requests[0]));
      run.call("rget", MPI_Rget(got.data(), kInts, MPI_INT, to, block(1), kInts, MPI_INT, w, &requests[1]));
      run.call("raccumulate",
               MPI_Raccumulate(in.at(kBlock), kInts, MPI_INT, to, block(2), kInts, MPI_INT, MPI_SUM, w, &requests[2]));
      run.call("rget_accumulate", MPI_Rget_accumulate(in.at(2 * kBlock), kInts, MPI_INT, fetched.data(), kInts, MPI_INT,
                                                      to, block(3), kInts, MPI_INT, MPI_MAX, w, &requests[3]));
      run.call("wait", MPI_Wait(&requests[1], MPI_STATUS_IGNORE));
      const Bytes bytes = got.read();
      const std::vector<int> expected = numbers(2 * kInts, 3);
      for (std::size_t i = 0; i < kInts; ++i) {
        int value = 0;
        std::memcpy(&value, bytes.data() + i * sizeof value, sizeof value);
        EXPECT_EQ(value, expected[kInts + i] - Session::get().rank() + to) << "MPI_Rget is complete, element " << i;
      }
      run.call("waitall", MPI_Waitall(4, requests.data(), MPI_STATUSES_IGNORE));
    } else {
      run.call("put", MPI_Put(in.data(), kInts, MPI_INT, to, block(0), kInts, MPI_INT, w));
      run.call("get", MPI_Get(got.data(), kInts, MPI_INT, to, block(1), kInts, MPI_INT, w));
      run.call("accumulate", MPI_Accumulate(in.at(kBlock), kInts, MPI_INT, to, block(2), kInts, MPI_INT, MPI_SUM, w));
      run.call("get_accumulate", MPI_Get_accumulate(in.at(2 * kBlock), kInts, MPI_INT, fetched.data(), kInts, MPI_INT,
                                                    to, block(3), kInts, MPI_INT, MPI_MAX, w));
    }
    run.call("fetch_and_op", MPI_Fetch_and_op(in.data(), results.data(), MPI_INT, to, block(4), MPI_SUM, w));
    run.call("compare_and_swap",
             MPI_Compare_and_swap(in.at(4), compare.data(), results.at(sizeof(int)), MPI_INT, to, block(5), w));
  };
  const auto look = [&] {
    for (const Memory *one : {&got, &fetched, &results}) {
      int first = -1;
      const Bytes bytes = one->read(0, sizeof first);
      std::memcpy(&first, bytes.data(), sizeof first);
      run.note("what was fetched, when it is complete", first);
    }
  };
  within(run, epoch, w, accesses, look);
}

bool has_device() {
  if (Session::get().has_kind(Kind::device)) return true;
  [] { GTEST_SKIP() << "missing: device memory"; }();
  return false;
}

TEST(HostWindows, TakeEveryOperation_UnderEverySynchronisation) {
  if (!has_device()) return;
  for (const Making making : {Making::create, Making::allocate, Making::shared}) {
    for (const Epoch epoch : kEpochs) {
      SCOPED_TRACE("making " + std::to_string(static_cast<int>(making)) + ", epoch " +
                   std::to_string(static_cast<int>(epoch)));
      compare_with_host({Kind::device, Kind::host, 0}, [&](Trial &run) { every_operation(run, making, epoch, false); });
      if (Session::get().agree_any(testing::Test::HasFailure())) return;
    }
  }
}

TEST(HostWindows, TakeFormsWithRequests) {
  if (!has_device()) return;
  for (const Epoch epoch : {Epoch::lock, Epoch::lock_all, Epoch::flush_all}) {
    compare_with_host({Kind::device, Kind::host, 0},
                      [&](Trial &run) { every_operation(run, Making::create, epoch, true); });
  }
}

// The host MPI may say so too early (Completion::kMaybeEarly): the run on host copies is no example.
TEST(HostWindows, HaveFetched_WhenAFlushReturns) {
  if (!has_device()) return;
  const Session &session = Session::get();
  const std::vector<int> before = numbers(2 * kInts, 3);
  std::vector<int> expected(before.begin(), before.begin() + kInts);
  for (int &value : expected) value += next() - session.rank();
  Bytes expected_bytes(kBlock);
  std::memcpy(expected_bytes.data(), expected.data(), kBlock);
  for (int round = 0; round < 10; ++round) {
    Trial run({Kind::host, Kind::host, 0}, 0);
    HostWindow window(run, Making::create, 2 * kBlock);
    window.fill(before.data(), 2 * kBlock);
    const MPI_Win w = window.get();
    if (session.rank() == 0) {
      const Memory got(session.module(), Kind::device, kBlock);
      const int given = 5;
      MPI_Win_lock(MPI_LOCK_SHARED, next(), 0, w);
      MPI_Get(got.data(), kInts, MPI_INT, next(), 0, kInts, MPI_INT, w);
      MPI_Put(&given, 1, MPI_INT, next(), kBlock, 1, MPI_INT, w);
      const std::array codes{&MPI_Win_flush_all, &MPI_Win_flush_local_all};
      EXPECT_EQ(round % 3 == 0 ? MPI_Win_flush_local(next(), w) : codes.at(round % 3 - 1)(w), MPI_SUCCESS);
      EXPECT_EQ(find_difference(expected_bytes, got.read()), "");
      MPI_Win_unlock(next(), w);
    }
    MPI_Barrier(session.comm());
  }
}

// Of 96 ints on both sides.
struct TypeCase {
  const char *name;
  MPI_Datatype type;
  int count;
  bool is_of_one_type;
};

std::vector<TypeCase> make_types() {
  std::vector<TypeCase> types;
  MPI_Datatype made = MPI_DATATYPE_NULL;
  MPI_Type_vector(48, 2, 5, MPI_INT, &made);
  types.push_back({"vector", made, 1, true});
  const std::array<int, 3> lengths{31, 1, 64};
  const std::array<int, 3> displacements{200, 3, 10};
  MPI_Type_indexed(3, lengths.data(), displacements.data(), MPI_INT, &made);
  types.push_back({"indexed", made, 1, true});
  MPI_Datatype row = MPI_DATATYPE_NULL;
  const MPI_Aint behind = 40;
  const int all = 48;
  MPI_Type_create_hindexed(1, &all, &behind, MPI_INT, &row);
  MPI_Type_create_resized(row, 0, 60 * 4, &made);
  MPI_Type_free(&row);
  types.push_back({"rows that begin behind their origin", made, 2, true});
  const std::array<int, 2> members{4, 2};
  const std::array<MPI_Aint, 2> at{0, 24};
  const std::array<MPI_Datatype, 2> kinds{MPI_INT, MPI_FLOAT};
  MPI_Type_create_struct(2, members.data(), at.data(), kinds.data(), &made);
  types.push_back({"structure of two types", made, 16, false});
  for (TypeCase &c : types) MPI_Type_commit(&c.type);
  return types;
}

TEST(HostWindows, TakeTypesWithGaps) {
  if (!has_device()) return;
  std::vector<TypeCase> types = make_types();
  for (const TypeCase &c : types) {
    SCOPED_TRACE(c.name);
    compare_with_host({Kind::device, Kind::host, 0}, [&](Trial &run) {
      HostWindow window(run, Making::create, 3 * 1100);
      const std::vector<int> before = numbers(3 * 275, 3);
      window.fill(before.data(), 3 * 1100);
      const Memory &in = run.buffer(run.send_kind(), 1100);
      const std::vector<int> given = numbers(275, 1);
      in.write(0, given.data(), 1100);
      const Memory &got = run.buffer(run.send_kind(), 1100);
      const Memory &fetched = run.buffer(run.send_kind(), 1100);
      const auto accesses = [&] {
        run.call("put", MPI_Put(in.data(), c.count, c.type, next(), 0, c.count, c.type, window.get()));
        run.call("get", MPI_Get(got.data(), c.count, c.type, next(), 1100, c.count, c.type, window.get()));
        if (!c.is_of_one_type) return;
        run.call("get_accumulate", MPI_Get_accumulate(in.data(), c.count, c.type, fetched.data(), c.count, c.type,
                                                      next(), 2200, 96, MPI_INT, MPI_SUM, window.get()));
      };
      within(run, Epoch::lock, window.get(), accesses, [] {});
    });
    if (Session::get().agree_any(testing::Test::HasFailure())) break;
  }
  for (TypeCase &c : types) MPI_Type_free(&c.type);
}

// Elements with a gap of their own.
TEST(HostWindows, TakePairs) {
  if (!has_device()) return;
  if (loses_pairs_in_accumulates()) GTEST_SKIP() << "missing: accumulates of pairs in the host MPI";
  compare_with_host({Kind::device, Kind::host, 0}, [&](Trial &run) {
    HostWindow window(run, Making::create, 512);
    const std::vector<int> before = numbers(128, 3);
    window.fill(before.data(), 512);
    const Memory &in = run.buffer(run.send_kind(), 64);
    const std::vector<int> given = numbers(16, 1);
    in.write(0, given.data(), 64);
    const auto accesses = [&] {
      run.call("accumulate",
               MPI_Accumulate(in.data(), 2, MPI_DOUBLE_INT, next(), 0, 2, MPI_DOUBLE_INT, MPI_REPLACE, window.get()));
    };
    within(run, Epoch::fence, window.get(), accesses, [] {});
  });
}

TEST(HostWindows, TakeAbsoluteAddresses) {
  if (!has_device()) return;
  compare_with_host({Kind::device, Kind::host, 0}, [&](Trial &run) {
    HostWindow window(run, Making::create, 512);
    const std::vector<int> before = numbers(128, 3);
    window.fill(before.data(), 512);
    const Memory &one = run.input(100, 1);
    const Memory &other = run.input(100, 2);
    const Memory &got = run.buffer(run.send_kind(), 100);
    const std::array<int, 2> lengths{40, 25};
    std::array<MPI_Aint, 2> addresses{};
    MPI_Get_address(one.at(8), &addresses[0]);
    MPI_Get_address(other.at(50), &addresses[1]);
    std::array<MPI_Datatype, 2> types{};
    MPI_Type_create_hindexed(2, lengths.data(), addresses.data(), MPI_BYTE, &types[0]);
    MPI_Get_address(got.at(3), &addresses[0]);
    MPI_Type_create_hindexed(1, lengths.data(), addresses.data(), MPI_BYTE, &types[1]);
    for (MPI_Datatype &type : types) MPI_Type_commit(&type);
    const auto accesses = [&] {
      run.call("put", MPI_Put(MPI_BOTTOM, 1, types[0], next(), 0, 65, MPI_BYTE, window.get()));
      run.call("get", MPI_Get(MPI_BOTTOM, 1, types[1], next(), 300, 40, MPI_BYTE, window.get()));
    };
    within(run, Epoch::fence, window.get(), accesses, [] {});
    for (MPI_Datatype &type : types) MPI_Type_free(&type);
  });
}

// Nothing is kept of operations that are complete; origins are the program's again, and read as they were.
TEST(HostWindows, CarryManyOperations_AndCountThem) {
  if (!has_device() || !count_statistics()) return;
  constexpr int kTimes = 200;
  const Memory in(Session::get().module(), Kind::device, kTimes);
  in.fill_pattern(Session::get().rank(), 1);
  std::vector<char> memory(kTimes);
  const long long n_before = calls_by("MPI_Put", "staged");
  {
    const TestWindow window(memory.data(), memory.size(), 1);
    MPI_Win_lock_all(0, window.get());
    for (int i = 0; i < kTimes; ++i) {
      EXPECT_EQ(MPI_Put(in.at(static_cast<std::size_t>(i)), 1, MPI_BYTE, next(), i, 1, MPI_BYTE, window.get()),
                MPI_SUCCESS);
      if (i % 50 == 0) MPI_Win_flush(next(), window.get());
    }
    MPI_Win_unlock_all(window.get());
    MPI_Barrier(Session::get().comm());
    MPI_Win_lock(MPI_LOCK_SHARED, Session::get().rank(), 0, window.get());
    MPI_Win_unlock(Session::get().rank(), window.get());
  }
  EXPECT_EQ(calls_by("MPI_Put", "staged"), n_before + kTimes);
  Bytes bytes(memory.size());
  std::memcpy(bytes.data(), memory.data(), memory.size());
  const int n = Session::get().size();
  EXPECT_EQ(find_pattern_error(bytes, (Session::get().rank() + n - 1) % n, 1), "");
}

}  // namespace
}  // namespace sluice::tests::host_windows_test
