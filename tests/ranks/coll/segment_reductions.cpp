// SPDX-License-Identifier: BSD-3-Clause
// Staged reductions in segments: that they go so where a rank has device memory, with the host MPI's result, in place
// too; that those which cannot be cut stay whole; and the same in every bit each time. Started as segments.cpp says.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "tests/ranks/coll/reducing.hpp"
#include "tests/ranks/coll/rounding.hpp"
#include "tests/ranks/coll/segmented.hpp"
#include "tests/support/oracle.hpp"
#include "tests/support/statistics.hpp"

namespace sluice::tests::segment_reductions_test {
namespace {

const Case kOnDevice = {.send = Kind::device, .recv = Kind::device};
constexpr int kCount = 9'001;  // several segments, the last one shorter

class SegmentReductions : public Segmented {
 protected:
  void TearDown() override {
    if (comm_ != MPI_COMM_NULL) {
      EXPECT_EQ(MPI_Comm_free(&comm_), MPI_SUCCESS);
    }
  }

  // A communicator whose calls with requests go in segments: the first of them asks for what they need, and the next
  // blocking call makes it.
  void prepare_requests() {
    ASSERT_EQ(MPI_Comm_dup(session_.comm(), &comm_), MPI_SUCCESS);
    const auto size_bytes = static_cast<std::size_t>(kCount) * sizeof(int);
    const Memory in(session_.module(), Kind::device, size_bytes);
    const Memory out(session_.module(), Kind::device, size_bytes);
    MPI_Request request = MPI_REQUEST_NULL;
    ASSERT_EQ(MPI_Iallreduce(in.data(), out.data(), kCount, MPI_INT, MPI_BXOR, comm_, &request), MPI_SUCCESS);
    ASSERT_EQ(MPI_Wait(&request, MPI_STATUS_IGNORE), MPI_SUCCESS);
    int number = 1;
    ASSERT_EQ(MPI_Allreduce(MPI_IN_PLACE, &number, 1, MPI_INT, MPI_SUM, comm_), MPI_SUCCESS);
  }

  // How many ranks' calls of that name went in segments, since they were `before` on this one.
  int n_in_segments(const char *name, long long before) const {
    int n = calls_by(name, "pipelined") > before ? 1 : 0;
    EXPECT_EQ(MPI_Allreduce(MPI_IN_PLACE, &n, 1, MPI_INT, MPI_SUM, session_.comm()), MPI_SUCCESS);
    return n;
  }

