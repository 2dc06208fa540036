// SPDX-License-Identifier: BSD-3-Clause
// Messages whose gaps the receiver's kernel leaves out (docs/adr/0041): who launches how many kernels, and every byte.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "tests/ranks/p2p/pack_kernel.hpp"
#include "tests/support/host_mpi.hpp"
#include "tests/support/matrix_rows.hpp"
#include "tests/support/oracle.hpp"
#include "tests/support/statistics.hpp"

namespace sluice::tests::gather_test {
namespace {

constexpr int kTag = 29;
constexpr int kRuns = 500;
constexpr int kInts = 2 * kRuns;
constexpr std::size_t kArrayBytes = std::size_t{kRuns} * 6 * sizeof(int);
constexpr std::size_t kPackedBytes = std::size_t{kInts} * sizeof(int);

MPI_Datatype strided() {
  MPI_Datatype type = MPI_DATATYPE_NULL;
  MPI_Type_vector(kRuns, 2, 6, MPI_INT, &type);
  MPI_Type_commit(&type);
  return type;
}

// As many runs without any order.
MPI_Datatype scattered() {
  std::vector<int> places;
  for (int k = 0; k < kRuns; ++k) places.push_back(6 * k + k % 3);
  MPI_Datatype type = MPI_DATATYPE_NULL;
  MPI_Type_create_indexed_block(kRuns, 2, places.data(), MPI_INT, &type);
  MPI_Type_commit(&type);
  return type;
}

// Messages each way until nothing more is to be permitted (docs/protocol.md), and a receiver in host memory is
// forgotten, which takes 32. True if then they are described.
bool is_permitted() {
  if (!count_statistics()) return false;
  const Session &session = Session::get();
  Trial run({device_or_host(), device_or_host(), 0}, 1);
  const Memory &in = run.input(512);
  const Memory &out = run.output(512);
  for (int k = 0; k < 40; ++k) {
    const long long before = calls_by("MPI_Ssend", "ipc");
    in_turn(
        [&] { run.call("MPI_Ssend", MPI_Ssend(in.data(), 512, MPI_BYTE, session.partner(), kTag, session.comm())); },
        [&] {
          run.call("MPI_Recv",
                   MPI_Recv(out.data(), 512, MPI_BYTE, session.partner(), kTag, session.comm(), MPI_STATUS_IGNORE));
        });
    if (!session.agree_any(calls_by("MPI_Ssend", "ipc") == before)) return true;
  }
  return false;
}

// One side of a message: elements of a type in memory of `bytes`.
struct End {
  MPI_Datatype type;
  int count;
  std::size_t bytes;
};

struct Launches {
  long long here;
  bool is_sender;
};

// A message of the pair's first rank to its second, from device memory to memory of `kind`, after which the sender
// writes to its buffer again.
Launches launches_of(const End &from, const End &to, Kind kind) {
  const Session &session = Session::get();
  const long long before = pack_launches();
  compare_with_host({device_or_host(), kind, 0}, [&](Trial &run) {
    const Memory &in = run.input(from.bytes);
    const Memory &out = run.output(to.bytes);
    if (session.begins()) {
      run.call("MPI_Ssend", MPI_Ssend(in.data(), from.count, from.type, session.partner(), kTag, session.comm()));
      run.refill(in, 7);
    } else {
      MPI_Status status;
      run.call("MPI_Recv", MPI_Recv(out.data(), to.count, to.type, session.partner(), kTag, session.comm(), &status));
      run.note_status("MPI_Recv", status, to.type);
    }
  });
  return {pack_launches() - before, session.begins()};
}

class PackingByReceiver : public testing::Test {
 protected:
  void SetUp() override {
    if (!has_pack_kernel()) GTEST_SKIP() << "missing: a kernel that packs";
    if (!is_permitted()) GTEST_SKIP() << "missing: messages that are pulled, or Sluice's statistics";
  }
};

TEST_F(PackingByReceiver, IsNotNeeded_WhenAllIsOneRunSomewhereInTheBuffer) {
  for (const int n_columns : {1, 400}) {
    MPI_Datatype rows = rows_of_matrix(9, n_columns, MPI_INT);
    const auto n_ints = static_cast<std::size_t>(9 * n_columns);
    const End shifted{rows, 1, n_ints * sizeof(int)};
    const End plain{MPI_INT, 2 * n_columns, n_ints * sizeof(int)};
    for (const auto &[from, to] : {std::pair(shifted, shifted), std::pair(shifted, plain), std::pair(plain, shifted)}) {
      const long long before = calls_by("MPI_Ssend", "ipc");
      const Launches seen = launches_of(from, to, device_or_host());
      EXPECT_EQ(seen.here, 0) << n_columns;
      EXPECT_EQ(calls_by("MPI_Ssend", "ipc") - before, seen.is_sender ? 1 : 0) << n_columns;
    }
    MPI_Type_free(&rows);
  }
}

// However few: the other way is through the host's memory.
TEST_F(PackingByReceiver, IsOneLaunchInAll_WhenThereAreTwoRuns) {
  MPI_Datatype two = MPI_DATATYPE_NULL;
  MPI_Type_vector(2, kInts / 2, kInts, MPI_INT, &two);
  MPI_Type_commit(&two);
  const End packed{MPI_INT, kInts, kPackedBytes};
  const End apart{two, 1, 2 * kPackedBytes};
  for (const auto &[from, to] : {std::pair(apart, apart), std::pair(apart, packed), std::pair(packed, apart)}) {
    const Launches seen = launches_of(from, to, device_or_host());
    EXPECT_EQ(seen.here, seen.is_sender ? 0 : 1);
  }
  MPI_Type_free(&two);
}

TEST_F(PackingByReceiver, IsOneLaunchInAll_WhenOneSideHasGaps) {
  MPI_Datatype types[] = {strided(), scattered()};
  const End packed{MPI_INT, kInts, kPackedBytes};
  Launches seen = launches_of({types[0], 1, kArrayBytes}, packed, device_or_host());
  EXPECT_EQ(seen.here, seen.is_sender ? 0 : 1) << "strides to a run";
  seen = launches_of({types[1], 1, kArrayBytes}, packed, device_or_host());
  EXPECT_EQ(seen.here, seen.is_sender ? 1 : 0) << "a list to a run";
  for (MPI_Datatype type : types) {
    seen = launches_of(packed, {type, 1, kArrayBytes}, device_or_host());
    EXPECT_EQ(seen.here, seen.is_sender ? 0 : 1) << "a run to gaps";
  }
  for (MPI_Datatype &type : types) MPI_Type_free(&type);
}

// By a kernel that walks both layouts; a list does not travel, so its sender packs.
TEST_F(PackingByReceiver, IsOneLaunchInAll_WhenBothSidesHaveGaps) {
  MPI_Datatype types[] = {strided(), scattered()};
  for (MPI_Datatype to : types) {
    Launches seen = launches_of({types[0], 1, kArrayBytes}, {to, 1, kArrayBytes}, device_or_host());
    EXPECT_EQ(seen.here, seen.is_sender ? 0 : 1) << "strides to gaps";
    seen = launches_of({types[1], 1, kArrayBytes}, {to, 1, kArrayBytes}, device_or_host());
    EXPECT_EQ(seen.here, 1) << "a list to gaps";
  }
  for (MPI_Datatype &type : types) MPI_Type_free(&type);
}

TEST_F(PackingByReceiver, IsOneLaunchInAll_WhenAMessageWithGapsGoesToItself) {
  MPI_Datatype types[] = {strided(), scattered()};
  const Session &session = Session::get();
  for (MPI_Datatype to : types) {
    const long long before = pack_launches();
    compare_with_host({device_or_host(), device_or_host(), 0}, [&](Trial &run) {
      const Memory &in = run.input(kArrayBytes);
      const Memory &out = run.output(kArrayBytes);
      run.call("MPI_Sendrecv", MPI_Sendrecv(in.data(), 1, types[0], session.rank(), kTag, out.data(), 1, to,
                                            session.rank(), kTag, session.comm(), MPI_STATUS_IGNORE));
    });
    EXPECT_EQ(pack_launches() - before, 1);
  }
  for (MPI_Datatype &type : types) MPI_Type_free(&type);
}

// More than kGatherBytes (plan/gather.hpp) beside the payload, of which each run of 8 bytes brings 24.
TEST_F(PackingByReceiver, IsLeftToTheSender_WhenTheLinkWouldCarryTooMuch) {
  MPI_Datatype type = strided();
  constexpr int kElements = 140;
  const End from{type, kElements, kArrayBytes * kElements};
  const Launches seen = launches_of(from, {MPI_INT, kInts * kElements, kPackedBytes * kElements}, device_or_host());
  EXPECT_EQ(seen.here, seen.is_sender ? 1 : 0);
  MPI_Type_free(&type);
}

// A receiver that cannot reach the sender's memory asks for blocks: the sender packs then, at each start anew.
TEST_F(PackingByReceiver, IsMadeUpForByTheSender_WhenTheReceiverIsHostMemory) {
  MPI_Datatype type = strided();
  const Session &session = Session::get();
  constexpr int kElements = 5;  // longer than what is sent plainly to such a receiver
  const long long before = pack_launches();
  compare_with_host({device_or_host(), Kind::host, 0}, [&](Trial &run) {
    const Memory &in = run.input(kArrayBytes * kElements);
    const Memory &out = run.output(kPackedBytes * kElements);
    MPI_Request request = MPI_REQUEST_NULL;
    if (session.begins()) {
      run.call("MPI_Send_init",
               MPI_Send_init(in.data(), kElements, type, session.partner(), kTag, session.comm(), &request));
    } else {
      run.call("MPI_Recv_init", MPI_Recv_init(out.data(), kInts * kElements, MPI_INT, session.partner(), kTag,
                                              session.comm(), &request));
    }
    for (int k = 0; k < 3; ++k) {
      run.refill(in, k);
      run.call("MPI_Start", MPI_Start(&request));
      run.call("MPI_Wait", MPI_Wait(&request, MPI_STATUS_IGNORE));
      run.note("first", session.begins() ? 0 : out.read()[0]);
    }
    MPI_Request_free(&request);
  });
  EXPECT_EQ(pack_launches() - before, session.begins() ? 3 : 0);
  MPI_Type_free(&type);
}

// Three integers short, into one run or into one of strides, behind which nothing is written.
void expect_truncation(MPI_Datatype sent, MPI_Datatype received, int count, std::size_t end_bytes) {
  const Session &session = Session::get();
  Trial run({device_or_host(), device_or_host(), 0}, 3);
  const Memory &in = run.input(kArrayBytes);
  const Memory &out = run.output(kArrayBytes);
  if (session.begins()) {
    run.call("MPI_Send", MPI_Send(in.data(), 1, sent, session.partner(), kTag, session.comm()));
    return;
  }
  const int code = MPI_Recv(out.data(), count, received, session.partner(), kTag, session.comm(), MPI_STATUS_IGNORE);
  int error_class = MPI_SUCCESS;
  MPI_Error_class(code, &error_class);
  EXPECT_EQ(error_class, MPI_ERR_TRUNCATE);
  const Bytes all = out.read();
  for (std::size_t i = end_bytes; i < kArrayBytes; ++i) {
    ASSERT_EQ(all[i], kPoison) << "byte " << i << " behind the receive was written";
  }
}

TEST_F(PackingByReceiver, EndsWithAnError_WhenTheReceiveIsTooShort) {
  if (aborts_on_truncation()) GTEST_SKIP() << "this host MPI ends the job at a truncated receive";
  MPI_Datatype sent = strided();
  MPI_Datatype odd = MPI_DATATYPE_NULL;  // runs of three
  constexpr int kOddRuns = kInts / 3 - 1;
  MPI_Type_vector(kOddRuns, 3, 6, MPI_INT, &odd);
  MPI_Type_commit(&odd);
  expect_truncation(sent, MPI_INT, kInts - 3, kPackedBytes - 3 * sizeof(int));
  expect_truncation(sent, odd, 1, (6 * (kOddRuns - 1) + 3) * sizeof(int));
  MPI_Type_free(&sent);
  MPI_Type_free(&odd);
}

// Nested strides of either sign, overlapping ones too, of `n_ints` integers; and the memory they reach over.
struct Nested {
  MPI_Datatype type = MPI_DATATYPE_NULL;
  int n_ints = 1;
  std::size_t span_bytes = 0;
  std::size_t origin_bytes = 0;
  std::string how;
};

class NestedTypes {
 public:
  explicit NestedTypes(std::uint64_t seed) : dice_(seed) {}

