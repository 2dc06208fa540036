// SPDX-License-Identifier: BSD-3-Clause
// Every predefined operation on every predefined type, of no, one, an odd number of and many elements, aligned or not,
// in place or not: what the ranks of a node compute together on their devices against what the host MPI gives for host
// copies. Started as together.cpp says, with coll_reduce_threshold=0.
#include <algorithm>
#include <array>
#include <cstdlib>
#include <memory>
#include <string>

#include "tests/ranks/coll/moving.hpp"
#include "tests/ranks/coll/reducing.hpp"
#include "tests/ranks/coll/reduction_types.hpp"

namespace sluice::tests::reduction_matrix_test {
namespace {

constexpr int kMostElements = 1033;
constexpr std::size_t kMostShiftBytes = 16;

// The memory of every call of a test: there are too many calls for each to have its own.
struct MatrixMemory {
  MatrixMemory(Kind kind, std::size_t size_bytes)
      : in(Session::get().module(), kind, size_bytes), out(Session::get().module(), kind, size_bytes) {}

  Memory in;
  Memory out;
};

// A type, with this rank's input for as many elements as any call takes.
struct MatrixType {
  explicit MatrixType(const TypeCase &of_type) : of(of_type), gaps(gaps_of(of_type)) {
    const int n_elements = (kMostElements + Session::get().size()) * Session::get().size();
    input.assign(bytes_of(n_elements), kPoison);
    for (int i = 0; i < n_elements; ++i) of.make_exact(input.data() + bytes_of(i), i, Session::get().rank());
    has_gaps = std::find(gaps.begin(), gaps.end(), true) != gaps.end();
  }
  std::size_t bytes_of(int n_elements) const { return static_cast<std::size_t>(n_elements) * of.size_bytes; }

  const TypeCase &of;
  std::vector<bool> gaps;
  bool has_gaps = false;
  Bytes input;
};

// One call of one reduction.
struct MatrixCall {
  const Reducing &reducing;
  const MatrixType &type;
  const NamedOp &op;
  const ReductionShape &shape;
  int root;
};

// All that the call leaves in its output, and what lies around that.
Bytes output_of(const MatrixCall &call, const MatrixMemory &memory) {
  const ReductionShape &shape = call.shape;
  const int n_in = call.reducing.n_in(shape);
  const int n_out = call.reducing.n_out(shape);
  const std::size_t in_shift = 2 * shape.shift_bytes;
  const std::size_t input_bytes = call.type.bytes_of(n_in);
  Bytes before(shape.shift_bytes + call.type.bytes_of(std::max(n_in, n_out)) + kGuardBytes, kPoison);
  if (shape.is_in_place) {
    std::copy_n(call.type.input.begin(), input_bytes, before.begin() + static_cast<std::ptrdiff_t>(shape.shift_bytes));
  }
  memory.out.write(0, before.data(), before.size());
  if (input_bytes > 0) memory.in.write(in_shift, call.type.input.data(), input_bytes);
  EXPECT_EQ(call.reducing.call(memory.in.at(in_shift), memory.out.at(shape.shift_bytes), shape, call.type.of.type,
                               call.op.op, call.root, Session::get().comm()),
            MPI_SUCCESS);
  Bytes after = memory.out.read(0, before.size());
  // A host MPI may copy a gap or leave it, and what lies behind the result of blocks in place it may change.
  const auto place_of = [&](int i) { return shape.shift_bytes + call.type.bytes_of(i); };
  for (int i = 0; i < (shape.is_in_place ? n_in : n_out) && call.type.has_gaps; ++i) {
    for (std::size_t byte = 0; byte < call.type.gaps.size(); ++byte) {
      if (call.type.gaps[byte]) after[place_of(i) + byte] = kPoison;
    }
  }
  if (shape.is_in_place && is_scattering(call.reducing)) {
    std::fill(after.begin() + static_cast<std::ptrdiff_t>(place_of(n_out)),
              after.begin() + static_cast<std::ptrdiff_t>(place_of(n_in)), kPoison);
  }
  return after;
}

class ReductionMatrix : public Together {
 protected:
  void SetUp() override {
    Together::SetUp();
    if (IsSkipped()) return;
    const auto n_ranks = static_cast<std::size_t>(session_.size());
    const std::size_t most_bytes = (kMostElements + n_ranks) * n_ranks * 16 + kMostShiftBytes + kGuardBytes;
    host_ = std::make_unique<MatrixMemory>(Kind::host, most_bytes);
    device_ = std::make_unique<MatrixMemory>(Kind::device, most_bytes);
  }