  MPI_Comm comm_ = MPI_COMM_NULL;
};

void fill_exact(const Memory &memory, const TypeCase &of, int count) {
  std::vector<unsigned char> bytes(static_cast<std::size_t>(count) * of.size_bytes, 0);
  for (int i = 0; i < count; ++i) {
    of.make_exact(bytes.data() + static_cast<std::size_t>(i) * of.size_bytes, i, Session::get().rank());
  }
  memory.write(0, bytes.data(), bytes.size());
}

const TypeCase &type_case(std::string_view name) {
  for (const TypeCase &of : reduction_types()) {
    if (of.name == name) return of;
  }
  ADD_FAILURE() << "no type " << name;
  return reduction_types().front();
}

bool has_gaps(const TypeCase &of) {
  const std::vector<bool> gaps = gaps_of(of);
  return std::find(gaps.begin(), gaps.end(), true) != gaps.end();
}

// Blocks of one length are cut; of others, and of in-place ones that lie in the input, all stay whole.
bool is_cut(const Reducing &reducing, const ReductionShape &shape) {
  const std::string_view name = reducing.name;
  return name != "MPI_Reduce_scatter" && (name != "MPI_Reduce_scatter_block" || !shape.is_in_place);
}

void compare(const Reducing &reducing, const TypeCase &of, const NamedOp &op, const ReductionShape &shape,
             const Case &kinds, int root) {
  compare_with_host(kinds, [&](Trial &run) {
    const int n_in = reducing.n_in(shape);
    const int n_out = is_scattering(reducing) && shape.is_in_place ? n_in : reducing.n_out(shape);
    const Memory &in = run.buffer(run.send_kind(), static_cast<std::size_t>(n_in) * of.size_bytes);
    const Memory &out = run.buffer(run.recv_kind(), static_cast<std::size_t>(n_out) * of.size_bytes);
    fill_exact(in, of, n_in);
    if (shape.is_in_place) fill_exact(out, of, n_out);
    run.call(reducing.name, reducing.call(in.data(), out.data(), shape, of.type, op.op, root, Session::get().comm()));
    // In place the rest of the input is nobody's: MPICH 4.0 puts partial results there.
    const auto used = static_cast<std::size_t>(reducing.n_out(shape)) * of.size_bytes;
    const std::vector<unsigned char> rest(static_cast<std::size_t>(n_out) * of.size_bytes - used, kPoison);
    if (!rest.empty()) out.write(used, rest.data(), rest.size());
  });
}

TEST_F(SegmentReductions, AreTaken_AndGiveTheHostMpisResult) {
  std::size_t n_pairs = 0;
  for (const TypeCase &of : reduction_types()) {
    const NamedOp &op = of.ops[n_pairs++ % of.ops.size()];
    if (may_be_left_to_the_host(of, op) || has_gaps(of)) continue;
    for (std::size_t i = 0; i < reductions().size(); ++i) {
      // Every third combination, unless there is time for all.
      if ((n_pairs + i) % 3 != 0 && !session_.options().is_full) continue;
      const Reducing &reducing = reductions()[i];
      const ReductionShape shape{kCount, 0, (n_pairs + i / 2) % 2 == 0};
      SCOPED_TRACE(std::string(reducing.name) + " " + of.name + " " + op.name + (shape.is_in_place ? " in place" : ""));
      const long long before = calls_by(reducing.name, "pipelined");
      compare(reducing, of, op, shape, kOnDevice, static_cast<int>(n_pairs) % session_.size());
      if (session_.has_sluice()) {
        EXPECT_EQ(n_in_segments(reducing.name, before), is_cut(reducing, shape) ? session_.size() : 0);
      }
    }
  }
}

TEST_F(SegmentReductions, AreTakenByRanksWithHostMemoryToo) {
  const TypeCase &of = type_case("int");
  const NamedOp &op = of.ops.front();
  for (const Reducing &reducing : reductions()) {
    for (int host_rank = 0; host_rank < session_.size(); ++host_rank) {
      for (const bool is_in_place : {false, true}) {
        const ReductionShape shape{kCount, 0, is_in_place};
        SCOPED_TRACE(std::string(reducing.name) + " host " + std::to_string(host_rank));
        const Kind kind = session_.rank() == host_rank ? Kind::host : Kind::device;
        const long long before = calls_by(reducing.name, "pipelined");
        compare(reducing, of, op, shape, {.send = kind, .recv = kind}, host_rank);
        if (session_.has_sluice()) {
          EXPECT_EQ(n_in_segments(reducing.name, before), is_cut(reducing, shape) ? session_.size() - 1 : 0);
        }
      }
    }
  }
}

TEST_F(SegmentReductions, AreTakenWithRequestsToo_FiveUnderWay) {
  prepare_requests();
  const std::vector<const char *> names = {"MPI_Iallreduce", "MPI_Ireduce", "MPI_Ireduce_scatter_block", "MPI_Iscan",
                                           "MPI_Iexscan"};
  std::vector<long long> before;
  for (const char *name : names) before.push_back(calls_by(name, "pipelined"));
  const int root = session_.size() - 1;
  compare_with_host(kOnDevice, [&](Trial &run) {
    const auto size_bytes = static_cast<std::size_t>(kCount) * sizeof(int);
    const Memory &in = run.input(size_bytes * static_cast<std::size_t>(session_.size()));
    std::vector<void *> out;
    for (std::size_t i = 0; i < names.size(); ++i) out.push_back(run.output(size_bytes).data());
    std::vector<MPI_Request> requests(names.size(), MPI_REQUEST_NULL);
    run.call(names[0], MPI_Iallreduce(in.data(), out[0], kCount, MPI_INT, MPI_SUM, comm_, &requests[0]));
    run.call(names[1], MPI_Ireduce(in.data(), out[1], kCount, MPI_INT, MPI_MAX, root, comm_, &requests[1]));
    run.call(names[2], MPI_Ireduce_scatter_block(in.data(), out[2], kCount, MPI_INT, MPI_BXOR, comm_, &requests[2]));
    run.call(names[3], MPI_Iscan(in.data(), out[3], kCount, MPI_INT, MPI_SUM, comm_, &requests[3]));
    run.call(names[4], MPI_Iexscan(in.data(), out[4], kCount, MPI_INT, MPI_SUM, comm_, &requests[4]));
    run.call("MPI_Waitall", MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE));
  });
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (session_.has_sluice()) {
      EXPECT_EQ(n_in_segments(names[i], before[i]), session_.size()) << names[i];
    }
  }
}

