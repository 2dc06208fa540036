// SPDX-License-Identifier: BSD-3-Clause
// From the blocks of a datatype to what a kernel moves: the canonical form, the list, the numbers of the contract and
// the kernel's body, against a plain walk through the blocks.
#include "backends/packing.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "transfer/shape.hpp"

namespace sluice::tests::packing_test {
namespace {

using transfer::Block;
using transfer::Shape;

std::vector<Block> vector_of(std::uint64_t n, std::uint64_t size, std::int64_t stride, std::int64_t offset = 0) {
  std::vector<Block> blocks;
  for (std::uint64_t k = 0; k < n; ++k) blocks.push_back({offset + static_cast<std::int64_t>(k) * stride, size});
  return blocks;
}

std::vector<Block> copies_of(const std::vector<Block> &element, std::uint64_t n, std::int64_t stride) {
  std::vector<Block> blocks;
  for (std::uint64_t k = 0; k < n; ++k) {
    for (const Block &block : element) {
      blocks.push_back({block.offset_bytes + static_cast<std::int64_t>(k) * stride, block.size_bytes});
    }
  }
  return blocks;
}

std::string words(const Shape &shape) {
  std::string text;
  for (const sluice_dimension_t &dimension : shape.dimensions) {
    text += std::to_string(dimension.count) + " every " + std::to_string(dimension.stride_bytes) + ", ";
  }
  return text + std::to_string(shape.core.size()) + " blocks of " + std::to_string(shape.core_bytes) + " from " +
         std::to_string(shape.core_offset);
}

TEST(Shape, IsNestedStrides_WhenBlocksAreRegular) {
  EXPECT_EQ(words(transfer::shape_of(vector_of(1, 24, 0, 8))), "1 blocks of 24 from 8");
  EXPECT_EQ(words(transfer::shape_of(vector_of(5, 8, 24, -16))), "5 every 24, 1 blocks of 8 from -16");
  EXPECT_EQ(words(transfer::shape_of(vector_of(4, 8, -24, 72))), "4 every -24, 1 blocks of 8 from 72");
  const auto face = copies_of(vector_of(6, 8, 32), 3, 4096);
  EXPECT_EQ(words(transfer::shape_of(face)), "3 every 4096, 6 every 32, 1 blocks of 8 from 0");
  const auto deep = copies_of(copies_of(copies_of(copies_of(vector_of(2, 1, 3), 2, 10), 2, 40), 2, 200), 2, 1000);
  EXPECT_EQ(transfer::shape_of(deep).dimensions.size(), 5U);
  EXPECT_EQ(transfer::shape_of(deep).core.size(), 1U);
  // One more than there is room for: what is left is a list.
  const Shape deeper = transfer::shape_of(copies_of(deep, 2, 9000));
  EXPECT_EQ(deeper.dimensions.size(), transfer::kMostShapeDimensions);
  EXPECT_EQ(deeper.core.size(), 2U);
  // Overlaps and a stride of 0 are as good as others.
  EXPECT_EQ(words(transfer::shape_of(vector_of(3, 8, 4))), "3 every 4, 1 blocks of 8 from 0");
  EXPECT_EQ(words(transfer::shape_of(vector_of(3, 8, 0))), "3 every 0, 1 blocks of 8 from 0");
}

TEST(Shape, IsARepeatedList_WhenOnlyAPartIsIrregular) {
  const std::vector<Block> record = {{0, 4}, {8, 8}, {24, 1}};
  EXPECT_EQ(words(transfer::shape_of(record)), "3 blocks of 13 from 0");
  EXPECT_EQ(words(transfer::shape_of(copies_of(record, 7, 32))), "7 every 32, 3 blocks of 13 from 0");
  EXPECT_EQ(words(transfer::shape_of(copies_of(copies_of(record, 7, 32), 2, 1000))),
            "2 every 1000, 7 every 32, 3 blocks of 13 from 0");
  auto nearly = copies_of(record, 7, 32);
  ++nearly.back().size_bytes;
  EXPECT_EQ(transfer::shape_of(nearly).core.size(), 21U);
  nearly = vector_of(8, 4, 16);
  nearly[5].offset_bytes += 4;
  EXPECT_EQ(transfer::shape_of(nearly).core.size(), 8U);
}

TEST(Shape, HasAsFewDimensionsAsSayIt_WhenElementsFollowEachOther) {
  sluice_layout_t layout;
  // Elements of a vector that go on in its stride; and a run behind a lower bound, which is no gap.
  ASSERT_TRUE(transfer::describe_elements(transfer::shape_of(vector_of(4, 8, 16)), {}, 10, 64, &layout));
  EXPECT_EQ(layout.n_dimensions, 1U);
  EXPECT_EQ(layout.dimensions[0].count, 40U);
  ASSERT_TRUE(transfer::describe_elements(transfer::shape_of(vector_of(1, 16, 0, 32)), {}, 10, 16, &layout));
  EXPECT_EQ(layout.n_dimensions, 0U);
  EXPECT_EQ(layout.core_bytes, 160U);
  ASSERT_TRUE(transfer::describe_elements(transfer::shape_of(vector_of(4, 8, 16)), {}, 10, 72, &layout));
  EXPECT_EQ(layout.n_dimensions, 2U);
}

// The payload of `count` elements at `origin`, walked through.
std::vector<unsigned char> gather(const unsigned char *origin, const std::vector<Block> &blocks, std::int64_t extent,
                                  std::uint64_t count) {
  std::vector<unsigned char> packed;
  for (std::uint64_t e = 0; e < count; ++e) {
    for (const Block &block : blocks) {
      const unsigned char *from = origin + static_cast<std::int64_t>(e) * extent + block.offset_bytes;
      packed.insert(packed.end(), from, from + block.size_bytes);
    }
  }
  return packed;
}

struct Case {
  std::vector<Block> blocks;
  std::int64_t extent = 0;
  std::uint64_t count = 1;
  std::size_t shift = 0;         // of the memory from a boundary of 64 bytes
  std::size_t packed_shift = 0;  // of the memory beside it
  unsigned n_items = 1;
};

// Lays the memory of a case out, and moves parts of it by the kernel. `spoil` changes what the kernel is told.
class Trial {
 public:
  explicit Trial(const Case &given) : case_(given), memory_(kRoom), packed_(kRoom) {
    std::mt19937_64 random(given.blocks.size() + given.count);
    for (unsigned char &byte : memory_) byte = static_cast<unsigned char>(random());
    shape_ = transfer::shape_of(given.blocks);
    list_ = transfer::list_of(shape_);
    low_ = 0;
    high_ = 0;
    bool is_first = true;
    for (std::uint64_t e = 0; e < given.count; ++e) {
      for (const Block &block : given.blocks) {
        const std::int64_t begin = static_cast<std::int64_t>(e) * given.extent + block.offset_bytes;
        low_ = is_first ? begin : std::min(low_, begin);
        high_ = is_first ? begin : std::max(high_, begin + static_cast<std::int64_t>(block.size_bytes));
        high_ = std::max(high_, begin + static_cast<std::int64_t>(block.size_bytes));
        is_first = false;
      }
    }
  }

