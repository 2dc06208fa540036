// SPDX-License-Identifier: BSD-3-Clause
// Reductions on several nodes in two levels: that they go so where they can, with the host MPI's result, and the same
// in every bit each time. Started as levels.cpp says, with coll_reduce_threshold=0.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "tests/ranks/coll/moving.hpp"
#include "tests/ranks/coll/placement.hpp"
#include "tests/ranks/coll/reduction_types.hpp"
#include "tests/ranks/coll/rounding.hpp"

namespace sluice::tests::level_reductions_test {
namespace {

const Case kOnDevice = {.send = Kind::device, .recv = Kind::device};

class LevelReductions : public testing::Test {
 protected:
  void SetUp() override {
    if (!session_.has_kind(Kind::device)) GTEST_SKIP() << "missing: device memory";
    const char *mode = std::getenv("SLUICE_COLL_IPC");
    if (mode == nullptr || std::string_view(mode) != "always" || session_.size() < 3) {
      GTEST_SKIP() << "missing: SLUICE_COLL_IPC=always, or three ranks";
    }
    placement_ = find_placement();
    if (placement_.n_nodes < 2) GTEST_SKIP() << "missing: two hosts, or SLUICE_NODE, different on some ranks";
    const int own = placement_.node[static_cast<std::size_t>(session_.rank())];
    is_alone_ = std::count(placement_.node.begin(), placement_.node.end(), own) == 1;
    const char *order = std::getenv("SLUICE_REDUCE_ORDER");
    keeps_order_ = order != nullptr && std::string_view(order) == "rank";
  }
  // Steps in which this rank's device reduces; a rank that is alone on its node has none.
  static long long node_steps() { return calls_by("MPI_Reduce_scatter", "kernel"); }

