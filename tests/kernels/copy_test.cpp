// SPDX-License-Identifier: BSD-3-Clause
// The kernel that makes several copies, on the host: every place within a word, lengths around the words', any number
// of items in any order.
#include "copy.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <functional>
#include <string>
#include <vector>

namespace {

using namespace sluice::kernels;

constexpr std::size_t kGuardBytes = 32;
constexpr unsigned char kPoison = 0xA5;

struct Shape {
  std::size_t size_bytes;
  std::size_t src_shift;
  std::size_t dst_shift;
};

using Runner = std::function<void(const CopyTask &task)>;

// Runs copies of these shapes at once. "" or what is wrong with a destination, what lies around it, or a source.
std::string check(const std::vector<Shape> &shapes, const Runner &run) {
  std::vector<std::vector<unsigned char>> sources;
  std::vector<std::vector<unsigned char>> dsts;
  CopyTask task = {};
  for (const Shape &shape : shapes) {
    auto &source = sources.emplace_back(shape.size_bytes + 2 * kGuardBytes);
    for (std::size_t i = 0; i < source.size(); ++i) {
      source[i] = static_cast<unsigned char>(i * 7 + i / 251 + 31 * sources.size());
    }
    auto &dst = dsts.emplace_back(shape.size_bytes + 2 * kGuardBytes, kPoison);
    task.copies[task.n_copies++] = {dst.data() + shape.dst_shift, source.data() + shape.src_shift, shape.size_bytes};
  }
  const std::vector<std::vector<unsigned char>> untouched = sources;
  run(task);
  for (std::size_t k = 0; k < shapes.size(); ++k) {
    std::vector<unsigned char> wanted(dsts[k].size(), kPoison);
    for (std::size_t i = 0; i < shapes[k].size_bytes; ++i) {
      wanted[shapes[k].dst_shift + i] = untouched[k][shapes[k].src_shift + i];
    }
    if (dsts[k] != wanted)
      return "copy " + std::to_string(k) + " of " + std::to_string(shapes[k].size_bytes) + " bytes";
    if (sources[k] != untouched[k]) return "the source of copy " + std::to_string(k) + " has changed";
  }
  return "";
}

void run_whole(const CopyTask &task) {
  copy_share(task, 0, 1);
}

}  // namespace

TEST(CopyKernel, CopiesEveryByte_WhereverItLies) {
  for (const std::size_t size_bytes : {0U, 1U, 3U, 4U, 15U, 16U, 17U, 31U, 64U, 255U, 1000U}) {
    for (std::size_t src_shift = 0; src_shift < 17; ++src_shift) {
      for (std::size_t dst_shift = 0; dst_shift < 17; ++dst_shift) {
        ASSERT_EQ(check({{size_bytes, src_shift, dst_shift}}, run_whole), "") << src_shift << " " << dst_shift;
      }
    }
  }
}

TEST(CopyKernel, DoesTheSame_WithAnyNumberOfItemsInAnyOrder) {
  const std::vector<Shape> shapes = {{5000, 0, 0}, {1, 3, 8},   {0, 0, 0}, {777, 5, 5},
                                     {4096, 4, 8}, {333, 1, 2}, {16, 0, 0}};
  for (const std::uint64_t n_items : {1U, 2U, 6U, 7U, 8U, 13U, 64U, 700U, 5000U}) {
    const auto run = [n_items](const CopyTask &task) {
      for (std::uint64_t item = n_items; item-- > 0;) copy_share(task, item, n_items);
    };
    ASSERT_EQ(check(shapes, run), "") << n_items << " items";
  }
}

TEST(CopyKernel, TakesAsManyCopiesAsItSays) {
  std::vector<Shape> shapes;
  for (std::size_t k = 0; k < kMaxCopies; ++k) shapes.push_back({100 * k + k % 5, k, 2 * k});
  EXPECT_EQ(check(shapes, run_whole), "");
  EXPECT_EQ(check({}, run_whole), "");
}