  unsigned char *origin() { return memory_.data() + kRoom / 2 + case_.shift; }
  unsigned char *beside() { return packed_.data() + kRoom / 2 + case_.packed_shift; }
  transfer::CoreList *list() { return &list_; }
  int n_with_long_blocks() const { return n_with_long_blocks_; }

  // What one call moves; "" or why there was none.
  std::string run(sluice_pack_direction_t direction, sluice_pack_form_t form, std::uint64_t first, std::uint64_t size) {
    sluice_pack_t pack{};
    pack.direction = direction;
    pack.form = form;
    if (!transfer::describe_elements(shape_, list_, case_.count, case_.extent, &pack.layout)) return "overflow";
    pack.layout.list = list_.words.data();
    pack.origin = origin() + shape_.core_offset;
    pack.beside = beside() + (form == SLUICE_IMAGE ? shape_.core_offset : 0);
    pack.lowest_bytes = low_ - shape_.core_offset;
    pack.span_bytes = static_cast<std::uint64_t>(high_ - low_);
    pack.first_bytes = first;
    pack.size_bytes = size;
    kernels::PackTask task;
    const backends::Outcome made = backends::make_pack_task(&pack, &task);
    if (!made.is_success()) return made.text;
    n_with_long_blocks_ += task.has_long_blocks != 0 ? 1 : 0;
    for (unsigned item = 0; item < case_.n_items; ++item) kernels::pack_share(task, item, case_.n_items);
    return "";
  }

