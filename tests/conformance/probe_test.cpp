// SPDX-License-Identifier: BSD-3-Clause
// What a module has for benchmarks (sluice/testing/probe.h): a kernel that looks at memory sees each wrong byte, and
// only those; work computes what it says. What memory is to hold is written here anew, from the words of
// sluice/testing/check.h.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "memory.h"
#include "module_under_test.h"
#include "probe_under_test.h"

using conformance::Memory;
using conformance::probe;
using conformance::table;

namespace conformance::probe_test {
namespace {

constexpr uint64_t kGolden = 0x9e3779b97f4a7c15U;

// The pattern of element_bytes 0: byte `position` of it.
std::byte pattern_byte(const sluice_check_source_t &source, uint64_t position) {
  const uint64_t word = position / 8;
  uint64_t x = source.seed + (source.repeat_words == 0 ? word : word % source.repeat_words) * kGolden;
  x = (x ^ (x >> 30U)) * 0xbf58476d1ce4e5b9U;
  x = (x ^ (x >> 27U)) * 0x94d049bb133111ebU;
  x ^= x >> 31U;
  return static_cast<std::byte>((x >> (8 * (position % 8))) + (source.step >> (8 * (position % 8))));
}

int64_t number_of(const sluice_check_source_t &source, uint64_t element, uint32_t rank) {
  const uint64_t x = (element + kGolden) * 0xbf58476d1ce4e5b9U;
  const uint64_t hash = (x ^ (x >> 31U)) % source.modulus;
  const uint64_t value = (hash + 101 * uint64_t{source.first_rank + rank} + source.step) % source.modulus;
  return static_cast<int64_t>(value) - static_cast<int64_t>(source.half);
}

// The numbers of element_bytes 4 and 8, folded.
template <typename Element>
void store_number(const sluice_check_source_t &source, uint64_t element, std::byte *at) {
  int64_t value = number_of(source, element, 0);
  for (uint32_t rank = 1; rank < source.n_ranks; ++rank) {
    const int64_t other = number_of(source, element, rank);
    value = source.fold == SLUICE_CHECK_FOLD_SUM   ? value + other
            : source.fold == SLUICE_CHECK_FOLD_MAX ? std::max(value, other)
                                                   : std::min(value, other);
  }
  const auto stored = static_cast<Element>(value);
  std::memcpy(at, &stored, sizeof(stored));
}

// Memory of several parts that begin at any byte, with gaps that nobody looks at.
struct Scene {
  std::vector<std::byte> bytes;
  std::vector<sluice_check_source_t> sources;
  std::vector<sluice_check_segment_t> segments;
  uint64_t n_bytes = 0;  // that are looked at

