// SPDX-License-Identifier: BSD-3-Clause
// MPI_Put and MPI_Get between fences: kinds of memory on both sides, sizes, displacement units, types with gaps.
#include <array>
#include <cstdlib>
#include <string>
#include <vector>

#include "tests/ranks/rma/test_window.hpp"
#include "tests/support/matrix_rows.hpp"
#include "tests/support/statistics.hpp"

namespace sluice::tests::put_get_test {
namespace {

constexpr std::size_t kSlotBytes = 800 * 1024;  // more than the messages of three blocks

// Each rank puts into its slot of the next rank's window, and gets from the previous one's.
void exchange(Trial &run, const WindowKinds &kinds, std::size_t size_bytes, int disp_unit) {
  const Session &session = Session::get();
  const auto n = static_cast<std::size_t>(session.size());
  const std::size_t slot = size_bytes + 64;
  const Memory &memory = run.buffer(window_kind(run, kinds), n * slot);
  run.refill(memory, 9);
  const Memory &in = run.input(size_bytes + 3, 1);
  const Memory &out = run.buffer(run.send_kind(), size_bytes + 3);
  const TestWindow window(memory, disp_unit);
  const int next = (session.rank() + 1) % session.size();
  const int count = static_cast<int>(size_bytes);
  // Behind the first unit, so that guards of the slot show what went beside it.
  const auto disp = static_cast<MPI_Aint>((static_cast<std::size_t>(session.rank()) * slot + 64) / 64 * 64) / disp_unit;
  run.call("fence", MPI_Win_fence(MPI_MODE_NOPRECEDE, window.get()));
  run.call("put", MPI_Put(in.at(1), count, MPI_BYTE, next, disp, count, MPI_BYTE, window.get()));
  run.call("fence", MPI_Win_fence(0, window.get()));
  run.call("get", MPI_Get(out.at(2), count, MPI_BYTE, next, disp, count, MPI_BYTE, window.get()));
  run.call("fence", MPI_Win_fence(MPI_MODE_NOSUCCEED, window.get()));
}

struct SizeAndUnit {
  std::size_t size_bytes;
  int disp_unit;
};

TEST(PutGet, MovesBytes_ForEveryKindAndSize) {
  for (const auto &[size_bytes, disp_unit] :
       {SizeAndUnit{0, 8}, SizeAndUnit{1, 1}, SizeAndUnit{8, 8}, SizeAndUnit{4097, 1}, SizeAndUnit{kSlotBytes, 8}}) {
    SCOPED_TRACE(std::to_string(size_bytes) + " bytes, unit " + std::to_string(disp_unit));
    const bool goes_on =
        compare_each_kind([&, size = size_bytes, unit = disp_unit](Trial &run, const WindowKinds &kinds) {
          exchange(run, kinds, size, unit);
        });
    if (!goes_on) return;
  }
}

TEST(PutGet, MovesToOneself) {
  compare_each_kind([](Trial &run, const WindowKinds &kinds) {
    const Memory &memory = run.buffer(window_kind(run, kinds), 4096);
    const Memory &in = run.input(1000, 1);
    const Memory &out = run.buffer(run.send_kind(), 1000);
    const TestWindow window(memory, 4);
    const int rank = Session::get().rank();
    MPI_Win_fence(0, window.get());
    run.call("put", MPI_Put(in.data(), 1000, MPI_BYTE, rank, 3, 1000, MPI_BYTE, window.get()));
    run.call("fence", MPI_Win_fence(0, window.get()));
    run.call("get", MPI_Get(out.data(), 1000, MPI_BYTE, rank, 3, 1000, MPI_BYTE, window.get()));
    run.call("fence", MPI_Win_fence(0, window.get()));
  });
}

// Types of 96 ints with gaps on one side or both; some of many short runs, which take several messages.
struct TypePair {
  const char *name;
  MPI_Datatype origin;
  int origin_count;
  MPI_Datatype target;
  int target_count;
};

std::vector<TypePair> make_type_pairs() {
  std::vector<TypePair> pairs;
  MPI_Datatype vector = MPI_DATATYPE_NULL;
  MPI_Type_vector(48, 2, 5, MPI_INT, &vector);
  MPI_Type_commit(&vector);
  MPI_Datatype indexed = MPI_DATATYPE_NULL;
  const std::array<int, 3> lengths{31, 1, 64};
  const std::array<int, 3> displacements{200, 3, 10};
  MPI_Type_indexed(3, lengths.data(), displacements.data(), MPI_INT, &indexed);
  MPI_Type_commit(&indexed);
  MPI_Datatype sparse = MPI_DATATYPE_NULL;
  MPI_Type_vector(20000, 1, 2, MPI_INT, &sparse);
  MPI_Type_commit(&sparse);
  MPI_Datatype pair = MPI_DATATYPE_NULL;
  MPI_Type_create_resized(MPI_SHORT_INT, 0, 16, &pair);
  MPI_Type_commit(&pair);
  const MPI_Datatype rows = rows_of_matrix(6, 48, MPI_INT);
  pairs.push_back({"vector to ints", vector, 1, MPI_INT, 96});
  pairs.push_back({"ints to indexed", MPI_INT, 96, indexed, 1});
  pairs.push_back({"indexed to vector", indexed, 2, vector, 2});
  pairs.push_back({"rows to vector", rows, 1, vector, 1});
  pairs.push_back({"pairs with gaps", MPI_SHORT_INT, 20, pair, 20});
  if (crashes_on_many_runs_in_windows()) return pairs;
  pairs.push_back({"sparse to ints", sparse, 1, MPI_INT, 20000});
  pairs.push_back({"ints to sparse", MPI_INT, 20000, sparse, 1});
  return pairs;
}

TEST(PutGet, MovesTypesWithGaps) {
  constexpr std::size_t kBytes = 20000 * 8 + 64;
  std::vector<TypePair> pairs = make_type_pairs();
  for (const TypePair &types : pairs) {
    SCOPED_TRACE(types.name);
    const bool goes_on = compare_each_kind([&](Trial &run, const WindowKinds &kinds) {
      const Session &session = Session::get();
      const Memory &memory = run.buffer(window_kind(run, kinds), kBytes);
      const Memory &in = run.input(kBytes, 1);
      const Memory &out = run.buffer(run.send_kind(), kBytes);
      const TestWindow window(memory, 4);
      const int next = (session.rank() + 1) % session.size();
      MPI_Win_fence(0, window.get());
      run.call("put", MPI_Put(in.data(), types.origin_count, types.origin, next, 2, types.target_count, types.target,
                              window.get()));
      run.call("fence", MPI_Win_fence(0, window.get()));
      run.call("get", MPI_Get(out.data(), types.origin_count, types.origin, next, 2, types.target_count, types.target,
                              window.get()));
      run.call("fence", MPI_Win_fence(0, window.get()));
    });
    if (!goes_on) break;
  }
}

TEST(PutGet, MovesManyShortBlocks_InOneEpoch) {
  compare_each_kind([](Trial &run, const WindowKinds &kinds) {
    constexpr int kBlocks = 300;
    const Session &session = Session::get();
    const int n = session.size();
    const Memory &memory = run.buffer(window_kind(run, kinds), static_cast<std::size_t>(n) * kBlocks * 64);
    const Memory &in = run.input(std::size_t{kBlocks} * 64, 1);
    const TestWindow window(memory, 64);
    MPI_Win_fence(0, window.get());
    for (int block = 0; block < kBlocks; ++block) {
      const int target = (session.rank() + block) % n;
      run.call("put", MPI_Put(in.at(static_cast<std::size_t>(block) * 64), 60, MPI_BYTE, target,
                              session.rank() * kBlocks + block, 60, MPI_BYTE, window.get()));
    }
    run.call("fence", MPI_Win_fence(0, window.get()));
  });
}

// A window of device memory at one rank alone, of no memory at another, at an interior pointer. (MPICH 4.0 moves the
// beginning of a window to a multiple of 32 bytes: this one begins at one.)
TEST(PutGet, ServesWindowsThatDiffer) {
  if (!Session::get().has_kind(Kind::device)) GTEST_SKIP() << "missing: device memory";
  compare_with_host({Kind::device, Kind::device, 0}, [](Trial &run) {
    const Session &session = Session::get();
    const bool is_last = session.rank() == session.size() - 1;
    const Kind kind = run.recv_kind() == Kind::host || !is_last ? Kind::host : Kind::device;
    const Memory &memory = run.buffer(kind, 512);
    const Memory &in = run.input(64, 1);
    const TestWindow window(session.rank() == 0 && session.size() > 2 ? nullptr : memory.at(128),
                            session.rank() == 0 && session.size() > 2 ? 0 : 256, 1 + session.rank());
    MPI_Win_fence(0, window.get());
    if (session.rank() == 0) {
      run.call("put", MPI_Put(in.data(), 64, MPI_BYTE, session.size() - 1, 2, 64, MPI_BYTE, window.get()));
    }
    run.call("fence", MPI_Win_fence(0, window.get()));
  });
}

TEST(PutGet, TakesTheRouteThatIsMeant) {
  const char *route = std::getenv("TEST_ROUTE");
  if (route == nullptr) GTEST_SKIP() << "missing: TEST_ROUTE, the route that puts take here";
  if (!Session::get().has_kind(Kind::device) || !count_statistics()) GTEST_SKIP() << "missing: device memory";
  const Memory memory(Session::get().module(), Kind::device, 4096);
  const Memory in(Session::get().module(), Kind::device, 64);
  const int next = (Session::get().rank() + 1) % Session::get().size();
  const long long before = calls_by("MPI_Put", route);
  {
    const TestWindow window(memory, 1);
    MPI_Win_fence(0, window.get());
    EXPECT_EQ(MPI_Put(in.data(), 64, MPI_BYTE, next, 0, 64, MPI_BYTE, window.get()), MPI_SUCCESS);
    MPI_Win_fence(0, window.get());
  }
  EXPECT_EQ(calls_by("MPI_Put", route), before + 1);
}

TEST(PutGet, MovesManyRunsByOneKernel) {
  const char *route = std::getenv("TEST_ROUTE");
  if (route == nullptr || std::string(route) != "ipc") GTEST_SKIP() << "missing: TEST_ROUTE=ipc";
  if (!Session::get().has_kind(Kind::device) || !count_statistics()) GTEST_SKIP() << "missing: device memory";
  const Memory memory(Session::get().module(), Kind::device, 4096);
  const Memory in(Session::get().module(), Kind::device, 4096);
  in.fill_pattern(Session::get().rank(), 1);
  MPI_Datatype strided = MPI_DATATYPE_NULL;
  MPI_Type_vector(100, 1, 3, MPI_DOUBLE, &strided);
  MPI_Type_commit(&strided);
  const int n = Session::get().size();
  const long long n_launches = pack_launches();
  {
    const TestWindow window(memory, 8);
    MPI_Win_fence(0, window.get());
    EXPECT_EQ(MPI_Put(in.data(), 100, MPI_DOUBLE, (Session::get().rank() + 1) % n, 7, 1, strided, window.get()),
              MPI_SUCCESS);
    MPI_Win_fence(0, window.get());
  }
  EXPECT_EQ(pack_launches(), n_launches + 1);
  MPI_Type_free(&strided);
  const int previous = (Session::get().rank() + n - 1) % n;
  for (std::size_t i = 0; i < 100; ++i) {
    EXPECT_EQ(find_pattern_error(memory.read(56 + i * 24, 8), previous, 1, i * 8), "");
    EXPECT_EQ(find_difference(Bytes(16, kPoison), memory.read(64 + i * 24, 16)), "");
  }
}

}  // namespace
}  // namespace sluice::tests::put_get_test
