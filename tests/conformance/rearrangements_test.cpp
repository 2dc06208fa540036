// SPDX-License-Identifier: BSD-3-Clause
// The group `pack` with a layout on both sides: data moved from where one says to where the other does by one command,
// against a plain walk through the bytes.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "memory.h"
#include "module_under_test.h"
#include "pack_case.h"
#include "pattern.h"
#include "random_layout.hpp"

using conformance::Memory;
using conformance::Queue;
using conformance::table;
using kernels_test::LayoutMaker;
using kernels_test::RandomLayout;

namespace conformance::rearrangements_test {
namespace {

constexpr size_t kRoomBytes = 16384;
constexpr size_t kOrigin = kRoomBytes / 2;

std::string wait(sluice_queue_t *queue) {
  const sluice_result_t result = await(table(), queue, SLUICE_SUCCESS);
  return result == SLUICE_SUCCESS ? "" : conformance::describe(result);
}

// A side of a move: memory of the device, or of the host for one that the program pinned.
struct End {
  RandomLayout layout;
  size_t shift = 0;
};

class Mover {
 public:
  explicit Mover(sluice_queue_t *queue) : queue_(queue) {}
  ~Mover() {
    for (void *list : lists_) EXPECT_EQ(table().device_free(0, list), SLUICE_SUCCESS);
  }
  Mover(const Mover &) = delete;
  Mover &operator=(const Mover &) = delete;

  std::string prepare(sluice_memory_kind_t kind_read) {
    std::string why = Memory::make(kind_read, 0, kRoomBytes, &read_);
    if (why.empty()) why = Memory::make(SLUICE_MEMORY_DEVICE, 0, kRoomBytes, &written_);
    for (void *&list : lists_) {
      if (!why.empty()) break;
      const sluice_result_t result = table().device_alloc(0, kListBytes, &list);
      if (result != SLUICE_SUCCESS) why = conformance::describe(result);
    }
    return why;
  }

  // "" or what is wrong with moving bytes `first` to `first + size`.
  std::string check(End from, End to, sluice_pack_direction_t direction, uint64_t first, uint64_t size) {
    std::string why = place_list(&from, 0);
    if (why.empty()) why = place_list(&to, 1);
    std::mt19937 random(static_cast<unsigned>(first * 3 + size));
    std::vector<std::byte> content(kRoomBytes);
    for (std::byte &byte : content) byte = static_cast<std::byte>(random());
    const std::vector<std::byte> blank(kRoomBytes, kPoison);
    if (why.empty()) why = read_.write(content);
    if (why.empty()) why = written_.write(blank);
    if (!why.empty()) return why;
    const sluice_pack_t pack = pack_of(from, to, direction, first, size);
    const sluice_result_t result = table().enqueue_pack(queue_, &pack);
    if (result != SLUICE_SUCCESS) return conformance::describe(result);
    if (why = wait(queue_); !why.empty()) return why;
    std::vector<std::byte> wanted = blank;
    for (uint64_t i = first; i < first + size; ++i) {
      wanted[at(to, i)] = content[at(from, i)];
    }
    std::vector<std::byte> got;
    std::vector<std::byte> source;
    why = written_.read(&got);
    if (why.empty()) why = read_.read(&source);
    if (!why.empty()) return why;
    if (source != content) return "what is read was written";
    const auto differs = std::mismatch(got.begin(), got.end(), wanted.begin());
    return differs.first == got.end() ? "" : "byte " + std::to_string(differs.first - got.begin()) + " of the room";
  }

  sluice_pack_t pack_of(const End &from, const End &to, sluice_pack_direction_t direction, uint64_t first,
                        uint64_t size) const {
    const bool is_packing = direction == SLUICE_PACK;
    const End &inside = is_packing ? from : to;
    const End &beside = is_packing ? to : from;
    sluice_pack_t pack{};
    pack.direction = direction;
    pack.form = SLUICE_LAID_OUT;
    pack.layout = inside.layout.layout;
    pack.origin = (is_packing ? read_ : written_).data() + kOrigin + inside.shift;
    pack.lowest_bytes = inside.layout.lowest_bytes;
    pack.span_bytes = inside.layout.span_bytes;
    pack.beside_layout = beside.layout.layout;
    pack.beside = (is_packing ? written_ : read_).data() + kOrigin + beside.shift;
    pack.beside_lowest_bytes = beside.layout.lowest_bytes;
    pack.beside_span_bytes = beside.layout.span_bytes;
    pack.first_bytes = first;
    pack.size_bytes = size;
    return pack;
  }