  void compare(const MatrixCall &call) const {
    SCOPED_TRACE(std::to_string(call.shape.count) + " elements, shifted by " + std::to_string(call.shape.shift_bytes) +
                 (call.shape.is_in_place ? ", in place" : ""));
    const Bytes wanted = output_of(call, *host_);
    EXPECT_EQ(find_difference(wanted, output_of(call, *device_)), "");
    const Bytes input(
        call.type.input.begin(),
        call.type.input.begin() + static_cast<std::ptrdiff_t>(call.type.bytes_of(call.reducing.n_in(call.shape))));
    EXPECT_EQ(find_difference(input, device_->in.read(2 * call.shape.shift_bytes, input.size())), "") << "the input";
  }

  std::unique_ptr<MatrixMemory> host_;
  std::unique_ptr<MatrixMemory> device_;
};

// Every count in place and not, with one of the shifts in turn. In the quick set: none, one, an odd number and many.
std::vector<ReductionShape> shapes_of(std::size_t turn, bool is_full) {
  constexpr std::array<std::size_t, 3> kShifts = {0, 1, 4};
  if (!is_full) {
    const bool is_in_place = turn % 2 == 0;
    return {{0, 0, false},
            {1, kShifts[turn % 3], is_in_place},
            {turn % 4 < 2 ? 7 : 65, kShifts[(turn + 1) % 3], !is_in_place},
            {turn % 4 < 2 ? kMostElements : 512, kShifts[(turn + 2) % 3], is_in_place}};
  }
  std::vector<ReductionShape> shapes;
  for (const int count : {0, 1, 7, 64, 515, kMostElements}) {
    for (const bool is_in_place : {false, true}) shapes.push_back({count, kShifts[turn++ % 3], is_in_place});
  }
  return shapes;
}

TEST_F(ReductionMatrix, GivesTheHostMpisResult_ForEveryOperationOnEveryType) {
  const bool demands_kernels = std::getenv("TEST_REDUCES_TOGETHER") != nullptr && session_.has_sluice();
  const bool is_full = session_.options().is_full;
  std::size_t n_pairs = 0;
  for (const TypeCase &of : reduction_types()) {
    const MatrixType type(of);
    for (const NamedOp &op : of.ops) {
      ++n_pairs;
      for (std::size_t i = 0; i < reductions().size(); ++i) {
        // The first with every pair, the others in turn.
        if (i != 0 && i != n_pairs % reductions().size() && !is_full) continue;
        const Reducing &reducing = reductions()[i];
        SCOPED_TRACE(std::string(reducing.name) + " " + of.name + " " + op.name);
        const long long before = calls_by(reducing.name, "kernel");
        std::size_t n_shapes = 0;
        for (const ReductionShape &shape : shapes_of(n_pairs + i, is_full)) {
          // Of those in turn one odd or long call is enough.
          if (i != 0 && !is_full && shape.count < 2) continue;
          const int root = static_cast<int>((n_pairs + n_shapes++) % static_cast<std::size_t>(session_.size()));
          compare({reducing, type, op, shape, root});
        }
        if (demands_kernels && !may_be_left_to_the_host(of, op)) {
          EXPECT_GT(calls_by(reducing.name, "kernel"), before) << "not computed by the devices";
        }
        if (session_.agree_any(HasFailure())) return;
      }
    }
  }
}

}  // namespace
}  // namespace sluice::tests::reduction_matrix_test
