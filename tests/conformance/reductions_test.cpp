// SPDX-License-Identifier: BSD-3-Clause
// The group `reduce`: reductions by the device against a plain loop. Reductions covers a few pairs, EveryReduction all
// that the backend takes, which is long where kernels are compiled at run time.
#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

#include "functions.hpp"
#include "memory.h"
#include "module_under_test.h"
#include "pattern.h"
#include "reduction_reference.hpp"

using conformance::Memory;
using conformance::Queue;
using conformance::table;
namespace kernels = sluice::kernels;

namespace conformance::reductions_test {
namespace {

constexpr size_t kMaxShift = 16;
constexpr size_t kGuardBytes = 64;

struct Shape {
  uint32_t n_sources;
  uint64_t count;
  size_t shift_step_bytes;  // source k lies this many bytes times k beyond a boundary of 64, the destination one more
  int in_place;             // the source that is the first destination too; -1: none
  uint32_t n_dsts = 1;
  bool is_fetch = false;  // the second destination gets what was in the first
};

// Everything is right with one call of `Backend`: each element, what lies around and between, and the sources.
template <typename Value>
class Trial {
 public:
  Trial(const sluice_backend_t &backend, sluice_element_t element, sluice_operation_t operation, const Shape &shape)
      : backend_(backend), element_(element), operation_(operation), shape_(shape) {}

  // "" or what is wrong.
  std::string run(sluice_queue_t *queue, sluice_memory_kind_t kind) {
    std::string problem = prepare(kind);
    if (!problem.empty()) return problem;
    std::vector<const void *> sources;
    for (uint32_t k = 0; k < shape_.n_sources; ++k) sources.push_back(memories_[k].data() + offset(k));
    std::vector<void *> dsts;
    for (uint32_t d = 0; d < shape_.n_dsts; ++d) dsts.push_back(memories_[written(d)].data() + offset(written(d)));
    const sluice_reduction_t reduction = {element_,
                                          operation_,
                                          dsts.data(),
                                          sources.data(),
                                          shape_.n_dsts,
                                          shape_.n_sources,
                                          shape_.count,
                                          static_cast<uint32_t>(shape_.count % 2),
                                          shape_.is_fetch ? 1U : 0U};
    const sluice_result_t result = await(backend_, queue, backend_.enqueue_reduction(queue, &reduction));
    return result == SLUICE_SUCCESS ? compare() : conformance::describe(result);
  }

 private:
  size_t written(uint32_t d) const {
    return d > 0 || shape_.in_place < 0 ? shape_.n_sources + d : static_cast<size_t>(shape_.in_place);
  }
  bool is_written(size_t k) const { return k > shape_.n_sources || k == written(0); }
  size_t offset(size_t k) const { return kGuardBytes + k * shape_.shift_step_bytes % kMaxShift; }

  std::string prepare(sluice_memory_kind_t kind) {
    std::mt19937_64 random(shape_.count * 7 + shape_.n_sources);
    const size_t bytes = shape_.count * sizeof(Value) + 2 * kGuardBytes + kMaxShift;
    for (uint32_t k = 0; k < shape_.n_sources + shape_.n_dsts; ++k) {
      std::vector<std::byte> &content = contents_.emplace_back(bytes, kPoison);
      auto *first = reinterpret_cast<unsigned char *>(content.data()) + offset(k);
      for (uint64_t i = 0; i < shape_.count && k < shape_.n_sources; ++i) {
        kernels::Access<1, Value>::store(first + i * sizeof(Value), kernels_test::random_value<Value>(&random));
      }
      // The destination is the device's own; sources may be memory of the host that it reaches.
      const bool is_device = is_written(k) || k % 2 == 0;
      std::string problem = Memory::make(is_device ? SLUICE_MEMORY_DEVICE : kind, 0, bytes, &memories_.emplace_back());
      if (problem.empty()) problem = memories_.back().write(content);
      if (!problem.empty()) return problem;
    }
    return "";
  }

  Value element_of(size_t k, uint64_t i) const {
    return kernels::Access<1, Value>::load(reinterpret_cast<const unsigned char *>(contents_[k].data()) + offset(k) +
                                           i * sizeof(Value));
  }

  Value expected_of(size_t k, uint64_t i) const {
    if (shape_.is_fetch && k == written(1)) return element_of(1, i);
    Value expected = element_of(0, i);
    for (uint32_t source = 1; source < shape_.n_sources; ++source) {
      expected = kernels_test::reference(static_cast<kernels::Operation>(operation_), expected, element_of(source, i));
    }
    return expected;
  }