// An element of `size_bytes` and its three companions, `shift` bytes behind what is aligned, with poison around them.
// `first_difference`: the byte of what is expected that differs; size_bytes for none. "" or what is wrong.
std::string check_swap(std::size_t size_bytes, std::size_t shift, std::size_t first_difference, const Runner &run) {
  constexpr std::size_t kRoomBytes = 64;
  enum Part { kTarget, kCompare, kOperand, kBefore, kParts };
  alignas(16) std::array<std::array<unsigned char, kRoomBytes>, kParts> memory;
  for (auto &part : memory) part.fill(kPoison);
  for (std::size_t i = 0; i < size_bytes; ++i) {
    memory[kTarget][shift + i] = static_cast<unsigned char>(3 * i + size_bytes + shift);
    memory[kCompare][shift + i] = memory[kTarget][shift + i];
    memory[kOperand][shift + i] = static_cast<unsigned char>(5 * i + 2 * size_bytes + shift + 1);
  }
  const bool is_equal = first_difference >= size_bytes;
  if (!is_equal) memory[kCompare][shift + first_difference] ^= 0x80U;
  auto wanted = memory;
  const auto copy = [&](Part to, Part from) {
    std::copy_n(memory[from].begin() + static_cast<std::ptrdiff_t>(shift), size_bytes,
                wanted[to].begin() + static_cast<std::ptrdiff_t>(shift));
  };
  copy(kBefore, kTarget);
  if (is_equal) copy(kTarget, kOperand);
  CopyTask task = {};
  task.n_copies = 3;
  task.copies[0] = {memory[kBefore].data() + shift, memory[kTarget].data() + shift, size_bytes};
  task.copies[1] = {memory[kTarget].data() + shift, memory[kOperand].data() + shift, size_bytes};
  task.copies[2] = {memory[kBefore].data() + shift, memory[kCompare].data() + shift, size_bytes};
  run(task);
  for (const Part part : {kTarget, kCompare, kOperand, kBefore}) {
    if (memory[part] != wanted[part]) return "part " + std::to_string(part) + " differs";
  }
  return "";
}

TEST(CopyKernel, SwapsAnElement_IfItIsWhatIsExpected_ByOneOfItsItems) {
  for (const std::uint64_t n_items : {1U, 2U, 32U, 513U}) {
    const auto run = [n_items](const CopyTask &task) {
      for (std::uint64_t item = n_items; item-- > 0;) copy_share(task, item, n_items);
    };
    for (std::size_t size_bytes = 1; size_bytes <= kMaxSwapBytes; ++size_bytes) {
      for (const std::size_t shift : {0U, 1U, 2U, 4U, 8U, 15U}) {
        for (std::size_t differing = 0; differing <= size_bytes; ++differing) {
          ASSERT_EQ(check_swap(size_bytes, shift, differing, run), "")
              << size_bytes << " bytes at " << shift << ", byte " << differing << " differs, " << n_items << " items";
        }
      }
    }
  }
}

TEST(CopyKernel, IsNoticed_WhenItSwapsWrongly) {
  const auto copies = [](CopyTask task) {
    task.n_copies = 2;  // whatever is expected
    run_whole(task);
  };
  EXPECT_NE(check_swap(8, 0, 3, copies), "");
  const auto nothing = [](const CopyTask & /*task*/) {};
  EXPECT_NE(check_swap(8, 0, 8, nothing), "");
}

TEST(CopyKernel, IsNoticed_WhenItIsSpoiled) {
  const std::vector<Shape> shapes = {{100, 0, 0}, {200, 1, 2}};
  EXPECT_NE(check(shapes,
                  [](CopyTask task) {
                    --task.n_copies;
                    run_whole(task);
                  }),
            "");
  EXPECT_NE(check(shapes,
                  [](CopyTask task) {
                    ++task.copies[1].size_bytes;
                    run_whole(task);
                  }),
            "");
  EXPECT_NE(check(shapes, [](const CopyTask &task) { copy_share(task, 0, 3); }), "");
}
