// SPDX-License-Identifier: BSD-3-Clause
// The reduction kernels, every operation on every element, against a plain loop that shares nothing with them but the
// elements' layout.
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <complex>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "functions.hpp"
#include "reduction_reference.hpp"

namespace {

using namespace sluice::kernels;
using kernels_test::is_same;
using kernels_test::random_value;
using kernels_test::reference;

constexpr std::size_t kGuardBytes = 64;
constexpr unsigned char kPoison = 0xA5;

using Runner = void (*)(Function function, const Task &task);

void run_whole(Function function, const Task &task) {
  function(task);
}

// Sources and a destination somewhere in memory of their own, surrounded and filled with poison.
template <typename Value>
class Arrays {
 public:
  Arrays(std::size_t n_sources, std::size_t count, const std::vector<std::size_t> &shifts, std::uint64_t seed)
      : count_(count), memories_(n_sources + 1), shifts_(n_sources + 1) {
    std::mt19937_64 random(seed);
    for (std::size_t k = 0; k < memories_.size(); ++k) {
      shifts_[k] = kGuardBytes + shifts[k % shifts.size()];
      memories_[k].assign(count * sizeof(Value) + 2 * kGuardBytes + 16, kPoison);
      if (k == n_sources) continue;
      for (std::size_t i = 0; i < count; ++i) {
        Access<1, Value>::store(at(k) + i * sizeof(Value), random_value<Value>(&random));
      }
    }
  }

  unsigned char *at(std::size_t k) { return aligned(k) + shifts_[k]; }
  unsigned char *dst() { return at(memories_.size() - 1); }
  std::size_t n_sources() const { return memories_.size() - 1; }

  Task task(unsigned char *dst) {
    Task result = {};
    result.dsts[0] = dst;
    result.n_dsts = 1;
    result.count = count_;
    result.n_sources = static_cast<std::uint32_t>(n_sources());
    for (std::size_t k = 0; k < n_sources(); ++k) result.sources[k] = at(k);
    return result;
  }

  std::vector<Value> expected(Operation operation) {
    std::vector<Value> result(count_);
    for (std::size_t i = 0; i < count_; ++i) {
      result[i] = Access<1, Value>::load(at(0) + i * sizeof(Value));
      for (std::size_t k = 1; k < n_sources(); ++k) {
        result[i] = reference(operation, result[i], Access<1, Value>::load(at(k) + i * sizeof(Value)));
      }
    }
    return result;
  }

  const std::vector<std::vector<unsigned char>> &memories() const { return memories_; }

 private:
  unsigned char *aligned(std::size_t k) {
    const auto address = reinterpret_cast<std::uintptr_t>(memories_[k].data());
    return memories_[k].data() + (16 - address % 16) % 16;
  }

  std::size_t count_;
  std::vector<std::vector<unsigned char>> memories_;
  std::vector<std::size_t> shifts_;
};

// "" when `memory`, whose bytes were `before`, holds the expected elements from `dst` on and nothing else has changed.
template <typename Value>
std::string mismatch(const std::vector<unsigned char> &memory, const std::vector<unsigned char> &before,
                     const unsigned char *dst, const std::vector<Value> &expected) {
  std::vector<unsigned char> wanted = before;
  const auto offset = static_cast<std::size_t>(dst - memory.data());
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const Value got = Access<1, Value>::load(dst + i * sizeof(Value));
    if (!is_same(got, expected[i])) return "element " + std::to_string(i) + " of " + std::to_string(expected.size());
    // Equal, but maybe another unknown number: what lies there is taken over, so that gaps and surroundings are left.
    Access<1, Value>::store(wanted.data() + offset + i * sizeof(Value), got);
  }
  for (std::size_t i = 0; i < memory.size(); ++i) {
    if (memory[i] != wanted[i]) return "byte " + std::to_string(i) + " from the array's begin was overwritten";
  }
  return "";
}

// "" or the first difference, of a run with `n_sources` at `shifts` into memory of its own (in_place < 0), or into one
// of the sources.
template <typename Value>
std::string check_run(Function function, Operation operation, Runner run, std::size_t n_sources, std::size_t count,
                      const std::vector<std::size_t> &shifts, int in_place) {
  Arrays<Value> arrays(n_sources, count, shifts, count * 31 + n_sources);
  const std::vector<Value> expected = arrays.expected(operation);
  const auto before = arrays.memories();
  unsigned char *dst = in_place < 0 ? arrays.dst() : arrays.at(static_cast<std::size_t>(in_place));
  run(function, arrays.task(dst));
  for (std::size_t k = 0; k < before.size(); ++k) {
    const bool is_written = k == (in_place < 0 ? n_sources : static_cast<std::size_t>(in_place));
    const std::vector<Value> &of_memory = is_written ? expected : std::vector<Value>();
    const std::string wrong = mismatch(arrays.memories()[k], before[k], is_written ? dst : before[k].data(), of_memory);
    if (!wrong.empty()) {
      return wrong + " (array " + std::to_string(k) + ", " + std::to_string(n_sources) + " sources, " +
             std::to_string(count) + " elements, first shift " + std::to_string(shifts[0]) + ")";
    }
  }
  return "";
}