  Nested make(bool may_overlap) {
    Nested made;
    MPI_Type_contiguous(below(3) + 1, MPI_INT, &made.type);
    MPI_Type_size(made.type, &made.n_ints);
    made.n_ints /= static_cast<int>(sizeof(int));
    const int depth = below(3) + 1;
    for (int d = 0; d < depth; ++d) nest(&made, may_overlap);
    MPI_Type_commit(&made.type);
    MPI_Aint low = 0;
    MPI_Aint extent = 0;
    MPI_Type_get_true_extent(made.type, &low, &extent);
    made.origin_bytes = low < 0 ? static_cast<std::size_t>(-low) : 0;
    made.span_bytes = made.origin_bytes + static_cast<std::size_t>(std::max<MPI_Aint>(low + extent, 0));
    return made;
  }

  int below(int n) { return static_cast<int>(dice_() % static_cast<unsigned>(n)); }

 private:
  void nest(Nested *made, bool may_overlap) {
    MPI_Aint low = 0;
    MPI_Aint extent = 0;
    MPI_Type_get_true_extent(made->type, &low, &extent);
    const int count = below(6) + 2;
    MPI_Aint stride = extent + static_cast<MPI_Aint>(sizeof(int)) * below(4);
    if (may_overlap && below(4) == 0) stride = static_cast<MPI_Aint>(sizeof(int)) * below(3);
    if (below(3) == 0) stride = -stride;
    MPI_Datatype outer = MPI_DATATYPE_NULL;
    MPI_Type_create_hvector(count, 1, stride, made->type, &outer);
    MPI_Type_free(&made->type);
    made->type = outer;
    made->n_ints *= count;
    made->how += std::to_string(count) + " every " + std::to_string(stride) + "; ";
  }