  // "" or what is wrong with packing and unpacking `size` bytes from `first` on, packed and as an image.
  std::string check(std::uint64_t first, std::uint64_t size) {
    const auto all = gather(origin(), case_.blocks, case_.extent, case_.count);
    const std::vector<unsigned char> payload(all.begin() + static_cast<std::ptrdiff_t>(first),
                                             all.begin() + static_cast<std::ptrdiff_t>(first + size));
    std::fill(packed_.begin(), packed_.end(), kPoison);
    if (std::string why = run(SLUICE_PACK, SLUICE_PACKED, first, size); !why.empty()) return why;
    std::vector<unsigned char> wanted(kRoom, kPoison);
    std::copy(payload.begin(), payload.end(), wanted.begin() + (beside() - packed_.data()));
    if (packed_ != wanted) return "packed";
    const std::vector<unsigned char> before = memory_;
    std::fill(memory_.begin(), memory_.end(), kPoison);
    if (std::string why = run(SLUICE_UNPACK, SLUICE_PACKED, first, size); !why.empty()) return why;
    if (memory_ != spread(before, first, size)) return "unpacked";
    return first == 0 && size == all.size() ? check_image(before) : "";
  }

 private:
  static constexpr std::size_t kRoom = std::size_t{1} << 16;
  static constexpr unsigned char kPoison = 0xA5;

  // Poison, with those bytes of `before` that the part names.
  std::vector<unsigned char> spread(const std::vector<unsigned char> &before, std::uint64_t first, std::uint64_t size) {
    std::vector<unsigned char> wanted(kRoom, kPoison);
    std::uint64_t position = 0;
    for (std::uint64_t e = 0; e < case_.count; ++e) {
      for (const Block &block : case_.blocks) {
        for (std::uint64_t b = 0; b < block.size_bytes; ++b, ++position) {
          if (position < first || position >= first + size) continue;
          const auto at =
              static_cast<std::size_t>(origin() - memory_.data() + static_cast<std::int64_t>(e) * case_.extent +
                                       block.offset_bytes + static_cast<std::int64_t>(b));
          wanted[at] = before[at];
        }
      }
    }
    return wanted;
  }

  std::string check_image(const std::vector<unsigned char> &before) {
    const std::size_t payload = gather(origin(), case_.blocks, case_.extent, case_.count).size();
    memory_ = before;
    std::fill(packed_.begin(), packed_.end(), kPoison);
    if (std::string why = run(SLUICE_PACK, SLUICE_IMAGE, 0, payload); !why.empty()) return why;
    const auto image = gather(beside(), case_.blocks, case_.extent, case_.count);
    if (image != gather(origin(), case_.blocks, case_.extent, case_.count)) return "image";
    std::fill(memory_.begin(), memory_.end(), kPoison);
    if (std::string why = run(SLUICE_UNPACK, SLUICE_IMAGE, 0, payload); !why.empty()) return why;
    return memory_ == spread(before, 0, payload) ? "" : "from an image";
  }