// The same of an update of the second source that tells what was there.
template <typename Value>
std::string check_fetch(Function function, Operation operation, Runner run, std::size_t count,
                        const std::vector<std::size_t> &shifts) {
  Arrays<Value> arrays(2, count, shifts, count * 17 + shifts[0]);
  const std::vector<Value> expected = arrays.expected(operation);
  std::vector<Value> was(count);
  for (std::size_t i = 0; i < count; ++i) was[i] = Access<1, Value>::load(arrays.at(1) + i * sizeof(Value));
  const auto before = arrays.memories();
  Task task = arrays.task(arrays.at(1));
  task.dsts[1] = arrays.dst();
  task.n_dsts = 2;
  task.is_fetch = 1;
  run(function, task);
  const std::array<std::vector<Value>, 3> wanted = {std::vector<Value>(), expected, was};
  for (std::size_t k = 0; k < wanted.size(); ++k) {
    const unsigned char *const at = k == 2 ? arrays.dst() : arrays.at(k);
    const std::string wrong = mismatch(arrays.memories()[k], before[k], at, wanted[k]);
    if (!wrong.empty()) return wrong + " (fetch, array " + std::to_string(k) + ")";
  }
  return "";
}

template <typename Value>
std::string check(Function function, Operation operation, Runner run) {
  const std::vector<std::vector<std::size_t>> places = {{0}, {sizeof(Value) % 16}, {8}, {1}, {0, 8, 3}, {4, 0}};
  for (const std::size_t n_sources : {1U, 2U, 3U, 16U}) {
    for (const std::size_t count : {0U, 1U, 2U, 7U, 16U, 33U, 257U}) {
      for (const auto &shifts : places) {
        for (const int in_place : {-1, 0, static_cast<int>(n_sources) - 1}) {
          std::string wrong = check_run<Value>(function, operation, run, n_sources, count, shifts, in_place);
          if (!wrong.empty()) return wrong;
        }
      }
    }
  }
  for (const std::size_t count : {1U, 7U, 33U}) {
    for (const auto &shifts : places) {
      std::string wrong = check_fetch<Value>(function, operation, run, count, shifts);
      if (!wrong.empty()) return wrong;
    }
  }
  return "";
}

struct Case {
  const char *name;
  Element element;
  Operation operation;
  std::string (*check)(Function, Operation, Runner);
};

constexpr Case kCases[] = {
#define CASE(element, operation) \
  {#element "_" #operation, Element::k##element, Operation::k##operation, check<Element_##element>},
    SLUICE_KERNELS_REDUCTIONS(CASE)
#undef CASE
};

void forget_the_last_element(Function function, const Task &task) {
  Task shorter = task;
  if (shorter.count > 0) --shorter.count;
  function(shorter);
}

void forget_the_last_source(Function function, const Task &task) {
  Task fewer = task;
  if (fewer.n_sources > 1) --fewer.n_sources;
  function(fewer);
}

void write_one_byte_behind(Function function, const Task &task) {
  function(task);
  if (task.count == 7) task.dsts[0][-1] ^= 1U;
}

void flip_a_bit(Function function, const Task &task) {
  function(task);
  if (task.count == 33) task.dsts[0][0] ^= 1U;
}

}  // namespace

class Kernels : public testing::TestWithParam<Case> {};
INSTANTIATE_TEST_SUITE_P(All, Kernels, testing::ValuesIn(kCases), [](const auto &of) { return of.param.name; });

TEST_P(Kernels, AgreeWithAPlainLoop) {
  const Function function = find_function(GetParam().element, GetParam().operation);
  ASSERT_NE(function, nullptr);
  EXPECT_EQ(GetParam().check(function, GetParam().operation, run_whole), "");
}

// To several destinations, one of them a source, wherever they lie.
TEST(KernelDestinations, AllGetTheResult) {
  constexpr std::size_t kCount = 777;
  for (const std::size_t shift : {0U, 1U, 4U}) {
    std::vector<std::vector<unsigned char>> memories(18, std::vector<unsigned char>(kCount * 4 + 32, kPoison));
    const auto at = [&](std::size_t k) { return memories[k].data() + (k == 3 ? shift : 0); };
    for (std::size_t k = 0; k < 2; ++k) {
      for (std::size_t i = 0; i < kCount; ++i) Access<1, std::int32_t>::store(at(k) + 4 * i, static_cast<int>(i << k));
    }
    Task task = {};
    task.count = kCount;
    task.n_sources = 2;
    task.n_dsts = kMaxDsts;
    for (std::size_t k = 0; k < 2; ++k) task.sources[k] = at(k);
    for (std::size_t k = 0; k < kMaxDsts; ++k) task.dsts[k] = at(k + 1);
    reduce_share<Rule_SUM, std::int32_t>(task, 1, 2);
    reduce_share<Rule_SUM, std::int32_t>(task, 0, 2);
    for (std::size_t k = 1; k <= kMaxDsts; ++k) {
      for (std::size_t i = 0; i < kCount; ++i) {
        ASSERT_EQ((Access<1, std::int32_t>::load(at(k) + 4 * i)), static_cast<int>(3 * i)) << k << " " << i;
      }
      ASSERT_EQ(at(k)[kCount * 4], kPoison) << k;
    }
    ASSERT_EQ(memories[17][0], kPoison);
  }
}