#if MPI_VERSION >= 4
TEST_F(SegmentReductions, PersistentOnesAreTaken_AtEachStart) {
  prepare_requests();
  const long long before = calls_by("MPI_Allreduce_init", "pipelined");
  compare_with_host(kOnDevice, [&](Trial &run) {
    const Memory &in = run.input(static_cast<std::size_t>(kCount) * sizeof(int));
    const Memory &out = run.output(static_cast<std::size_t>(kCount) * sizeof(int));
    MPI_Request request = MPI_REQUEST_NULL;
    run.call("MPI_Allreduce_init",
             MPI_Allreduce_init(in.data(), out.data(), kCount, MPI_INT, MPI_SUM, comm_, MPI_INFO_NULL, &request));
    for (int start = 0; start < 3; ++start) {
      run.refill(in, start);
      run.call("MPI_Start", MPI_Start(&request));
      run.call("MPI_Wait", MPI_Wait(&request, MPI_STATUS_IGNORE));
    }
    run.call("MPI_Request_free", MPI_Request_free(&request));
  });
  if (session_.has_sluice()) {
    EXPECT_EQ(n_in_segments("MPI_Allreduce_init", before), session_.size());
  }
}
#endif

// Of unsigned numbers, whose sums may overflow.
void add_up(void *in, void *inout, int *count, MPI_Datatype * /*type*/) {
  for (int i = 0; i < *count; ++i) static_cast<unsigned *>(inout)[i] += static_cast<const unsigned *>(in)[i];
}

TEST_F(SegmentReductions, AreNotTaken_WithAnOperationOfTheProgram) {
  MPI_Op op = MPI_OP_NULL;
  ASSERT_EQ(MPI_Op_create(&add_up, 1, &op), MPI_SUCCESS);
  const TypeCase &of = type_case("unsigned");
  for (const Reducing &reducing : reductions()) {
    const long long before = calls_by(reducing.name, "pipelined");
    compare(reducing, of, {"the program's", op}, {kCount, 0, false}, kOnDevice, 0);
    EXPECT_EQ(n_in_segments(reducing.name, before), 0) << reducing.name;
  }
  EXPECT_EQ(MPI_Op_free(&op), MPI_SUCCESS);
}

// Sums that are rounded: other ones than of the whole, perhaps, but within what an order of the ranks may change, and
// always the same ones.
TEST_F(SegmentReductions, AreTheSameInEveryBit_EachTime) {
  const TypeCase &of = type_case("double");
  const auto size_bytes = static_cast<std::size_t>(kCount) * of.size_bytes;
  const Memory in(session_.module(), Kind::device, size_bytes);
  const Memory out(session_.module(), Kind::device, size_bytes);
  const Bytes input = rounded_input(of, session_.rank(), kCount);
  in.write(0, input.data(), input.size());
  Bytes first;
  for (int round = 0; round < 3; ++round) {
    const long long before = calls_by("MPI_Allreduce", "pipelined");
    ASSERT_EQ(MPI_Allreduce(in.data(), out.data(), kCount, of.type, MPI_SUM, session_.comm()), MPI_SUCCESS);
    if (session_.has_sluice()) {
      EXPECT_EQ(n_in_segments("MPI_Allreduce", before), session_.size());
    }
    const Bytes found = out.read(0, size_bytes);
    EXPECT_EQ(find_rounding_error(of, MPI_SUM, session_.size(), found), "");
    if (round == 0) first = found;
    EXPECT_EQ(first, found) << "round " << round;
  }
}

}  // namespace
}  // namespace sluice::tests::segment_reductions_test
