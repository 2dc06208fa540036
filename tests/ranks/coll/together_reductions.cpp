// SPDX-License-Identifier: BSD-3-Clause
// Reductions that the ranks of a node compute together on their devices: in every shape against the host MPI on host
// copies, in the order of the ranks, and what happens where they cannot (every operation on every type:
// reduction_matrix.cpp). Started as together.cpp says, with coll_reduce_threshold=0.
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <string>

#include "tests/ranks/coll/elements.hpp"
#include "tests/ranks/coll/moving.hpp"
#include "tests/ranks/coll/reducing.hpp"
#include "tests/ranks/coll/reduction_types.hpp"
#include "tests/ranks/coll/rounding.hpp"

namespace sluice::tests::together_reductions_test {
namespace {

const Case kOnDevice = {.send = Kind::device, .recv = Kind::device};

class TogetherReductions : public Together {
 protected:
  // Whether this backend's memory is reduced together at all: it has kernels, and other processes reach the memory.
  void SetUp() override {
    Together::SetUp();
    if (IsSkipped()) return;
    const long long before = calls_by("MPI_Allreduce", "kernel");
    const Memory in(session_.module(), Kind::device, kProbeBytes);
    const Memory out(session_.module(), Kind::device, kProbeBytes);
    ASSERT_EQ(MPI_Allreduce(in.data(), out.data(), kProbeBytes, MPI_BYTE, MPI_BXOR, session_.comm()), MPI_SUCCESS);
    is_together_ = calls_by("MPI_Allreduce", "kernel") > before;
    const char *demanded = std::getenv("TEST_REDUCES_TOGETHER");
    if (demanded != nullptr) {
      ASSERT_TRUE(is_together_);
    }
  }
  static constexpr int kProbeBytes = 64;
  bool is_together_ = false;
};

void write_input(const Memory &memory, std::size_t shift_bytes, const TypeCase &of, int count) {
  std::vector<unsigned char> bytes(static_cast<std::size_t>(count) * of.size_bytes, kPoison);
  for (int i = 0; i < count; ++i) {
    of.make_exact(bytes.data() + static_cast<std::size_t>(i) * of.size_bytes, i, Session::get().rank());
  }
  if (!bytes.empty()) memory.write(shift_bytes, bytes.data(), bytes.size());
}

// A host MPI may copy a gap or leave it.
void forget_gaps(const Memory &memory, std::size_t shift_bytes, const TypeCase &of, int count) {
  const std::vector<bool> gaps = gaps_of(of);
  if (count == 0 || std::find(gaps.begin(), gaps.end(), true) == gaps.end()) return;
  Bytes bytes = memory.read(shift_bytes, static_cast<std::size_t>(count) * of.size_bytes);
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    if (gaps[i % of.size_bytes]) bytes[i] = kPoison;
  }
  memory.write(shift_bytes, bytes.data(), bytes.size());
}

int rank() {
  return Session::get().rank();
}
int size() {
  return Session::get().size();
}
void compare(const Reducing &reducing, const TypeCase &of, const NamedOp &op, const ReductionShape &shape, int root) {
  compare_with_host(kOnDevice, [&](Trial &run) {
    const int n_in = reducing.n_in(shape);
    const auto longest = static_cast<std::size_t>(std::max(n_in, reducing.n_out(shape))) * of.size_bytes;
    const std::size_t in_shift = 2 * shape.shift_bytes;
    const Memory &in = run.buffer(run.send_kind(), longest + in_shift + 16);
    const Memory &out = run.buffer(run.recv_kind(), longest + shape.shift_bytes + 16);
    write_input(in, in_shift, of, n_in);
    if (shape.is_in_place) write_input(out, shape.shift_bytes, of, n_in);
    run.call(reducing.name, reducing.call(in.at(in_shift), out.at(shape.shift_bytes), shape, of.type, op.op, root,
                                          Session::get().comm()));
    const int n_out = reducing.n_out(shape);
    forget_gaps(out, shape.shift_bytes, of, shape.is_in_place ? n_in : n_out);
    // What lies behind the result of a reduction in place is the host MPI's to leave or to change.
    if (shape.is_in_place && is_scattering(reducing)) {
      const Bytes poison(static_cast<std::size_t>(n_in - n_out) * of.size_bytes, kPoison);
      if (!poison.empty()) {
        out.write(shape.shift_bytes + static_cast<std::size_t>(n_out) * of.size_bytes, poison.data(), poison.size());
      }
    }
  });
}

TEST_F(TogetherReductions, GiveTheHostMpisResult_InEveryShape) {
  const TypeCase &of = *std::find_if(reduction_types().begin(), reduction_types().end(),
                                     [](const TypeCase &one) { return one.type == MPI_DOUBLE; });
  for (const Reducing &reducing : reductions()) {
    for (const int count : {0, 1, 65, 1000, 20'001}) {
      for (const std::size_t shift_bytes : {0U, 1U}) {
        for (const bool is_in_place : {false, true}) {
          for (int root = 0; root < (std::string_view(reducing.name) == "MPI_Reduce" ? size() : 1); ++root) {
            SCOPED_TRACE(std::string(reducing.name) + " of " + std::to_string(count));
            compare(reducing, of, of.ops.front(), {count, shift_bytes, is_in_place}, root);
            if (HasFailure()) return;
          }
        }
      }
    }
  }
}

// Blocks so long that the place of one and the front, where its result goes, lie over each other, so that it is moved
// in pieces. (MPICH 4.0 itself ends the program at such a call.)
TEST_F(TogetherReductions, ReduceBlocksInPlace_WhichOverlapTheirResults) {
  if (!is_together_) GTEST_SKIP() << "missing: reductions by the devices of a node, on this backend";
  for (const int first : {7'000, 500, 120}) {
    std::vector<int> counts(static_cast<std::size_t>(size()), 7'001);
    counts.front() = first;
    std::size_t all = 0;
    std::size_t place = 0;
    for (int of_rank = 0; of_rank < size(); ++of_rank) {
      if (of_rank < rank()) place += static_cast<std::size_t>(counts[static_cast<std::size_t>(of_rank)]);
      all += static_cast<std::size_t>(counts[static_cast<std::size_t>(of_rank)]);
    }
    const Memory buffer(session_.module(), Kind::device, all);
    buffer.fill_pattern(rank(), first);
    const long long before = calls_by("MPI_Reduce_scatter", "kernel");
    ASSERT_EQ(MPI_Reduce_scatter(MPI_IN_PLACE, buffer.data(), counts.data(), MPI_BYTE, MPI_BXOR, session_.comm()),
              MPI_SUCCESS);
    // In place more inputs than one kernel takes are staged (docs/adr/0024).
    if (size() <= static_cast<int>(SLUICE_REDUCE_MAX_SOURCES)) {
      EXPECT_GT(calls_by("MPI_Reduce_scatter", "kernel"), before);
    }
    Bytes wanted(static_cast<std::size_t>(counts[static_cast<std::size_t>(rank())]));
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      for (int of_rank = 0; of_rank < size(); ++of_rank) wanted[i] ^= pattern_byte(of_rank, place + i, first);
    }
    EXPECT_EQ(find_difference(wanted, buffer.read(0, wanted.size())), "") << "a first block of " << first;
  }
}

// What is rounded, from the left in the order of the ranks, whatever the length: the same in every bit each time.
TEST_F(TogetherReductions, KeepTheOrderOfTheRanks) {
  if (!is_together_) GTEST_SKIP() << "missing: reductions by the devices of a node, on this backend";
  for (const TypeCase &of : reduction_types()) {
    for (const NamedOp &op : of.ops) {
      if (of.n_parts == 0 || (op.op != MPI_SUM && op.op != MPI_PROD)) continue;
      for (const int count : {1, 1000, 33'333}) {
        if (count == 33'333 && of.type != MPI_FLOAT) continue;
        SCOPED_TRACE(std::string(of.name) + " " + op.name);
        const Bytes folded = folded_in_order(of, op.op, size(), count);
        const Bytes mine = rounded_input(of, rank(), count);
        const Memory in(session_.module(), Kind::device, mine.size());
        const Memory out(session_.module(), Kind::device, mine.size());
        in.write(0, mine.data(), mine.size());
        for (int round = 0; round < 2; ++round) {
          out.fill(kPoison);
          ASSERT_EQ(MPI_Allreduce(in.data(), out.data(), count, of.type, op.op, session_.comm()), MPI_SUCCESS);
          Bytes wanted = folded;
          Bytes found = out.read();
          forget_overflows(of, &wanted, &found);  // of many ranks
          ASSERT_EQ(find_difference(wanted, found), "") << count << " elements, round " << round;
        }
      }
    }
  }
}

// Gaps of a pair are no part of it, and may hold what the program has put there; each rank's hold its own number.
TEST_F(TogetherReductions, LeaveGapsAlone) {
  if (!is_together_) GTEST_SKIP() << "missing: reductions by the devices of a node, on this backend";
  constexpr int kCount = 20'001;
  const auto mark = static_cast<unsigned char>(0x40 + rank());
  std::size_t n_gaps = 0;
  for (const TypeCase &of : reduction_types()) {
    const std::vector<bool> gaps = gaps_of(of);
    if (std::find(gaps.begin(), gaps.end(), true) == gaps.end()) continue;
    for (const bool is_reduce : {false, true}) {
      SCOPED_TRACE(std::string(of.name) + (is_reduce ? ", MPI_Reduce" : ", MPI_Allreduce"));
      const Memory in(session_.module(), Kind::device, kCount * of.size_bytes);
      const Memory out(session_.module(), Kind::device, kCount * of.size_bytes);
      in.fill(mark);
      write_input(in, 0, of, kCount);
      out.fill(mark);
      const MPI_Op op = of.ops.front().op;
      ASSERT_EQ(is_reduce ? MPI_Reduce(in.data(), out.data(), kCount, of.type, op, size() - 1, session_.comm())
                          : MPI_Allreduce(in.data(), out.data(), kCount, of.type, op, session_.comm()),
                MPI_SUCCESS);
      if (is_reduce && rank() != size() - 1) continue;
      const Bytes found = out.read();
      for (std::size_t i = 0; i < found.size(); ++i) {
        if (!gaps[i % of.size_bytes]) continue;
        ASSERT_EQ(found[i], mark) << "byte " << i;
        ++n_gaps;
      }
    }
  }
  EXPECT_GT(n_gaps, 0U);
}

// Buffers of an exclusive or of bytes, whose result each rank can tell.
struct XorBuffers {
  XorBuffers(Kind kind, int of_round)
      : in(Session::get().module(), kind, kBlockBytes),
        out(Session::get().module(), kind, kBlockBytes),
        round(of_round) {
    in.fill_pattern(rank(), of_round);
  }
  void expect_right() const {
    Bytes wanted(kBlockBytes);
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      for (int of_rank = 0; of_rank < size(); ++of_rank) wanted[i] ^= pattern_byte(of_rank, i, round);
    }
    EXPECT_EQ(find_difference(wanted, out.read()), "");
    EXPECT_EQ(find_pattern_error(in.read(), rank(), round), "");
  }

  Memory in;
  Memory out;
  int round;
};

int allreduce(const XorBuffers &b, MPI_Comm comm) {
  return MPI_Allreduce(b.in.data(), b.out.data(), kBlockCount, MPI_BYTE, MPI_BXOR, comm);
}

TEST_F(TogetherReductions, AreStagedEverywhere_WhenOneRankHasHostMemory) {
  const XorBuffers buffers(rank() == size() - 1 ? Kind::host : Kind::device, 1);
  const long long before = calls_by("MPI_Allreduce", "kernel");
  ASSERT_EQ(allreduce(buffers, session_.comm()), MPI_SUCCESS);
  EXPECT_EQ(calls_by("MPI_Allreduce", "kernel"), before);
  buffers.expect_right();
}

TEST_F(TogetherReductions, AreTheHosts_WhereTheDeviceCannot) {
  const long long before = calls_by("MPI_Allreduce", "kernel");
  constexpr int kCount = 500;
  compare_with_host(kOnDevice, [&](Trial &run) {
    const Memory &in = run.input(kCount * sizeof(int));
    const Memory &out = run.output(kCount * sizeof(int));
    run.call("own", MPI_Allreduce(in.data(), out.data(), kCount, MPI_INT, commutative_op(), session_.comm()));
    const Memory &longs = run.buffer(run.send_kind(), kCount * sizeof(long double));
    const Memory &sums = run.buffer(run.recv_kind(), kCount * sizeof(long double));
    const std::vector<long double> ones(kCount, 1.0L);
    longs.write(0, ones.data(), kCount * sizeof(long double));
    run.call("long", MPI_Allreduce(longs.data(), sums.data(), kCount, MPI_LONG_DOUBLE, MPI_SUM, session_.comm()));
    for (const Memory *memory : {&longs, &sums}) memory->fill(0);  // the bytes behind a number's own mean nothing
  });
  EXPECT_EQ(calls_by("MPI_Allreduce", "kernel"), before);
}

TEST_F(TogetherReductions, GoOnBesideOtherCalls_WhenTheyDoNotBlock) {
  MPI_Comm comm = MPI_COMM_NULL;
  ASSERT_EQ(MPI_Comm_dup(session_.comm(), &comm), MPI_SUCCESS);
  const auto start = [&](const XorBuffers &b, MPI_Request *request) {
    return MPI_Iallreduce(b.in.data(), b.out.data(), kBlockCount, MPI_BYTE, MPI_BXOR, comm, request);
  };
  for (int round = 0; round < 3; ++round) {
    const long long before = calls_by("MPI_Iallreduce", "kernel");
    const XorBuffers first(Kind::device, 3 * round);
    const XorBuffers second(Kind::device, 3 * round + 1);
    const XorBuffers between(Kind::device, 3 * round + 2);
    MPI_Request requests[] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
    ASSERT_EQ(start(first, &requests[0]), MPI_SUCCESS);
    ASSERT_EQ(start(second, &requests[1]), MPI_SUCCESS);
    ASSERT_EQ(allreduce(between, comm), MPI_SUCCESS);
    ASSERT_EQ(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE), MPI_SUCCESS);
    for (const XorBuffers *buffers : {&first, &second, &between}) buffers->expect_right();
    if (is_together_) {
      EXPECT_EQ(calls_by("MPI_Iallreduce", "kernel"), before + 4) << "two buffers of each call";
    }
  }
  EXPECT_EQ(MPI_Comm_free(&comm), MPI_SUCCESS);
}

#if MPI_VERSION >= 4
TEST_F(TogetherReductions, StartAgain_WhenTheyArePersistent) {
  const Memory in(session_.module(), Kind::device, kBlockBytes);
  const Memory out(session_.module(), Kind::device, kBlockBytes);
  MPI_Request request = MPI_REQUEST_NULL;
  ASSERT_EQ(MPI_Allreduce_init(in.data(), out.data(), kBlockCount, MPI_BYTE, MPI_BXOR, session_.comm(), MPI_INFO_NULL,
                               &request),
            MPI_SUCCESS);
  for (int round = 0; round < 3; ++round) {
    in.fill_pattern(rank(), round);
    ASSERT_EQ(MPI_Start(&request), MPI_SUCCESS);
    ASSERT_EQ(MPI_Wait(&request, MPI_STATUS_IGNORE), MPI_SUCCESS);
    Bytes wanted(kBlockBytes);
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      for (int of_rank = 0; of_rank < size(); ++of_rank) wanted[i] ^= pattern_byte(of_rank, i, round);
    }
    EXPECT_EQ(find_difference(wanted, out.read()), "");
  }
  EXPECT_EQ(MPI_Request_free(&request), MPI_SUCCESS);
}
#endif

// Started with a fault in force on one rank. TEST_REDUCTION_FAULT says what all ranks then see of the first call.
class TogetherReductionFault : public Together {};

// MPI_Reduce_scatter_block over its input, staged after all: nothing was written before all could.
void expect_blocks_in_place(int round) {
  const auto n = static_cast<std::size_t>(size());
  const Memory buffer(Session::get().module(), Kind::device, n * kBlockBytes);
  buffer.fill_pattern(rank(), round);
  ASSERT_EQ(
      MPI_Reduce_scatter_block(MPI_IN_PLACE, buffer.data(), kBlockCount, MPI_BYTE, MPI_BXOR, Session::get().comm()),
      MPI_SUCCESS);
  Bytes wanted(kBlockBytes);
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    const std::size_t place = static_cast<std::size_t>(rank()) * kBlockBytes + i;
    for (int of_rank = 0; of_rank < size(); ++of_rank) wanted[i] ^= pattern_byte(of_rank, place, round);
  }
  EXPECT_EQ(find_difference(wanted, buffer.read(0, kBlockBytes)), "") << "blocks in place, round " << round;
}

TEST_F(TogetherReductionFault, IsOneRanksAffair_OrAnErrorEverywhere) {
  const char *expected = std::getenv("TEST_REDUCTION_FAULT");
  if (expected == nullptr) GTEST_SKIP() << "missing: TEST_REDUCTION_FAULT, which says what the fault comes to";
  const bool is_error = std::string_view(expected) == "error";
  for (int round = 0; round < 4; ++round) {
    const XorBuffers buffers(Kind::device, round);
    const long long before = calls_by("MPI_Allreduce", "kernel");
    // In place as well: what is refused has changed nothing.
    const bool is_in_place = round % 2 == 1;
    if (is_in_place) buffers.out.fill_pattern(rank(), round);
    const void *in = is_in_place ? MPI_IN_PLACE : buffers.in.data();
    const int code = MPI_Allreduce(in, buffers.out.data(), kBlockCount, MPI_BYTE, MPI_BXOR, session_.comm());
    EXPECT_EQ(code != MPI_SUCCESS, is_error && round == 0) << "round " << round;
    if (code == MPI_SUCCESS) buffers.expect_right();
    if (!is_error) {
      EXPECT_EQ(calls_by("MPI_Allreduce", "kernel"), before) << "round " << round;
      expect_blocks_in_place(round);
    }
  }
}

}  // namespace
}  // namespace sluice::tests::together_reductions_test