  Case case_;
  std::vector<unsigned char> memory_;
  std::vector<unsigned char> packed_;
  Shape shape_;
  transfer::CoreList list_;
  std::int64_t low_ = 0;
  std::int64_t high_ = 0;
  int n_with_long_blocks_ = 0;
};

// Blocks that do not overlap, of sizes and gaps that are multiples of `unit`.
std::vector<Block> random_blocks(std::mt19937_64 *random, std::uint64_t unit, std::uint64_t n) {
  const bool is_uniform = (*random)() % 2 == 0;
  const std::uint64_t size = ((*random)() % 4 + 1) * unit;
  std::vector<Block> blocks;
  auto next = static_cast<std::int64_t>(unit);
  for (std::uint64_t k = 0; k < n; ++k) {
    const std::uint64_t bytes = is_uniform ? size : ((*random)() % 6 + 1) * unit;
    blocks.push_back({next, bytes});
    next += static_cast<std::int64_t>(bytes + ((*random)() % 4 + 1) * unit);
  }
  if ((*random)() % 2 == 0) std::shuffle(blocks.begin(), blocks.end(), *random);
  return blocks;
}

TEST(Packing, MovesWhatTheBlocksName_WhenLayoutsAreRandom) {
  std::mt19937_64 random(20261122);
  for (int k = 0; k < 300; ++k) {
    const std::uint64_t unit = std::uint64_t{1} << (random() % 5);
    Case given;
    given.blocks = random_blocks(&random, unit, random() % 12 + 1);
    std::int64_t extent = 0;
    for (const Block &block : given.blocks) {
      extent = std::max(extent, block.offset_bytes + static_cast<std::int64_t>(block.size_bytes));
    }
    extent += static_cast<std::int64_t>(unit);
    const std::uint64_t repeats = random() % 3 + 1;
    given.blocks = copies_of(given.blocks, repeats, extent);
    given.extent = extent * static_cast<std::int64_t>(repeats) + static_cast<std::int64_t>(random() % 3 * unit);
    given.count = random() % 3 + 1;
    given.shift = random() % 3 == 0 ? random() % 16 : 0;
    given.packed_shift = random() % 3 == 0 ? random() % 16 : 0;
    given.n_items = static_cast<unsigned>(random() % 7 + 1);
    Trial trial(given);
    const std::uint64_t all = gather(trial.origin(), given.blocks, given.extent, given.count).size();
    ASSERT_EQ(trial.check(0, all), "") << "case " << k;
    const std::uint64_t first = random() % all;
    ASSERT_EQ(trial.check(first, random() % (all - first) + 1), "") << "a part of case " << k;
  }
}

// Blocks in whose list an item searches once for several units: all lengths that 32 and more items side by side can
// begin and end in.
TEST(Packing, MovesWhatTheBlocksName_WhenBlocksAreLongAndUneven) {
  std::mt19937_64 random(20261123);
  for (int k = 0; k < 200; ++k) {
    const std::uint64_t unit = std::uint64_t{1} << (random() % 4);
    Case given;
    std::int64_t next = 0;
    const std::uint64_t n_blocks = random() % 5 + 2;
    for (std::uint64_t b = 0; b < n_blocks; ++b) {
      // The second differs from the first for certain.
      const std::uint64_t units = b == 0 ? 128 : b == 1 ? 127 : random() % 10 == 0 ? 1 : random() % 200 + 32;
      given.blocks.push_back({next, units * unit});
      next += static_cast<std::int64_t>((units + random() % 3 + 1) * unit);
    }
    std::shuffle(given.blocks.begin(), given.blocks.end(), random);
    given.extent = next;
    given.count = random() % 3 + 1;
    given.shift = random() % 4 == 0 ? random() % 8 : 0;
    given.packed_shift = random() % 4 == 0 ? random() % 8 : 0;
    given.n_items = std::vector<unsigned>{1, 7, 32, 64, 512}[random() % 5];
    Trial trial(given);
    const std::uint64_t all = gather(trial.origin(), given.blocks, given.extent, given.count).size();
    ASSERT_EQ(trial.check(0, all), "") << "case " << k;
    ASSERT_EQ(trial.n_with_long_blocks(), 4) << "case " << k;  // packed and unpacked, the same as an image
    const std::uint64_t first = random() % all;
    ASSERT_EQ(trial.check(first, random() % (all - first) + 1), "") << "a part of case " << k;
  }
}

TEST(Packing, MovesBackwards_WhenStridesAreNegative) {
  for (const std::int64_t extent : {-400, -8, 400}) {
    Trial trial({vector_of(5, 8, -64, 300), extent, 3, 3, 5, 4});
    EXPECT_EQ(trial.check(0, 120), "") << extent;
  }
}

// The proof that the comparison sees what it is there for.
TEST(PackingMutation, IsNoticed_WhenAWordOfTheListIsWrong) {
  const std::vector<Block> uneven = {{0, 4}, {8, 12}, {40, 4}, {64, 8}, {100, 16}};
  const std::vector<Block> even = {{0, 8}, {24, 8}, {32, 8}, {80, 8}};
  for (const std::vector<Block> &blocks : {uneven, even}) {
    for (std::size_t word = 0; word < blocks.size(); ++word) {
      Trial trial({blocks, 256, 2, 0, 0, 3});
      ++trial.list()->words[word];
      EXPECT_NE(trial.check(0, trial.list()->block_units != 0 ? 64 : 88), "") << word;
    }
  }
}

TEST(PackTask, DividesAsTheProcessorDoes_WhenDivisorsAreAwkward) {
  std::mt19937_64 random(7);
  std::vector<std::uint32_t> numbers = {0,     1,          2,          3,          7,          255,       256,
                                        65535, 0x7FFFFFFF, 0x80000000, 0x80000001, 0xFFFFFFFE, 0xFFFFFFFF};
  for (int k = 0; k < 200; ++k) numbers.push_back(static_cast<std::uint32_t>(random() >> (random() % 32 + 32)));
  for (const std::uint32_t divisor : numbers) {
    if (divisor == 0) continue;
    const kernels::Divisor made = backends::make_divisor(divisor);
    for (const std::uint32_t number : numbers) {
      ASSERT_EQ(kernels::divide<false>(number, made), number / divisor) << number << " by " << divisor;
    }
  }
}

TEST(PackTask, IsWide_WhenNumbersOfUnitsNeedMoreThan32Bits) {
  sluice_pack_t pack{};
  pack.layout.core_bytes = 1;
  pack.layout.n_dimensions = 1;
  pack.layout.dimensions[0] = {std::uint64_t{3} << 32U, 2};
  pack.span_bytes = std::uint64_t{6} << 32U;
  pack.first_bytes = (std::uint64_t{2} << 32U) + 5;
  pack.size_bytes = 3;
  std::vector<unsigned char> packed(3);
  pack.beside = packed.data();
  std::vector<unsigned char> memory = {1, 2, 3, 4, 5, 6, 7, 8};
  // Only the bytes that are moved are there.
  pack.origin = reinterpret_cast<void *>(reinterpret_cast<std::intptr_t>(memory.data()) -
                                         static_cast<std::intptr_t>(2 * pack.first_bytes));
  kernels::PackTask task;
  ASSERT_TRUE(backends::make_pack_task(&pack, &task).is_success());
  EXPECT_EQ(task.is_wide, 1U);
  kernels::pack_share(task, 0, 1);
  EXPECT_EQ(packed, (std::vector<unsigned char>{1, 3, 5}));
}

TEST(PackTask, IsRefused_WhenNumbersMakeNoSense) {
  unsigned char byte = 0;
  sluice_pack_t good{};
  good.layout.core_bytes = 8;
  good.layout.n_dimensions = 1;
  good.layout.dimensions[0] = {4, 16};
  good.origin = &byte;
  good.beside = &byte;
  good.span_bytes = 56;
  good.size_bytes = 32;
  kernels::PackTask task;
  ASSERT_TRUE(backends::make_pack_task(&good, &task).is_success());
  const auto refused = [&](auto change) {
    sluice_pack_t bad = good;
    change(&bad);
    return backends::make_pack_task(&bad, &task).result;
  };
  EXPECT_EQ(backends::make_pack_task(nullptr, &task).result, SLUICE_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(refused([](auto *bad) { bad->size_bytes = 33; }), SLUICE_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(refused([](auto *bad) { bad->first_bytes = 1; }), SLUICE_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(refused([](auto *bad) { bad->layout.n_dimensions = 7; }), SLUICE_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(refused([](auto *bad) { bad->layout.dimensions[0].count = 0; }), SLUICE_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(refused([](auto *bad) { bad->layout.dimensions[0].count = UINT64_MAX; }), SLUICE_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(refused([](auto *bad) { bad->layout.n_blocks = 2; }), SLUICE_ERROR_INVALID_ARGUMENT);  // without a list
  EXPECT_EQ(refused([](auto *bad) { bad->span_bytes = 0; }), SLUICE_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(refused([](auto *bad) { bad->size_bytes = 0; }), SLUICE_SUCCESS);
}

}  // namespace
}  // namespace sluice::tests::packing_test