// In any number of items and any order, as devices run them.
TEST(KernelItems, GiveTheSameInAnyOrder) {
  std::vector<float> first(1000);
  std::vector<float> second(1000);
  for (std::size_t i = 0; i < first.size(); ++i) {
    first[i] = std::ldexp(1.0F, static_cast<int>(i % 40));
    second[i] = 1.0F / static_cast<float>(i + 1);
  }
  for (const std::uint64_t n_items : {1U, 2U, 7U, 250U, 1000U, 5000U}) {
    std::vector<float> result(1000, -1.0F);
    Task task = {};
    task.dsts[0] = reinterpret_cast<unsigned char *>(result.data());
    task.n_dsts = 1;
    task.sources[0] = reinterpret_cast<const unsigned char *>(first.data());
    task.sources[1] = reinterpret_cast<const unsigned char *>(second.data());
    task.n_sources = 2;
    task.count = 1000;
    for (std::uint64_t item = n_items; item-- > 0;) reduce_share<Rule_SUM, float>(task, item, n_items);
    for (std::size_t i = 0; i < result.size(); ++i) ASSERT_EQ(result[i], first[i] + second[i]) << i;
  }
}

TEST(KernelList, HasNoOtherPairs) {
  EXPECT_EQ(std::size(kCases), 114U);
  EXPECT_EQ(find_function(Element::kFLOAT32, Operation::kBAND), nullptr);
  EXPECT_EQ(find_function(Element::kCOMPLEX_FLOAT32, Operation::kMAX), nullptr);
  EXPECT_EQ(find_function(Element::kINT32, Operation::kMINLOC), nullptr);
  EXPECT_EQ(find_function(Element::kPAIR_INT32, Operation::kSUM), nullptr);
  EXPECT_EQ(find_function(Element::kCount, Operation::kSUM), nullptr);
  EXPECT_EQ(size_of(Element::kPAIR_FLOAT64), 16U);
  EXPECT_EQ(size_of(Element::kPAIR_INT16), 8U);
  EXPECT_EQ(size_of(Element::kCount), 0U);
}

TEST(KernelNumbers, SurviveWideningAndNarrowing) {
  for (std::uint32_t bits = 0; bits <= 0xFFFFU; ++bits) {
    const Half half{static_cast<std::uint16_t>(bits)};
    const BFloat16 brain{static_cast<std::uint16_t>(bits)};
    Half half_again{};
    BFloat16 brain_again{};
    narrow(widen(half), &half_again);
    narrow(widen(brain), &brain_again);
    ASSERT_TRUE(is_same(half_again, half)) << bits;
    ASSERT_TRUE(is_same(brain_again, brain)) << bits;
  }
}

// Values that comparisons and infinities make hard; docs at rules.hpp.
TEST(KernelRules, KeepTheFirst_WhenAComparisonFails) {
  const float unknown = std::numeric_limits<float>::quiet_NaN();
  EXPECT_TRUE(std::isnan(Minimum<float>::combine(unknown, 1)));
  EXPECT_EQ(Minimum<float>::combine(1, unknown), 1);
  EXPECT_TRUE(std::signbit(Maximum<float>::combine(-0.0F, 0.0F)));
  EXPECT_FALSE(std::signbit(Minimum<float>::combine(0.0F, -0.0F)));
  EXPECT_EQ(MinimumWithPlace<IndexedInt32>::combine({3, 9}, {3, 4}).index, 4);
  EXPECT_EQ(MaximumWithPlace<IndexedFloat32>::combine({unknown, 1}, {1, 2}).index, 2);
}

TEST(KernelRules, RecoverInfiniteProducts) {
  const double infinity = std::numeric_limits<double>::infinity();
  const double unknown = std::numeric_limits<double>::quiet_NaN();
  const std::array values = {0.0, -0.0, 1.0, -2.5, infinity, -infinity, unknown, 1e300};
  for (const double a : values) {
    for (const double b : values) {
      for (const double c : values) {
        for (const double d : values) {
          const Complex<double> got = Product<Complex<double>>::combine({a, b}, {c, d});
          const Complex<double> wanted = reference(Operation::kPROD, Complex<double>{a, b}, Complex<double>{c, d});
          EXPECT_TRUE(is_same(got, wanted)) << a << " " << b << " times " << c << " " << d;
        }
      }
    }
  }
}

class SpoiledKernel : public testing::TestWithParam<Runner> {};
INSTANTIATE_TEST_SUITE_P(Checker, SpoiledKernel,
                         testing::Values(forget_the_last_element, forget_the_last_source, write_one_byte_behind,
                                         flip_a_bit));

TEST_P(SpoiledKernel, IsNoticed) {
  for (const Case &one : kCases) {
    EXPECT_NE(one.check(find_function(one.element, one.operation), one.operation, GetParam()), "") << one.name;
  }
}