  const Session &session_ = Session::get();
  Placement placement_;
  bool is_alone_ = false;
  bool keeps_order_ = false;
};

void fill_exact(const Memory &memory, const TypeCase &of, int count) {
  std::vector<unsigned char> bytes(static_cast<std::size_t>(count) * of.size_bytes, 0);
  for (int i = 0; i < count; ++i) {
    of.make_exact(bytes.data() + static_cast<std::size_t>(i) * of.size_bytes, i, Session::get().rank());
  }
  memory.write(0, bytes.data(), bytes.size());
}

TEST_F(LevelReductions, GoInLanes_AndGiveTheHostMpisResult) {
  std::size_t n_pairs = 0;
  std::size_t n_combinations = 0;
  for (const TypeCase &of : reduction_types()) {
    const NamedOp &op = of.ops[n_pairs++ % of.ops.size()];
    if (may_be_left_to_the_host(of, op)) continue;
    n_combinations += n_pairs;
    for (const int count : {1, 65, 9'001}) {
      for (const bool is_in_place : {false, true}) {
        // Every second combination, unless there is time for all.
        if (++n_combinations % 2 == 0 && !session_.options().is_full) continue;
        SCOPED_TRACE(std::string(of.name) + " " + op.name + " " + std::to_string(count));
        const long long before = node_steps();
        compare_with_host(kOnDevice, [&](Trial &run) {
          const auto size_bytes = static_cast<std::size_t>(count) * of.size_bytes;
          const Memory &in = run.buffer(run.send_kind(), size_bytes);
          const Memory &out = run.buffer(run.recv_kind(), size_bytes);
          fill_exact(in, of, count);
          fill_exact(out, of, count);  // and the gaps of pairs, which an MPI may copy or leave
          run.call("MPI_Allreduce", MPI_Allreduce(is_in_place ? MPI_IN_PLACE : in.data(), out.data(), count, of.type,
                                                  op.op, session_.comm()));
        });
        if (!is_alone_ && !keeps_order_ && session_.has_sluice()) {
          EXPECT_GT(node_steps(), before) << "not in two levels";
        }
        if (HasFailure()) return;
      }
    }
  }
}

// The forms that need memory of Sluice's own: the result at one rank, or in blocks.
struct Delivering {
  const char *name;
  bool is_scattered;
  int (*call)(const void *in, void *out, int count, MPI_Datatype type, MPI_Op op, int root);
};

// Blocks of several lengths, some of none. No block lies over the place of its own result: in place, MPICH 4.0 copies
// one to the other and ends the program where they overlap.
std::vector<int> uneven_counts(int count) {
  std::vector<int> counts;
  const int n_ranks = Session::get().size();
  for (int rank = 0; rank < n_ranks; ++rank) counts.push_back(rank % 3 == 1 ? 0 : count + n_ranks - rank);
  return counts;
}

const std::vector<Delivering> &deliveries() {
  static const std::vector<Delivering> all = {
      {"MPI_Reduce", false,
       [](const void *in, void *out, int count, MPI_Datatype type, MPI_Op op, int root) {
         const bool is_root = Session::get().rank() == root;
         const void *from = in == MPI_IN_PLACE && !is_root ? out : in;
         return MPI_Reduce(from, is_root ? out : nullptr, count, type, op, root, Session::get().comm());
       }},
      {"MPI_Reduce_scatter_block", true,
       [](const void *in, void *out, int count, MPI_Datatype type, MPI_Op op, int) {
         return MPI_Reduce_scatter_block(in, out, count, type, op, Session::get().comm());
       }},
      {"MPI_Reduce_scatter", true,
       [](const void *in, void *out, int count, MPI_Datatype type, MPI_Op op, int) {
         return MPI_Reduce_scatter(in, out, uneven_counts(count).data(), type, op, Session::get().comm());
       }},
  };
  return all;
}

void compare(const Delivering &delivering, const TypeCase &of, const NamedOp &op, int count, bool is_in_place,
             int root) {
  const Session &session = Session::get();
  compare_with_host(kOnDevice, [&](Trial &run) {
    // As long as any block of any form.
    const int n_in = delivering.is_scattered ? (count + session.size()) * session.size() : count;
    const auto size_bytes = static_cast<std::size_t>(n_in) * of.size_bytes;
    const Memory &in = run.buffer(run.send_kind(), size_bytes);
    const Memory &out = run.buffer(run.recv_kind(), size_bytes);
    fill_exact(in, of, n_in);
    fill_exact(out, of, n_in);
    run.call(delivering.name,
             delivering.call(is_in_place ? MPI_IN_PLACE : in.data(), out.data(), count, of.type, op.op, root));
    if (!is_in_place || !delivering.is_scattered) return;
    // What lies behind the result of a reduction in place is the host MPI's to leave or to change.
    const bool is_even = std::string_view(delivering.name) == "MPI_Reduce_scatter_block";
    const int n_own = is_even ? count : uneven_counts(count)[static_cast<std::size_t>(session.rank())];
    const Bytes poison(static_cast<std::size_t>(n_in - n_own) * of.size_bytes, kPoison);
    out.write(static_cast<std::size_t>(n_own) * of.size_bytes, poison.data(), poison.size());
  });
}

TEST_F(LevelReductions, ToOneRankOrInBlocks_GoInLanesToo) {
  std::size_t n_pairs = 0;
  const bool is_in_order = placement_.is_uniform && placement_.is_node_major;
  for (const TypeCase &of : reduction_types()) {
    const NamedOp &op = of.ops[n_pairs++ % of.ops.size()];
    if (may_be_left_to_the_host(of, op)) continue;
    for (const Delivering &delivering : deliveries()) {
      for (const int count : {1, 65, 9'001}) {
        // One of the forms, of the lengths, of the roots and of in place or not in turn, unless there is time for all.
        const bool is_whole = session_.options().is_full;
        if (!is_whole && ((count != 65) != (n_pairs % 3 != 0) || &delivering != &deliveries()[n_pairs / 3 % 3]))
          continue;
        const int root = static_cast<int>(n_pairs) % session_.size();
        const bool is_in_place = n_pairs % 2 == 0;
        SCOPED_TRACE(std::string(delivering.name) + " " + of.name + " " + op.name + " " + std::to_string(count));
        const long long before = node_steps();
        compare(delivering, of, op, count, is_in_place, root);
        if (is_whole) compare(delivering, of, op, count, !is_in_place, (root + 1) % session_.size());
        const bool is_expected = !delivering.is_scattered || is_in_order;
        if (is_expected && !is_alone_ && !keeps_order_ && session_.has_sluice()) {
          EXPECT_GT(node_steps(), before) << "not in two levels";
        }
        if (!is_expected) {
          EXPECT_EQ(node_steps(), before) << "in two levels";
        }
        if (HasFailure()) return;
      }
    }
  }
}

TEST_F(LevelReductions, ReduceToEveryRoot_InEveryShape) {
  const TypeCase &of = *std::find_if(reduction_types().begin(), reduction_types().end(),
                                     [](const TypeCase &one) { return one.type == MPI_INT; });
  for (int root = 0; root < session_.size(); ++root) {
    for (const int count : {0, 2, 513, 40'003}) {
      for (const bool is_in_place : {false, true}) {
        SCOPED_TRACE(std::to_string(count) + " ints to " + std::to_string(root));
        compare(deliveries().front(), of, of.ops.front(), count, is_in_place, root);
        if (HasFailure()) return;
      }
    }
  }
}

// Started with a fault in force on one rank: it gets no device memory but for what the test itself takes.
TEST(LevelReductionFault, StaysFlat_WhenARankHasNoMemoryToSpare) {
  const Session &session = Session::get();
  if (!session.has_kind(Kind::device) || std::getenv("TEST_NO_MEMORY_TO_SPARE") == nullptr) {
    GTEST_SKIP() << "missing: device memory, or TEST_NO_MEMORY_TO_SPARE";
  }
  constexpr std::size_t kBytes = 20'000;
  const Memory in(session.module(), Kind::device, kBytes);
  const Memory out(session.module(), Kind::device, kBytes);
  in.fill_pattern(session.rank(), 0);
  const long long before = calls_by("MPI_Reduce_scatter", "kernel");
  for (int root = 0; root < session.size(); ++root) {
    ASSERT_EQ(MPI_Reduce(in.data(), out.data(), static_cast<int>(kBytes), MPI_BYTE, MPI_BXOR, root, session.comm()),
              MPI_SUCCESS);
    if (session.rank() != root) continue;
    Bytes wanted(kBytes, 0);
    for (std::size_t i = 0; i < kBytes; ++i) {
      for (int rank = 0; rank < session.size(); ++rank) wanted[i] ^= pattern_byte(rank, i, 0);
    }
    EXPECT_EQ(find_difference(wanted, out.read()), "") << "at " << root;
  }
  // Only where the rank without memory is the root, and needs none, do they go in two levels: both buffers of one call.
  EXPECT_LE(calls_by("MPI_Reduce_scatter", "kernel"), before + 2);
}

// Of numbers that are rounded: near the exact result, the same on all ranks, and the same each time, in place or not.
void expect_the_same_each_time(const TypeCase &of, const NamedOp &op, int count) {
  const Session &session = Session::get();
  const Bytes mine = rounded_input(of, session.rank(), count);
  const Memory in(session.module(), Kind::device, mine.size());
  const Memory out(session.module(), Kind::device, mine.size());
  Bytes first;
  for (int round = 0; round < 4; ++round) {
    const bool is_in_place = round % 2 == 1;
    in.write(0, mine.data(), mine.size());
    if (is_in_place) out.write(0, mine.data(), mine.size());
    ASSERT_EQ(MPI_Allreduce(is_in_place ? MPI_IN_PLACE : in.data(), out.data(), count, of.type, op.op, session.comm()),
              MPI_SUCCESS);
    const Bytes bytes = out.read();
    if (round == 0) first = bytes;
    ASSERT_EQ(find_difference(first, bytes), "") << "round " << round;
  }
  ASSERT_EQ(find_rounding_error(of, op.op, session.size(), first), "");
  Bytes of_first = first;
  ASSERT_EQ(MPI_Bcast(of_first.data(), static_cast<int>(first.size()), MPI_BYTE, 0, session.comm()), MPI_SUCCESS);
  ASSERT_EQ(find_difference(of_first, first), "") << "not what the first rank has";
}

TEST_F(LevelReductions, AreTheSameInEveryBit_EachTime) {
  for (const TypeCase &of : reduction_types()) {
    for (const NamedOp &op : of.ops) {
      if (of.n_parts == 0 || (op.op != MPI_SUM && op.op != MPI_PROD)) continue;
      for (const int count : {3, 1'000, 33'333}) {
        if (count == 33'333 && of.type != MPI_FLOAT) continue;
        SCOPED_TRACE(std::to_string(count) + " of " + of.name + " " + op.name);
        ASSERT_NO_FATAL_FAILURE(expect_the_same_each_time(of, op, count));
      }
    }
  }
}

#if MPI_VERSION >= 4
// More elements than an int tells: inside a node by one kernel a rank, on several nodes in two parts. In 2 GiB a rank.
TEST(LargeReductions, CountBeyondAnInt) {
  const Session &session = Session::get();
  if (!session.has_kind(Kind::device) || !session.options().is_full)
    GTEST_SKIP() << "missing: device memory, or --matrix full";
  constexpr std::size_t kCountBytes = (std::size_t{1} << 31) + 1;
  const Memory buffer(session.module(), Kind::device, kCountBytes);
  buffer.fill(static_cast<unsigned char>(1 << session.rank()));
  // Where counts and offsets of fewer bits would go wrong.
  const std::size_t places[] = {0, (std::size_t{1} << 30) - 1, std::size_t{1} << 30, (std::size_t{1} << 31) - 1,
                                kCountBytes - 1};
  for (const std::size_t place : places) {
    const auto mark = static_cast<unsigned char>(place % 251 + static_cast<std::size_t>(session.rank()));
    buffer.write(place, &mark, 1);
  }
  ASSERT_EQ(MPI_Allreduce_c(MPI_IN_PLACE, buffer.data(), static_cast<MPI_Count>(kCountBytes), MPI_BYTE, MPI_BXOR,
                            session.comm()),
            MPI_SUCCESS);
  unsigned char all = 0;
  for (int rank = 0; rank < session.size(); ++rank) all = static_cast<unsigned char>(all ^ (1 << rank));
  Bytes found = buffer.read();
  for (const std::size_t place : places) {
    unsigned char wanted = 0;
    for (int rank = 0; rank < session.size(); ++rank) {
      wanted =
          static_cast<unsigned char>(wanted ^ static_cast<unsigned char>(place % 251 + static_cast<std::size_t>(rank)));
    }
    EXPECT_EQ(found[place], wanted) << "byte " << place;
    found[place] = all;
  }
  EXPECT_EQ(static_cast<std::size_t>(std::count(found.begin(), found.end(), all)), kCountBytes);
}
#endif

TEST_F(LevelReductions, StayFlat_WhenOneRankHasHostMemory_OrTheProgramsOwnOperation) {
  constexpr int kCount = 5'000;
  const TypeCase &of = *std::find_if(reduction_types().begin(), reduction_types().end(),
                                     [](const TypeCase &one) { return one.type == MPI_INT; });
  for (int host_rank = 0; host_rank < session_.size(); ++host_rank) {
    const Kind kind = session_.rank() == host_rank ? Kind::host : Kind::device;
    const long long before = node_steps();
    compare_with_host(kOnDevice, [&](Trial &run) {
      const Memory &in = run.buffer(run.send_kind(), kCount * sizeof(int));
      const Memory &out = run.buffer(kind, kCount * sizeof(int));
      fill_exact(in, of, kCount);
      run.call("MPI_Allreduce", MPI_Allreduce(in.data(), out.data(), kCount, MPI_INT, MPI_SUM, session_.comm()));
    });
    EXPECT_EQ(node_steps(), before) << "host memory on " << host_rank;
  }
}

TEST_F(LevelReductions, LeaveRoundedSumsFlat_WhenTheOrderOfTheRanksIsAskedFor) {
  if (!keeps_order_) GTEST_SKIP() << "missing: SLUICE_REDUCE_ORDER=rank";
  constexpr int kCount = 2'000;
  const Memory buffer(session_.module(), Kind::device, kCount * sizeof(float));
  buffer.fill(0);
  const long long before = node_steps();
  ASSERT_EQ(MPI_Allreduce(MPI_IN_PLACE, buffer.data(), kCount, MPI_FLOAT, MPI_SUM, session_.comm()), MPI_SUCCESS);
  EXPECT_EQ(node_steps(), before);
  ASSERT_EQ(MPI_Allreduce(MPI_IN_PLACE, buffer.data(), kCount, MPI_INT, MPI_SUM, session_.comm()), MPI_SUCCESS);
  if (!is_alone_) {
    EXPECT_GT(node_steps(), before) << "integers have no order to keep";
  }
}

}  // namespace
}  // namespace sluice::tests::level_reductions_test