  std::string compare() {
    for (size_t k = 0; k < memories_.size(); ++k) {
      std::vector<std::byte> after;
      if (std::string problem = memories_[k].read(&after); !problem.empty()) return problem;
      std::vector<std::byte> wanted = contents_[k];
      for (uint64_t i = 0; is_written(k) && i < shape_.count; ++i) {
        const size_t at = offset(k) + i * sizeof(Value);
        const Value got = kernels::Access<1, Value>::load(reinterpret_cast<const unsigned char *>(after.data()) + at);
        if (!kernels_test::is_same(got, expected_of(k, i))) {
          return "element " + std::to_string(i) + " of " + std::to_string(shape_.count);
        }
        kernels::Access<1, Value>::store(reinterpret_cast<unsigned char *>(wanted.data()) + at, got);
      }
      if (after != wanted) return "bytes of array " + std::to_string(k) + " were written that are no elements";
    }
    return "";
  }

  const sluice_backend_t &backend_;
  const sluice_element_t element_;
  const sluice_operation_t operation_;
  const Shape shape_;
  std::vector<Memory> memories_;
  std::vector<std::vector<std::byte>> contents_;
};

constexpr Shape kShapes[] = {
    {1, 5, 0, -1},          {2, 0, 0, -1},      {2, 1, 0, 1},         {2, 1023, 0, 1},       {2, 70001, 0, -1},
    {2, 333, 1, 1},         {2, 1000, 4, 0},    {3, 77, 8, 2},        {16, 1029, 0, -1},     {5, 4097, 3, -1},
    {2, 1025, 0, 1, 2},     {3, 501, 1, -1, 4}, {16, 2050, 0, 3, 16}, {2, 1, 0, 1, 2, true}, {2, 777, 0, 1, 2, true},
    {2, 300, 3, 1, 2, true}};

template <typename Value>
std::string check(const sluice_backend_t &backend, sluice_element_t element, sluice_operation_t operation) {
  const Queue queue(0);
  if (!queue.problem().empty()) return queue.problem();
  for (const Shape &shape : kShapes) {
    const std::string wrong = Trial<Value>(backend, element, operation, shape).run(queue.get(), SLUICE_MEMORY_PINNED);
    if (!wrong.empty()) {
      return wrong + " (" + std::to_string(shape.n_sources) + " sources, " + std::to_string(shape.count) +
             " elements, step " + std::to_string(shape.shift_step_bytes) + ")";
    }
  }
  return "";
}

struct Pair {
  const char *name;
  sluice_element_t element;
  sluice_operation_t operation;
  std::string (*check)(const sluice_backend_t &, sluice_element_t, sluice_operation_t);
};

constexpr Pair kPairs[] = {
#define PAIR(element, operation) \
  {#element "_" #operation, SLUICE_ELEMENT_##element, SLUICE_OPERATION_##operation, check<kernels::Element_##element>},
    SLUICE_KERNELS_REDUCTIONS(PAIR)
#undef PAIR
};

bool has_group() {
  return table().enqueue_reduction != nullptr;
}

bool takes(const Pair &pair) {
  return table().can_reduce(0, pair.element, pair.operation) == 1;
}

// The pair, which each test of a few pairs skips when the backend does not take it.
const Pair &pair_named(const std::string &name) {
  for (const Pair &pair : kPairs) {
    if (pair.name == name) return pair;
  }
  ADD_FAILURE() << "no pair " << name;
  return kPairs[0];
}

using Reduce = sluice_result_t (*)(sluice_queue_t *, const sluice_reduction_t *);

sluice_result_t forget_the_last_element(sluice_queue_t *queue, const sluice_reduction_t *reduction) {
  sluice_reduction_t shorter = *reduction;
  if (shorter.count > 0) --shorter.count;
  return table().enqueue_reduction(queue, &shorter);
}

sluice_result_t forget_the_last_source(sluice_queue_t *queue, const sluice_reduction_t *reduction) {
  sluice_reduction_t fewer = *reduction;
  if (fewer.n_sources > 1) --fewer.n_sources;
  return table().enqueue_reduction(queue, &fewer);
}

sluice_result_t forget_the_last_dst(sluice_queue_t *queue, const sluice_reduction_t *reduction) {
  sluice_reduction_t fewer = *reduction;
  if (fewer.n_dsts > 1) --fewer.n_dsts;
  return table().enqueue_reduction(queue, &fewer);
}

sluice_result_t fetch_nothing(sluice_queue_t *queue, const sluice_reduction_t *reduction) {
  sluice_reduction_t update = *reduction;
  update.is_fetch = 0;
  return table().enqueue_reduction(queue, &update);
}

sluice_result_t do_nothing(sluice_queue_t * /*queue*/, const sluice_reduction_t * /*reduction*/) {
  return SLUICE_SUCCESS;
}

sluice_result_t write_one_element_behind(sluice_queue_t *queue, const sluice_reduction_t *reduction) {
  sluice_reduction_t longer = *reduction;
  ++longer.count;
  return table().enqueue_reduction(queue, &longer);
}

}  // namespace

#define SKIP_WITHOUT_REDUCE()                                                                  \
  do {                                                                                         \
    SKIP_WITHOUT_PROGRAM_GROUP();                                                              \
    if (!has_group()) GTEST_SKIP() << "missing: the group `reduce`";                           \
    if (!takes(pair_named("FLOAT32_SUM"))) GTEST_SKIP() << "missing: kernels for this device"; \
  } while (false)

TEST(Contract, ReduceGroup_IsWholeOrAbsent) {
  EXPECT_EQ(table().can_reduce != nullptr, table().enqueue_reduction != nullptr);
}

TEST(Reductions, OfAFewPairs_AgreeWithAPlainLoop) {
  SKIP_WITHOUT_REDUCE();
  for (const char *name : {"FLOAT32_SUM"}) {
    const Pair pair = pair_named(name);
    EXPECT_EQ(pair.check(table(), pair.element, pair.operation), "") << name;
  }
}

TEST(Reductions, AreTakenOrNot_TheSameAtEachCall) {
  if (!has_group()) GTEST_SKIP() << "missing: the group `reduce`";
  for (const Pair &pair : kPairs) {
    EXPECT_EQ(table().can_reduce(0, pair.element, pair.operation), table().can_reduce(0, pair.element, pair.operation));
    EXPECT_EQ(table().can_reduce(-1, pair.element, pair.operation), 0);
    EXPECT_EQ(table().can_reduce(table().device_count(), pair.element, pair.operation), 0);
  }
  EXPECT_EQ(table().can_reduce(0, SLUICE_ELEMENT_FLOAT32, SLUICE_OPERATION_BXOR), 0);
  EXPECT_EQ(table().can_reduce(0, static_cast<sluice_element_t>(31), SLUICE_OPERATION_SUM), 0);
  EXPECT_EQ(table().can_reduce(0, SLUICE_ELEMENT_FLOAT32, static_cast<sluice_operation_t>(15)), 0);
}

// Up, reduced twice, down, with no waiting in between: order within the queue holds for kernels too.
TEST(Reductions, KeepTheOrderOfTheQueue) {
  SKIP_WITHOUT_REDUCE();
  constexpr size_t kCount = 300001;
  MAKE_MEMORY_OR_SKIP(device, SLUICE_MEMORY_DEVICE, 0, kCount * sizeof(float));
  MAKE_MEMORY_OR_SKIP(sum, SLUICE_MEMORY_DEVICE, 0, kCount * sizeof(float));
  MAKE_MEMORY_OR_SKIP(host, SLUICE_MEMORY_PINNED, 0, kCount * sizeof(float));
  const Queue queue(0);
  ASSERT_EQ(queue.problem(), "");
  for (int iteration = 1; iteration <= 3; ++iteration) {
    auto *numbers = reinterpret_cast<float *>(host.data());
    for (size_t i = 0; i < kCount; ++i) numbers[i] = static_cast<float>(i % 1000 + static_cast<size_t>(iteration));
    const sluice_copy_t up = {device.data(), host.data(), kCount * sizeof(float)};
    const sluice_copy_t down = {host.data(), sum.data(), kCount * sizeof(float)};
    const void *twice[] = {device.data(), device.data()};
    const void *again[] = {sum.data(), device.data()};
    void *const into[] = {sum.data()};
    const sluice_reduction_t first = {SLUICE_ELEMENT_FLOAT32, SLUICE_OPERATION_SUM, into, twice, 1, 2, kCount, 0, 0};
    const sluice_reduction_t second = {SLUICE_ELEMENT_FLOAT32, SLUICE_OPERATION_SUM, into, again, 1, 2, kCount, 0, 0};
    uint64_t ticket = 0;
    ASSERT_OK(table().enqueue_copies(queue.get(), &up, 1));
    ASSERT_OK(table().enqueue_reduction(queue.get(), &first));
    ASSERT_OK(table().enqueue_reduction(queue.get(), &second));
    ASSERT_OK(table().enqueue_copies(queue.get(), &down, 1));
    ASSERT_OK(table().enqueue_ticket(queue.get(), &ticket));
    ASSERT_OK(table().wait_ticket(queue.get(), ticket));
    for (size_t i = 0; i < kCount; ++i) {
      ASSERT_EQ(numbers[i], 3 * static_cast<float>(i % 1000 + static_cast<size_t>(iteration))) << i;
    }
  }
}

TEST(Reductions, AreRefused_WhenTheirArgumentsAreNone) {
  SKIP_WITHOUT_REDUCE();
  MAKE_MEMORY_OR_SKIP(memory, SLUICE_MEMORY_DEVICE, 0, 4096);
  const Queue queue(0);
  ASSERT_EQ(queue.problem(), "");
  const void *sources[SLUICE_REDUCE_MAX_SOURCES + 1];
  for (const void *&source : sources) source = memory.data();
  void *const dsts[] = {memory.data()};
  const sluice_reduction_t good = {SLUICE_ELEMENT_FLOAT32, SLUICE_OPERATION_SUM, dsts, sources, 1, 2, 10, 0, 0};
  const auto expect = [&](sluice_result_t wanted, const auto &spoil) {
    sluice_reduction_t reduction = good;
    spoil(reduction);
    EXPECT_EQ(table().enqueue_reduction(queue.get(), &reduction), wanted);
    EXPECT_STRNE(table().last_error(), "");
  };
  expect(SLUICE_ERROR_UNSUPPORTED, [](auto &r) { r.operation = SLUICE_OPERATION_BAND; });
  expect(SLUICE_ERROR_UNSUPPORTED, [](auto &r) { r.element = static_cast<sluice_element_t>(31); });
  expect(SLUICE_ERROR_INVALID_ARGUMENT, [](auto &r) { r.n_sources = 0; });
  expect(SLUICE_ERROR_INVALID_ARGUMENT, [](auto &r) { r.n_sources = SLUICE_REDUCE_MAX_SOURCES + 1; });
  expect(SLUICE_ERROR_INVALID_ARGUMENT, [](auto &r) { r.n_dsts = 0; });
  expect(SLUICE_ERROR_INVALID_ARGUMENT, [](auto &r) { r.n_dsts = SLUICE_REDUCE_MAX_DSTS + 1; });
  expect(SLUICE_ERROR_INVALID_ARGUMENT, [](auto &r) { r.is_fetch = 1; });  // of one destination
  expect(SLUICE_ERROR_INVALID_ARGUMENT, [](auto &r) { r.dsts = nullptr; });
  expect(SLUICE_ERROR_INVALID_ARGUMENT, [](auto &r) { r.count = UINT64_MAX; });
  const void *nothing[] = {memory.data(), nullptr};
  expect(SLUICE_ERROR_INVALID_ARGUMENT, [&](auto &r) { r.sources = nothing; });
  void *const nowhere[] = {nullptr};
  expect(SLUICE_ERROR_INVALID_ARGUMENT, [&](auto &r) { r.dsts = nowhere; });
  EXPECT_EQ(table().enqueue_reduction(queue.get(), nullptr), SLUICE_ERROR_INVALID_ARGUMENT);
  // The queue is as good as before.
  EXPECT_EQ(pair_named("FLOAT32_SUM").check(table(), good.element, good.operation), "");
}

class EveryReduction : public testing::TestWithParam<Pair> {};
INSTANTIATE_TEST_SUITE_P(EveryReduction, EveryReduction, testing::ValuesIn(kPairs),
                         [](const auto &of) { return of.param.name; });

TEST_P(EveryReduction, AgreesWithAPlainLoop) {
  SKIP_WITHOUT_REDUCE();
  if (!takes(GetParam())) GTEST_SKIP() << "missing: " << GetParam().name << " on this device";
  EXPECT_EQ(GetParam().check(table(), GetParam().element, GetParam().operation), "");
}

class FaultyReduction : public testing::TestWithParam<Reduce> {};
INSTANTIATE_TEST_SUITE_P(Reductions, FaultyReduction,
                         testing::Values(forget_the_last_element, forget_the_last_source, forget_the_last_dst,
                                         fetch_nothing, do_nothing, write_one_element_behind));

TEST_P(FaultyReduction, IsNoticed) {
  SKIP_WITHOUT_REDUCE();
  sluice_backend_t spoiled = table();
  spoiled.enqueue_reduction = GetParam();
  const Pair pair = pair_named("FLOAT32_SUM");
  EXPECT_NE(pair.check(spoiled, pair.element, pair.operation), "");
}

}  // namespace conformance::reductions_test