  std::mt19937_64 dice_;
};

TEST_F(PackingByReceiver, DeliversBytes_WhenTypesAreRandom) {
  const Session &session = Session::get();
  NestedTypes types(20261122);
  const int n_types = session.options().is_full ? 400 : 28;
  // A kernel that cannot reach what it is told to gather would be made up for by blocks.
  const long long refused = fallbacks("ipc_open") + fallbacks("pack_kernel");
  for (int k = 0; k < n_types; ++k) {
    Nested from = types.make(true);
    // What comes into host memory last: after it others are staged.
    const int how = k < n_types * 3 / 4 ? types.below(2) : 2;
    Nested to = how == 0 ? types.make(false) : Nested{};
    const bool has_gaps = how == 0 && to.n_ints >= from.n_ints;
    SCOPED_TRACE(std::to_string(k) + ": " + from.how + (has_gaps ? "to " + to.how : ""));
    compare_with_host({device_or_host(), how == 2 ? Kind::host : device_or_host(), 0}, [&](Trial &run) {
      const Memory &in = run.input(from.span_bytes);
      const Memory &out = run.output(has_gaps ? to.span_bytes : static_cast<std::size_t>(from.n_ints) * sizeof(int));
      in_turn(
          [&] {
            run.call("MPI_Send",
                     MPI_Send(in.at(from.origin_bytes), 1, from.type, session.partner(), kTag, session.comm()));
          },
          [&] {
            MPI_Status status;
            run.call("MPI_Recv", has_gaps ? MPI_Recv(out.at(to.origin_bytes), 1, to.type, session.partner(), kTag,
                                                     session.comm(), &status)
                                          : MPI_Recv(out.data(), from.n_ints, MPI_INT, session.partner(), kTag,
                                                     session.comm(), &status));
            run.note_envelope("MPI_Recv", status, MPI_INT);
          });
      // To itself.
      const Memory &own = run.output(has_gaps ? to.span_bytes : static_cast<std::size_t>(from.n_ints) * sizeof(int));
      run.call("MPI_Sendrecv",
               MPI_Sendrecv(in.at(from.origin_bytes), 1, from.type, session.rank(), kTag,
                            has_gaps ? own.at(to.origin_bytes) : own.data(), has_gaps ? 1 : from.n_ints,
                            has_gaps ? to.type : MPI_INT, session.rank(), kTag, session.comm(), MPI_STATUS_IGNORE));
    });
    MPI_Type_free(&from.type);
    if (to.type != MPI_DATATYPE_NULL) MPI_Type_free(&to.type);
  }
  EXPECT_EQ(fallbacks("ipc_open") + fallbacks("pack_kernel"), refused);
}

}  // namespace
}  // namespace sluice::tests::gather_test
