// SPDX-License-Identifier: BSD-3-Clause
// The inputs of random reductions: whichever order a host MPI takes, in whichever form of a call, one result is right.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

#include "tests/ranks/coll/reducible_types.hpp"
#include "tests/support/dice.hpp"
#include "tests/support/oracle.hpp"

namespace sluice::tests::one_outcome_test {
namespace {

constexpr std::size_t kInputBytes = 48'000;  // of each rank
constexpr int kRanks = 12;

class Inputs {
 public:
  Inputs(const Predefined &predefined, MPI_Op op) : type_(predefined.type), op_(op) {
    int element_bytes = 0;
    MPI_Type_size(type_, &element_bytes);
    n_elements_ = static_cast<int>(kInputBytes) / element_bytes;
    Dice dice(20261725);
    for (int rank = 0; rank < kRanks; ++rank) {
      Bytes &input = inputs_.emplace_back(kInputBytes);
      for (unsigned char &byte : input) byte = static_cast<unsigned char>(dice.below(256));
      make_reducible(predefined.content, &input);
    }
  }

  // One rank after the other, each behind what there is of those before it.
  Bytes from_first(int first) const {
    Bytes result = at(first);
    for (int k = 1; k < kRanks; ++k) {
      Bytes next = at(first + k);
      combine(result, &next);
      result = std::move(next);
    }
    return result;
  }
  // Each before what there is of those after it.
  Bytes from_last() const {
    Bytes result = inputs_.back();
    for (int rank = kRanks - 2; rank >= 0; --rank) combine(at(rank), &result);
    return result;
  }
  // Pairs of ranks, and pairs of those.
  Bytes in_pairs(int first, int n) const {
    if (n == 1) return at(first);
    Bytes result = in_pairs(first + n / 2, n - n / 2);
    combine(in_pairs(first, n / 2), &result);
    return result;
  }
  // The same as from the first rank, in parts of so many elements each.
  Bytes in_parts(int most) const {
    Bytes result = at(0);
    for (int rank = 1; rank < kRanks; ++rank) {
      Bytes next = at(rank);
      for (int begin = 0; begin < n_elements_; begin += most) combine(result, &next, begin, most);
      result = std::move(next);
    }
    return result;
  }

 private:
  const Bytes &at(int rank) const { return inputs_[static_cast<std::size_t>(rank % kRanks)]; }
  void combine(const Bytes &left, Bytes *right) const { combine(left, right, 0, n_elements_); }
  void combine(const Bytes &left, Bytes *right, int begin, int most) const {
    const auto at_byte = static_cast<std::size_t>(begin) * (kInputBytes / static_cast<std::size_t>(n_elements_));
    EXPECT_EQ(MPI_Reduce_local(left.data() + at_byte, right->data() + at_byte, std::min(most, n_elements_ - begin),
                               type_, op_),
              MPI_SUCCESS);
  }

  MPI_Datatype type_;
  MPI_Op op_;
  int n_elements_ = 0;
  std::vector<Bytes> inputs_;
};

TEST(OneOutcome, OfRandomReductions_InAnyOrder) {
  for (std::size_t type = 0; type < predefined_types().size(); ++type) {
    const Predefined &predefined = predefined_types()[type];
    for (std::size_t op = 0; op < predefined.ops.size(); ++op) {
      SCOPED_TRACE(fmt::format("operation {} of type {} of predefined_types()", op, type));
      const Inputs inputs(predefined, predefined.ops[op]);
      const Bytes expected = inputs.from_first(0);
      EXPECT_EQ(find_difference(expected, inputs.from_last()), "") << "from the last rank";
      EXPECT_EQ(find_difference(expected, inputs.in_pairs(0, kRanks)), "") << "in pairs";
      EXPECT_EQ(find_difference(expected, inputs.from_first(kRanks / 2)), "") << "from the middle";
      EXPECT_EQ(find_difference(expected, inputs.in_parts(7)), "") << "in parts";
    }
  }
}

}  // namespace
}  // namespace sluice::tests::one_outcome_test