 private:
  static constexpr size_t kListBytes = 4096;

  static size_t at(const End &end, uint64_t i) {
    return static_cast<size_t>(static_cast<int64_t>(kOrigin + end.shift) + end.layout.offsets[i]);
  }

  std::string place_list(End *end, size_t which) {
    RandomLayout &layout = end->layout;
    if (layout.words.empty()) return "";
    if (layout.layout.list_bytes > kListBytes) return "the list is longer than the room for it";
    layout.layout.list = lists_[which];
    const sluice_result_t result = table().copy(queue_, lists_[which], layout.words.data(), layout.layout.list_bytes);
    return result == SLUICE_SUCCESS ? "" : conformance::describe(result);
  }

  sluice_queue_t *queue_;
  Memory read_;
  Memory written_;
  void *lists_[2] = {nullptr, nullptr};
};

uint64_t common_bytes(const End &from, const End &to) {
  return std::min(from.layout.offsets.size(), to.layout.offsets.size());
}

TEST(Rearrangements, MoveWhatBothLayoutsName_WhenTheyAreRandom) {
  SKIP_WITHOUT_PACK_GROUP();
  const Queue queue(0);
  ASSERT_EQ(queue.problem(), "");
  LayoutMaker maker(20261123);
  for (const sluice_memory_kind_t kind : {SLUICE_MEMORY_DEVICE, SLUICE_MEMORY_PINNED}) {
    Mover mover(queue.get());
    ASSERT_EQ(mover.prepare(kind), "");
    for (int k = 0; k < 40; ++k) {
      const uint64_t unit = uint64_t{1} << maker.below(5);
      const uint64_t other = maker.below(3) == 0 ? uint64_t{1} << maker.below(5) : unit;
      const auto shift = [&] { return maker.below(3) == 0 ? maker.below(16) : 0; };
      const End from{maker.make(unit, kOrigin, true), shift()};
      const End to{maker.make(other, kOrigin, false), shift()};
      SCOPED_TRACE(std::to_string(k) + ": " + from.layout.how + " to " + to.layout.how);
      const auto direction = maker.below(2) == 0 ? SLUICE_PACK : SLUICE_UNPACK;
      const uint64_t all = common_bytes(from, to);
      ASSERT_EQ(mover.check(from, to, direction, 0, all), "");
      const uint64_t first = maker.below(all);
      ASSERT_EQ(mover.check(from, to, direction, first, maker.below(all - first) + 1), "") << "from " << first;
    }
  }
}

// Rows of one allocation, whose gaps hold the other's rows; longer than one pass of the kernel's items.
TEST(Rearrangements, KeepTheOrderOfTheQueue_WhenBothLayoutsLieInOneAllocation) {
  SKIP_WITHOUT_PACK_GROUP();
  const Queue queue(0);
  ASSERT_EQ(queue.problem(), "");
  constexpr size_t kRows = 4096;
  constexpr size_t kRow = 48;
  constexpr size_t kBytes = kRows * 4 * kRow;
  MAKE_MEMORY_OR_SKIP(memory, SLUICE_MEMORY_DEVICE, 0, kBytes);
  MAKE_MEMORY_OR_SKIP(host, SLUICE_MEMORY_PINNED, 0, kBytes);
  std::vector<std::byte> content(kBytes);
  for (size_t i = 0; i < content.size(); ++i) content[i] = static_cast<std::byte>(i * 7 + i / 251);
  ASSERT_EQ(host.write(content), "");
  // Rows 4k, in this order, become rows 4k + 2, from the last to the first, each in pieces of 16.
  sluice_pack_t pack{};
  pack.form = SLUICE_LAID_OUT;
  pack.layout.n_dimensions = 1;
  pack.layout.dimensions[0] = {kRows, 4 * kRow};
  pack.layout.core_bytes = kRow;
  pack.origin = memory.data();
  pack.span_bytes = kBytes - 3 * kRow;
  pack.beside_layout.n_dimensions = 2;
  pack.beside_layout.dimensions[0] = {kRows, -static_cast<int64_t>(4 * kRow)};
  pack.beside_layout.dimensions[1] = {kRow / 16, 16};
  pack.beside_layout.core_bytes = 16;
  pack.beside = memory.data() + kBytes - 2 * kRow;
  pack.beside_lowest_bytes = -static_cast<int64_t>((kRows - 1) * 4 * kRow);
  pack.beside_span_bytes = kBytes - 3 * kRow;
  pack.size_bytes = kRows * kRow;
  const sluice_copy_t down = {memory.data(), host.data(), kBytes};
  ASSERT_OK(table().enqueue_copies(queue.get(), &down, 1));
  ASSERT_OK(table().enqueue_pack(queue.get(), &pack));
  const sluice_copy_t up = {host.data(), memory.data(), kBytes};
  ASSERT_OK(table().enqueue_copies(queue.get(), &up, 1));
  ASSERT_EQ(wait(queue.get()), "");
  std::vector<std::byte> wanted = content;
  for (size_t k = 0; k < kRows; ++k) {
    const auto row = content.begin() + static_cast<ptrdiff_t>(4 * k * kRow);
    std::copy(row, row + kRow, wanted.begin() + static_cast<ptrdiff_t>((4 * (kRows - 1 - k) + 2) * kRow));
  }
  for (size_t i = 0; i < kBytes; ++i) ASSERT_EQ(host.data()[i], wanted[i]) << i;
}

TEST(Rearrangements, EnqueueNothing_WhenTheNumbersMakeNoSense) {
  SKIP_WITHOUT_PACK_GROUP();
  const Queue queue(0);
  ASSERT_EQ(queue.problem(), "");
  LayoutMaker maker(3);
  Mover mover(queue.get());
  ASSERT_EQ(mover.prepare(SLUICE_MEMORY_DEVICE), "");
  End from{maker.make(8, kOrigin, false)};
  while (!from.layout.words.empty()) from.layout = maker.make(8, kOrigin, false);
  const End to = from;
  const uint64_t all = common_bytes(from, to);
  const sluice_pack_t good = mover.pack_of(from, to, SLUICE_PACK, 0, all);
  const auto refused = [&](auto change) {
    sluice_pack_t bad = good;
    change(&bad);
    const sluice_result_t result = table().enqueue_pack(queue.get(), &bad);
    EXPECT_TRUE(result == SLUICE_SUCCESS || *table().last_error() != '\0') << "an error without a text";
    return result;
  };
  EXPECT_EQ(refused([](auto *bad) { ++bad->size_bytes; }), SLUICE_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(refused([](auto *bad) { bad->beside_layout.n_dimensions = SLUICE_PACK_MAX_DIMENSIONS + 1; }),
            SLUICE_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(refused([](auto *bad) { bad->beside_layout.core_bytes = 0; }), SLUICE_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(refused([](auto *bad) { bad->beside_layout.n_blocks = 1; }), SLUICE_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(refused([](auto *bad) { bad->beside_span_bytes = 0; }), SLUICE_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(refused([](auto *bad) { bad->form = static_cast<sluice_pack_form_t>(3); }), SLUICE_ERROR_INVALID_ARGUMENT);
  EXPECT_OK(refused([](auto *bad) { bad->size_bytes = 0; }));
  // A range that ends where no memory is: looked at on either side as with one layout, where backends look at all.
  constexpr uint64_t kFar = uint64_t{1} << 40;
  const sluice_result_t one = refused([](auto *bad) {
    bad->form = SLUICE_PACKED;
    bad->span_bytes = kFar;
  });
  EXPECT_EQ(refused([](auto *bad) { bad->span_bytes = kFar; }), one);
  EXPECT_EQ(refused([](auto *bad) { bad->beside_span_bytes = kFar; }), one);
  EXPECT_EQ(wait(queue.get()), "");
  EXPECT_EQ(mover.check(from, to, SLUICE_PACK, 0, all), "");  // the queue is as good as before
}

}  // namespace

}  // namespace conformance::rearrangements_test
