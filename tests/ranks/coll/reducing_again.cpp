// SPDX-License-Identifier: BSD-3-Clause
// Reductions that are like the last one of their communicator, and others between them that differ in one thing: what a
// rank keeps of the last one must serve for the first alone. Integers, and each of them is worked out here.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "tests/ranks/coll/reducing.hpp"
#include "tests/support/dice.hpp"
#include "tests/support/session.hpp"
#include "tests/support/statistics.hpp"

namespace sluice::tests::reducing_again_test {
namespace {

constexpr std::size_t kElement = sizeof(std::int32_t);
constexpr int kMost = 1500;  // elements of one rank's result
constexpr int kPlaces = 3;   // buffers of each sort

std::int32_t value_of(int rank, int position, int iteration) {
  return (rank * 131 + position * 7 + iteration * 13) % 1009 - 300;
}

struct Choice {
  const Reducing *reducing;
  ReductionShape shape;
  MPI_Op op;
  int root;
  int in;  // which buffers of this rank's
  int out;
};

class ReducingAgain : public testing::Test {
 protected:
  void SetUp() override {
    if (session_.module() == nullptr) GTEST_SKIP() << "missing: a backend";
    ASSERT_TRUE(count_statistics());
    for (int place = 0; place < kPlaces; ++place) {
      in_.push_back(allocate());
      out_.push_back(allocate());
    }
  }
  std::unique_ptr<Memory> allocate() const {
    // MPI_Reduce_scatter's blocks are a few elements longer.
    const auto n_ranks = static_cast<std::size_t>(session_.size());
    return std::make_unique<Memory>(session_.module(), Kind::device, n_ranks * (kMost + n_ranks) * kElement);
  }

  // The same on all ranks, but for the buffers, which each of them chooses for itself.
  Choice choose(Dice *all, Dice *own) const {
    Choice choice{};
    const auto &every = reductions();
    choice.reducing = &every[all->below(every.size())];
    constexpr int kCounts[] = {1, 37, kMost};
    choice.shape = {kCounts[all->below(3)], 0, all->below(3) == 0};
    choice.op = all->below(2) == 0 ? MPI_SUM : MPI_MAX;
    choice.root = all->below_int(session_.size());
    choice.in = own->below_int(kPlaces);
    choice.out = own->below_int(kPlaces);
    return choice;
  }
  // One thing of *choice is another; or memory is given back, and allocated again, on one rank or on all.
  void change(Dice *all, Dice *own, Choice *choice) {
    const Choice other = choose(all, own);
    const bool is_one = all->below(2) == 0;
    const bool is_me = !is_one || all->below_int(session_.size()) == session_.rank();
    switch (all->below(8)) {
      case 0:
        choice->reducing = other.reducing;
        break;
      case 1:
        choice->shape.count = other.shape.count;
        break;
      case 2:
        choice->shape.is_in_place = !choice->shape.is_in_place;
        break;
      case 3:
        choice->op = other.op;
        break;
      case 4:
        choice->root = other.root;
        break;
      case 5:
        if (is_me) choice->in = other.in;
        break;
      case 6:
        if (is_me) choice->out = other.out;
        break;
      default:
        // What is allocated now may lie where the other one did.
        if (is_me) {
          std::unique_ptr<Memory> &memory = (own->below(2) == 0 ? in_[static_cast<std::size_t>(choice->in)]
                                                                : out_[static_cast<std::size_t>(choice->out)]);
          memory.reset();
          memory = allocate();
        }
    }
  }

  // Of the first `n_ranks`.
  static std::int32_t expected(const Choice &choice, int position, int n_ranks, int iteration) {
    std::int32_t result = value_of(0, position, iteration);
    for (int rank = 1; rank < n_ranks; ++rank) {
      const std::int32_t next = value_of(rank, position, iteration);
      result = choice.op == MPI_SUM ? result + next : std::max(result, next);
    }
    return result;
  }
  // What is at `position` of this rank's result; false: nobody writes there.
  bool result_at(const Choice &choice, int position, int iteration, std::int32_t *value) const {
    const std::string name = choice.reducing->name;
    const int rank = session_.rank();
    int n_ranks = session_.size();
    int from = position;
    if (name == "MPI_Scan") n_ranks = rank + 1;
    if (name == "MPI_Exscan") n_ranks = rank;
    if (n_ranks == 0 || (name == "MPI_Reduce" && rank != choice.root)) return false;
    if (name == "MPI_Reduce_scatter_block") from += rank * choice.shape.count;
    if (name == "MPI_Reduce_scatter") from += first_of_block(choice.shape, rank);
    *value = expected(choice, from, n_ranks, iteration);
    return true;
  }

  void run(const Choice &choice, int iteration) {
    const Memory &in = *in_[static_cast<std::size_t>(choice.in)];
    const Memory &out = *out_[static_cast<std::size_t>(choice.out)];
    const int n_in = choice.reducing->n_in(choice.shape);
    std::vector<std::int32_t> values(static_cast<std::size_t>(n_in));
    for (int i = 0; i < n_in; ++i) values[static_cast<std::size_t>(i)] = value_of(session_.rank(), i, iteration);
    in.fill(kPoison);
    out.fill(kPoison);
    // In place the input is where the result goes, at all but MPI_Reduce's other ranks, which send from there as well.
    const Memory &from = choice.shape.is_in_place ? out : in;
    if (n_in > 0) from.write(0, values.data(), values.size() * kElement);
    ASSERT_EQ(
        choice.reducing->call(in.data(), out.data(), choice.shape, MPI_INT, choice.op, choice.root, session_.comm()),
        MPI_SUCCESS);
    const int n_out = choice.reducing->n_out(choice.shape);
    const Bytes bytes = out.read(0, static_cast<std::size_t>(n_out) * kElement);
    for (int i = 0; i < n_out; ++i) {
      std::int32_t wanted = 0;
      if (!result_at(choice, i, iteration, &wanted)) return;
      std::int32_t found = 0;
      std::copy_n(&bytes[static_cast<std::size_t>(i) * kElement], kElement, reinterpret_cast<unsigned char *>(&found));
      ASSERT_EQ(found, wanted) << choice.reducing->name << ", element " << i << " of " << n_out << ", iteration "
                               << iteration << (choice.shape.is_in_place ? ", in place" : "");
    }
  }

  const Session &session_ = Session::get();
  std::vector<std::unique_ptr<Memory>> in_;
  std::vector<std::unique_ptr<Memory>> out_;
};

}  // namespace

TEST_F(ReducingAgain, GivesWhatIsThereNow) {
  const int rounds = std::getenv("TEST_MANY_ROUNDS") != nullptr ? 2000 : 150;
  Dice all(20261125);
  Dice own(static_cast<std::uint64_t>(session_.rank()) + 7);
  const long long before = calls_by("MPI_Allreduce", "kernel") + calls_by("MPI_Scan", "kernel");
  Choice choice = choose(&all, &own);
  for (int round = 0; round < rounds; ++round) {
    SCOPED_TRACE("round " + std::to_string(round));
    const int n_alike = 1 + all.below_int(3);
    for (int k = 0; k < n_alike; ++k) {
      run(choice, round * 3 + k);
      if (HasFatalFailure()) return;
    }
    change(&all, &own, &choice);
  }
  if (std::getenv("TEST_REDUCES_TOGETHER") != nullptr) {
    EXPECT_GT(calls_by("MPI_Allreduce", "kernel") + calls_by("MPI_Scan", "kernel"), before + rounds / 8);
  }
}

}  // namespace sluice::tests::reducing_again_test
