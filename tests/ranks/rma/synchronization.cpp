// SPDX-License-Identifier: BSD-3-Clause
// Synchronisation: post, start, complete, wait and test; locks, flushes; requests; dynamic windows and attributes.
#include <array>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "tests/ranks/rma/test_window.hpp"

namespace sluice::tests::synchronization_test {
namespace {

MPI_Group group_of(const std::vector<int> &ranks) {
  MPI_Group all = MPI_GROUP_NULL;
  MPI_Group some = MPI_GROUP_NULL;
  MPI_Comm_group(Session::get().comm(), &all);
  MPI_Group_incl(all, static_cast<int>(ranks.size()), ranks.data(), &some);
  MPI_Group_free(&all);
  return some;
}

// Each rank accesses the next one, and is accessed by the previous one. `waits`: by MPI_Win_wait, or tests.
void ring(Trial &run, const WindowKinds &kinds, bool waits) {
  const Session &session = Session::get();
  const int n = session.size();
  const Memory &memory = run.buffer(window_kind(run, kinds), 300);
  run.refill(memory, 9);
  const Memory &in = run.input(100, 1);
  const Memory &out = run.buffer(run.send_kind(), 100);
  const TestWindow window(memory, 1);
  const int next = (session.rank() + 1) % n;
  MPI_Group targets = group_of({next});
  MPI_Group origins = group_of({(session.rank() + n - 1) % n});
  for (int epoch = 0; epoch < 3; ++epoch) {
    run.call("post", MPI_Win_post(origins, epoch == 1 ? MPI_MODE_NOSTORE : 0, window.get()));
    run.call("start", MPI_Win_start(targets, 0, window.get()));
    run.call("put", MPI_Put(in.data(), 100, MPI_BYTE, next, 100 * epoch, 100, MPI_BYTE, window.get()));
    if (epoch == 1) run.call("get", MPI_Get(out.data(), 100, MPI_BYTE, next, 0, 100, MPI_BYTE, window.get()));
    run.call("complete", MPI_Win_complete(window.get()));
    if (waits) {
      run.call("wait", MPI_Win_wait(window.get()));
      continue;
    }
    for (int flag = 0; flag == 0;) {
      const int code = MPI_Win_test(window.get(), &flag);
      if (code != MPI_SUCCESS) return run.call("test", code);
    }
  }
  MPI_Group_free(&targets);
  MPI_Group_free(&origins);
}

TEST(ActiveTarget, OrdersPostStartCompleteWait) {
  compare_each_kind([](Trial &run, const WindowKinds &kinds) { ring(run, kinds, true); });
}

TEST(ActiveTarget, OrdersPostStartCompleteTest) {
  compare_each_kind([](Trial &run, const WindowKinds &kinds) { ring(run, kinds, false); });
}

// Rank 0 is accessed by all others; an empty group is one, too.
TEST(ActiveTarget, TakesGroupsOfManyAndOfNone) {
  compare_each_kind([](Trial &run, const WindowKinds &kinds) {
    const Session &session = Session::get();
    const auto n = static_cast<std::size_t>(session.size());
    const Memory &memory = run.buffer(window_kind(run, kinds), n * 50);
    const Memory &in = run.input(50, 1);
    const TestWindow window(memory, 50);
    std::vector<int> others;
    for (int rank = 1; rank < session.size(); ++rank) others.push_back(rank);
    MPI_Group group = group_of(session.rank() == 0 ? others : std::vector<int>{0});
    MPI_Group none = group_of({});
    if (session.rank() == 0) {
      run.call("post", MPI_Win_post(group, 0, window.get()));
      run.call("start", MPI_Win_start(none, 0, window.get()));
      run.call("complete", MPI_Win_complete(window.get()));
      run.call("wait", MPI_Win_wait(window.get()));
    } else {
      run.call("start", MPI_Win_start(group, 0, window.get()));
      run.call("put", MPI_Put(in.data(), 50, MPI_BYTE, 0, session.rank(), 50, MPI_BYTE, window.get()));
      run.call("complete", MPI_Win_complete(window.get()));
    }
    MPI_Group_free(&group);
    MPI_Group_free(&none);
  });
}

// A counter that is read and written under a lock which nobody shares, on every rank.
TEST(PassiveTarget, LetsOneRankAtATimeIn) {
  compare_each_kind([](Trial &run, const WindowKinds &kinds) {
    const Session &session = Session::get();
    const Memory &memory = run.buffer(window_kind(run, kinds), 8);
    const std::int64_t zero = 0;
    memory.write(0, &zero, sizeof zero);
    const TestWindow window(memory, 8);
    MPI_Barrier(session.comm());
    for (int i = 0; i < 20 * session.size(); ++i) {
      const int target = i % session.size();
      std::int64_t number = -1;
      run.call("lock", MPI_Win_lock(MPI_LOCK_EXCLUSIVE, target, 0, window.get()));
      run.call("get", MPI_Get(&number, 1, MPI_INT64_T, target, 0, 1, MPI_INT64_T, window.get()));
      run.call("flush", MPI_Win_flush(target, window.get()));
      ++number;
      run.call("put", MPI_Put(&number, 1, MPI_INT64_T, target, 0, 1, MPI_INT64_T, window.get()));
      run.call("unlock", MPI_Win_unlock(target, window.get()));
    }
    MPI_Barrier(session.comm());
    std::int64_t number = -1;
    MPI_Win_lock(MPI_LOCK_SHARED, session.rank(), 0, window.get());
    const Bytes bytes = memory.read();
    std::memcpy(&number, bytes.data(), sizeof number);
    MPI_Win_unlock(session.rank(), window.get());
    EXPECT_EQ(number, 20 * session.size());
  });
}

TEST(PassiveTarget, FlushesInEveryForm) {
  compare_each_kind([](Trial &run, const WindowKinds &kinds) {
    const Session &session = Session::get();
    const auto n = static_cast<std::size_t>(session.size());
    const Memory &memory = run.buffer(window_kind(run, kinds), n * 5 * 16);
    const Memory &in = run.input(5 * 16, 1);
    const Memory &out = run.buffer(run.send_kind(), n * 16);
    const TestWindow window(memory, 16);
    const int next = (session.rank() + 1) % session.size();
    run.call("lock_all", MPI_Win_lock_all(0, window.get()));
    for (int i = 0; i < 5; ++i) {
      run.call("put", MPI_Put(in.at(static_cast<std::size_t>(i) * 16), 16, MPI_BYTE, next, session.rank() * 5 + i, 16,
                              MPI_BYTE, window.get()));
      switch (i) {
        case 0:
          run.call("flush", MPI_Win_flush(next, window.get()));
          break;
        case 1:
          run.call("flush_local", MPI_Win_flush_local(next, window.get()));
          break;
        case 2:
          run.call("flush_local_all", MPI_Win_flush_local_all(window.get()));
          break;
        default:
          run.call("flush_all", MPI_Win_flush_all(window.get()));
      }
    }
    for (int rank = 0; rank < session.size(); ++rank) {
      run.call("get", MPI_Get(out.at(static_cast<std::size_t>(rank) * 16), 16, MPI_BYTE, next, session.rank() * 5 + 1,
                              16, MPI_BYTE, window.get()));
    }
    run.call("sync", MPI_Win_sync(window.get()));
    run.call("unlock_all", MPI_Win_unlock_all(window.get()));
    MPI_Barrier(session.comm());
    run.call("lock", MPI_Win_lock(MPI_LOCK_SHARED, next, MPI_MODE_NOCHECK, window.get()));
    run.call("get", MPI_Get(out.data(), 16, MPI_BYTE, next, session.rank() * 5 + 4, 16, MPI_BYTE, window.get()));
    run.call("unlock", MPI_Win_unlock(next, window.get()));
    MPI_Barrier(session.comm());
  });
}

TEST(Requests, CompleteWhenTheDataAreThere) {
  compare_each_kind([](Trial &run, const WindowKinds &kinds) {
    const Session &session = Session::get();
    const Memory &memory = run.buffer(window_kind(run, kinds), 4096);
    const std::vector<int> zeros(1024, 5);
    memory.write(0, zeros.data(), 4096);
    const Memory &in = run.buffer(run.send_kind(), 1024);
    std::vector<int> values(256, 3 + session.rank());
    in.write(0, values.data(), 1024);
    const Memory &out = run.buffer(run.send_kind(), 2048);
    const TestWindow window(memory, 4);
    const int next = (session.rank() + 1) % session.size();
    MPI_Barrier(session.comm());
    run.call("lock_all", MPI_Win_lock_all(0, window.get()));
    std::array<MPI_Request, 4> requests{};
    run.call("rput", MPI_Rput(in.data(), 256, MPI_INT, next, 0, 256, MPI_INT, window.get(), &requests[0]));
    run.call("raccumulate",
             MPI_Raccumulate(in.data(), 256, MPI_INT, next, 256, 256, MPI_INT, MPI_SUM, window.get(), &requests[1]));
    run.call("rget_accumulate", MPI_Rget_accumulate(in.data(), 256, MPI_INT, out.data(), 256, MPI_INT, next, 512, 256,
                                                    MPI_INT, MPI_SUM, window.get(), &requests[2]));
    run.call("rget", MPI_Rget(out.at(1024), 256, MPI_INT, next, 768, 256, MPI_INT, window.get(), &requests[3]));
    run.call("wait", MPI_Wait(&requests[3], MPI_STATUS_IGNORE));
    const Bytes got = out.read(1024, 1024);
    EXPECT_EQ(std::memcmp(got.data(), zeros.data(), 1024), 0) << "MPI_Rget is complete and the data are not there";
    run.call("waitall", MPI_Waitall(3, requests.data(), MPI_STATUSES_IGNORE));
    for (const MPI_Request request : requests) EXPECT_EQ(request, MPI_REQUEST_NULL);
    MPI_Request nobody = MPI_REQUEST_NULL;
    run.call("rput", MPI_Rput(in.data(), 256, MPI_INT, MPI_PROC_NULL, 0, 256, MPI_INT, window.get(), &nobody));
    run.call("wait", MPI_Wait(&nobody, MPI_STATUS_IGNORE));
    run.call("unlock_all", MPI_Win_unlock_all(window.get()));
    MPI_Barrier(session.comm());
  });
}

// Memory that is attached, by address; the oracle is the pattern.
TEST(DynamicWindows, ReachWhatIsAttached) {
  const Session &session = Session::get();
  if (!session.has_kind(Kind::device)) GTEST_SKIP() << "missing: device memory";
  MPI_Win window = MPI_WIN_NULL;
  ASSERT_EQ(MPI_Win_create_dynamic(MPI_INFO_NULL, session.comm(), &window), MPI_SUCCESS);
  MPI_Win_set_errhandler(window, MPI_ERRORS_RETURN);
  for (const Kind kind : session.kinds()) {
    SCOPED_TRACE(kind_name(kind));
    const Memory memory(session.module(), kind, 1000);
    const Memory in(session.module(), Kind::device, 400);
    in.fill_pattern(session.rank(), 1);
    ASSERT_EQ(MPI_Win_attach(window, memory.data(), 1000), MPI_SUCCESS);
    const int n = session.size();
    const int next = (session.rank() + 1) % n;
    MPI_Aint own = 0;
    MPI_Get_address(memory.data(), &own);
    std::vector<MPI_Aint> addresses(static_cast<std::size_t>(n));
    MPI_Allgather(&own, 1, MPI_AINT, addresses.data(), 1, MPI_AINT, session.comm());
    const MPI_Aint there = addresses[static_cast<std::size_t>(next)];
    EXPECT_EQ(MPI_Win_fence(0, window), MPI_SUCCESS);
    EXPECT_EQ(MPI_Put(in.data(), 400, MPI_BYTE, next, there + 100, 400, MPI_BYTE, window), MPI_SUCCESS);
    EXPECT_EQ(MPI_Win_fence(0, window), MPI_SUCCESS);
    EXPECT_EQ(find_pattern_error(memory.read(100, 400), (session.rank() + n - 1) % n, 1), "");
    EXPECT_EQ(find_difference(Bytes(100, kPoison), memory.read(0, 100)), "");
    EXPECT_EQ(find_difference(Bytes(500, kPoison), memory.read(500, 500)), "");
    // Beyond what is attached: said at the synchronisation, and nothing is written.
    EXPECT_EQ(MPI_Put(in.data(), 400, MPI_BYTE, next, there + 700, 400, MPI_BYTE, window), MPI_SUCCESS);
    EXPECT_EQ(error_class_of(MPI_Win_fence(0, window)), MPI_ERR_RMA_RANGE);
    EXPECT_EQ(find_difference(Bytes(500, kPoison), memory.read(500, 500)), "");
    EXPECT_EQ(error_class_of(MPI_Win_attach(window, memory.at(10), 10)), MPI_ERR_RMA_ATTACH);
    ASSERT_EQ(MPI_Win_detach(window, memory.data()), MPI_SUCCESS);
    EXPECT_EQ(error_class_of(MPI_Win_detach(window, memory.data())), MPI_ERR_RMA_ATTACH);
    MPI_Barrier(session.comm());
  }
  EXPECT_EQ(MPI_Win_free(&window), MPI_SUCCESS);
}

TEST(Attributes, SayWhatTheWindowIs) {
  const Session &session = Session::get();
  if (!session.has_kind(Kind::device)) GTEST_SKIP() << "missing: device memory";
  const Memory memory(session.module(), Kind::device, 640);
  const TestWindow window(memory.data(), 600, 3 + session.rank());
  void *value = nullptr;
  int is_set = 0;
  EXPECT_EQ(MPI_Win_get_attr(window.get(), MPI_WIN_BASE, &value, &is_set), MPI_SUCCESS);
  EXPECT_EQ(is_set, 1);
  EXPECT_EQ(value, memory.data());
  MPI_Win_get_attr(window.get(), MPI_WIN_SIZE, &value, &is_set);
  EXPECT_EQ(*static_cast<MPI_Aint *>(value), 600);
  MPI_Win_get_attr(window.get(), MPI_WIN_DISP_UNIT, &value, &is_set);
  EXPECT_EQ(*static_cast<int *>(value), 3 + session.rank());
  MPI_Win_get_attr(window.get(), MPI_WIN_CREATE_FLAVOR, &value, &is_set);
  EXPECT_EQ(*static_cast<int *>(value), MPI_WIN_FLAVOR_CREATE);
  MPI_Win_get_attr(window.get(), MPI_WIN_MODEL, &value, &is_set);
  EXPECT_EQ(*static_cast<int *>(value), MPI_WIN_SEPARATE);
  // The host MPI's: groups, names, the program's attributes.
  MPI_Group group = MPI_GROUP_NULL;
  int size = 0;
  EXPECT_EQ(MPI_Win_get_group(window.get(), &group), MPI_SUCCESS);
  MPI_Group_size(group, &size);
  EXPECT_EQ(size, session.size());
  MPI_Group_free(&group);
  int keyval = MPI_KEYVAL_INVALID;
  MPI_Win_create_keyval(MPI_WIN_NULL_COPY_FN, MPI_WIN_NULL_DELETE_FN, &keyval, nullptr);
  MPI_Win_set_attr(window.get(), keyval, &size);
  EXPECT_EQ(MPI_Win_get_attr(window.get(), keyval, &value, &is_set), MPI_SUCCESS);
  EXPECT_EQ(value, &size);
  MPI_Win_free_keyval(&keyval);
}

}  // namespace
}  // namespace sluice::tests::synchronization_test