  // position: in the source.
  void add(size_t gap, size_t size_bytes, const sluice_check_source_t &source, uint64_t position) {
    const uint64_t begin = bytes.size() + gap;
    const uint64_t words_before = segments.empty()
                                      ? 0
                                      : segments.back().first_word +
                                            (segments.back().position + segments.back().size_bytes - 1) / 8 -
                                            segments.back().position / 8 + 1;
    segments.push_back({begin, size_bytes, position, words_before, static_cast<uint32_t>(sources.size()), 0});
    sources.push_back(source);
    bytes.resize(begin + size_bytes, std::byte{0x5A});
    n_bytes += size_bytes;
  }
  void fill() {
    for (const sluice_check_segment_t &segment : segments) {
      const sluice_check_source_t &source = sources[segment.source];
      std::vector<std::byte> all(segment.position + segment.size_bytes + 8);
      if (source.element_bytes == 0) {
        for (size_t at = 0; at < all.size(); ++at) all[at] = pattern_byte(source, at);
      } else {
        for (size_t at = 0; at + 8 <= all.size(); at += source.element_bytes) {
          if (source.is_floating != 0 && source.element_bytes == 4) store_number<float>(source, at / 4, &all[at]);
          if (source.is_floating != 0 && source.element_bytes == 8) store_number<double>(source, at / 8, &all[at]);
          if (source.is_floating == 0 && source.element_bytes == 4) store_number<int32_t>(source, at / 4, &all[at]);
          if (source.is_floating == 0 && source.element_bytes == 8) store_number<int64_t>(source, at / 8, &all[at]);
        }
      }
      std::memcpy(&bytes[segment.begin], &all[segment.position], segment.size_bytes);
    }
  }
};

Scene make_scene(size_t large_bytes) {
  const sluice_check_source_t pattern = {0x1234567, 0x0101010101010101U * 37, 0, 0, 0, 0, 0, 0, 1, 0, 0};
  sluice_check_source_t repeated = pattern;
  repeated.repeat_words = 5;
  const auto numbers = [](uint32_t bytes, uint32_t is_floating, uint32_t fold) {
    return sluice_check_source_t{0, 11, 0, bytes, is_floating, fold, 1, 3, 1021, 510, 0};
  };
  Scene scene;
  scene.add(3, large_bytes, pattern, 5);
  scene.add(1, 333, repeated, 0);
  scene.add(4, 400, numbers(4, 0, SLUICE_CHECK_FOLD_SUM), 8);
  scene.add(0, 801, numbers(8, 1, SLUICE_CHECK_FOLD_MAX), 3);
  scene.add(7, 64, numbers(4, 1, SLUICE_CHECK_FOLD_MIN), 0);
  scene.add(2, 9, numbers(8, 0, SLUICE_CHECK_FOLD_SUM), 1);
  scene.fill();
  return scene;
}

class Probe : public ::testing::Test {
 protected:
  void SetUp() override {
    SKIP_WITHOUT_PROGRAM_GROUP();
    if (probe() == nullptr) GTEST_SKIP() << "missing: a table for benchmarks (sluice/testing/probe.h)";
  }
};

sluice_result_t look(const Scene &scene, const Memory &memory, sluice_check_finding_t *finding) {
  const sluice_memory_check_t check = {memory.data(),
                                       scene.bytes.size(),
                                       scene.sources.data(),
                                       scene.segments.data(),
                                       static_cast<uint32_t>(scene.sources.size()),
                                       scene.segments.size()};
  return probe()->check_memory(&check, finding);
}

#define SKIP_WITHOUT_CHECK(result)                                               \
  do {                                                                           \
    if ((result) == SLUICE_ERROR_UNSUPPORTED)                                    \
      GTEST_SKIP() << "missing: a kernel that checks: " << table().last_error(); \
  } while (false)

TEST_F(Probe, Check_SeesEveryWrongByte_AndOnlyThose) {
  if (probe()->check_memory == nullptr) GTEST_SKIP() << "missing: a kernel that checks memory";
  for (const sluice_memory_kind_t kind : {SLUICE_MEMORY_DEVICE, SLUICE_MEMORY_SHARED}) {
    const Scene scene = make_scene(70'001);
    MAKE_MEMORY_OR_SKIP(memory, kind, 0, scene.bytes.size());
    ASSERT_EQ(memory.write(scene.bytes), "");
    sluice_check_finding_t finding = {};
    const sluice_result_t result = look(scene, memory, &finding);
    SKIP_WITHOUT_CHECK(result);
    ASSERT_OK(result);
    EXPECT_EQ(finding.first_wrong, UINT64_MAX);
    EXPECT_EQ(finding.n_bytes_checked, scene.n_bytes);
    // The ends and some of the large part, many of the small ones, and what nobody looks at.
    std::vector<uint64_t> places = {0, 2, 3, 4, 35'000, 70'003, 70'004};
    for (uint64_t at = scene.segments[1].begin; at < scene.bytes.size(); at += 61) places.push_back(at);
    for (const uint64_t place : places) {
      const std::byte wrong = scene.bytes[place] ^ std::byte{0x10};
      ASSERT_EQ(memory.write({&wrong, 1}, place), "");
      ASSERT_OK(look(scene, memory, &finding));
      const bool is_looked_at =
          std::any_of(scene.segments.begin(), scene.segments.end(), [&](const sluice_check_segment_t &segment) {
            return place >= segment.begin && place < segment.begin + segment.size_bytes;
          });
      EXPECT_EQ(finding.first_wrong, is_looked_at ? place : UINT64_MAX);
      EXPECT_EQ(finding.n_bytes_checked, scene.n_bytes);
      ASSERT_EQ(memory.write({&scene.bytes[place], 1}, place), "");
    }
  }
}

TEST_F(Probe, Check_SeesTheLowestOfTwo_InManyWords) {
  if (probe()->check_memory == nullptr) GTEST_SKIP() << "missing: a kernel that checks memory";
  const Scene scene = make_scene(3 << 20);
  MAKE_MEMORY_OR_SKIP(memory, SLUICE_MEMORY_DEVICE, 0, scene.bytes.size());
  ASSERT_EQ(memory.write(scene.bytes), "");
  for (const uint64_t place : {uint64_t{1} << 20, uint64_t{3} << 20}) {
    const std::byte wrong = ~scene.bytes[place];
    ASSERT_EQ(memory.write({&wrong, 1}, place), "");
  }
  sluice_check_finding_t finding = {};
  const sluice_result_t result = look(scene, memory, &finding);
  SKIP_WITHOUT_CHECK(result);
  ASSERT_OK(result);
  EXPECT_EQ(finding.first_wrong, uint64_t{1} << 20);
  EXPECT_EQ(finding.n_bytes_checked, scene.n_bytes);
}

TEST_F(Probe, Check_RefusesSegmentsBeyondTheMemory) {
  if (probe()->check_memory == nullptr) GTEST_SKIP() << "missing: a kernel that checks memory";
  Scene scene = make_scene(100);
  MAKE_MEMORY_OR_SKIP(memory, SLUICE_MEMORY_DEVICE, 0, scene.bytes.size());
  scene.segments.back().size_bytes += 1;
  sluice_check_finding_t finding = {};
  EXPECT_EQ(look(scene, memory, &finding), SLUICE_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(probe()->check_memory(nullptr, &finding), SLUICE_ERROR_INVALID_ARGUMENT);
}

uint64_t after_steps(uint64_t n_steps) {
  uint64_t x = kGolden;
  for (uint64_t k = 0; k < n_steps; ++k) {
    x ^= x << 13U;
    x ^= x >> 7U;
    x ^= x << 17U;
  }
  return x;
}

TEST_F(Probe, Work_ComputesEveryStep) {
  if (probe()->work_create == nullptr) GTEST_SKIP() << "missing: work (sluice/testing/probe.h)";
  MAKE_MEMORY_OR_SKIP(memory, SLUICE_MEMORY_DEVICE, 0, 64);  // the program has a device
  sluice_work_t *work = nullptr;
  const sluice_result_t result = probe()->work_create(&work);
  if (result == SLUICE_ERROR_UNSUPPORTED) GTEST_SKIP() << "missing: a kernel that computes: " << table().last_error();
  ASSERT_OK(result);
  for (const uint64_t n_steps : {uint64_t{0}, uint64_t{1}, uint64_t{100'003}}) {
    uint64_t x = 1;
    EXPECT_OK(probe()->work_enqueue(work, 7));
    EXPECT_OK(probe()->work_enqueue(work, n_steps));
    EXPECT_OK(probe()->work_wait(work, &x));
    EXPECT_EQ(x, after_steps(n_steps));
  }
  EXPECT_OK(probe()->work_enqueue(work, 1000));
  EXPECT_OK(probe()->work_wait(work, nullptr));
  EXPECT_OK(probe()->work_destroy(work));
}

}  // namespace

}  // namespace conformance::probe_test
