// SPDX-License-Identifier: BSD-3-Clause
// From one layout to another: the numbers of the contract and the kernel's body, against a plain walk through the
// bytes.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "backends/packing.h"
#include "tests/kernels/random_layout.hpp"

namespace sluice::tests::rearranging_test {
namespace {

using kernels_test::LayoutMaker;
using kernels_test::RandomLayout;

constexpr std::size_t kRoom = std::size_t{1} << 15;
constexpr unsigned char kPoison = 0xA5;

// Where a layout lies in its room: aligned to 64 but for `shift`.
struct End {
  RandomLayout layout;
  std::size_t shift = 0;
};

class Trial {
 public:
  Trial(End from, End to) : from_(std::move(from)), to_(std::move(to)), read_(kRoom + 64), written_(kRoom + 64) {
    std::mt19937 random(static_cast<unsigned>(from_.layout.offsets.size()));
    for (unsigned char &byte : read_) byte = static_cast<unsigned char>(random());
    from_.layout.layout.list = from_.layout.words.data();
    to_.layout.layout.list = to_.layout.words.data();
  }

  [[nodiscard]] std::uint64_t size_bytes() const {
    return std::min(from_.layout.offsets.size(), to_.layout.offsets.size());
  }
  sluice_layout_t *layout_read() { return &from_.layout.layout; }

  // The call that moves it, by either side's name.
  sluice_pack_t pack(sluice_pack_direction_t direction, std::uint64_t first, std::uint64_t size) {
    const bool is_packing = direction == SLUICE_PACK;
    const End &inside = is_packing ? from_ : to_;
    const End &beside = is_packing ? to_ : from_;
    sluice_pack_t made{};
    made.direction = direction;
    made.form = SLUICE_LAID_OUT;
    made.layout = inside.layout.layout;
    made.origin = is_packing ? origin_read() : origin_written();
    made.lowest_bytes = inside.layout.lowest_bytes;
    made.span_bytes = inside.layout.span_bytes;
    made.beside_layout = beside.layout.layout;
    made.beside = is_packing ? origin_written() : origin_read();
    made.beside_lowest_bytes = beside.layout.lowest_bytes;
    made.beside_span_bytes = beside.layout.span_bytes;
    made.first_bytes = first;
    made.size_bytes = size;
    return made;
  }

  // "" or what is wrong with moving those bytes.
  std::string check(sluice_pack_direction_t direction, std::uint64_t first, std::uint64_t size, unsigned n_items) {
    const sluice_pack_t call = pack(direction, first, size);
    kernels::RearrangeTask task;
    const backends::Outcome made = backends::make_rearrange_task(&call, &task);
    if (!made.is_success()) return made.text;
    std::fill(written_.begin(), written_.end(), kPoison);
    const std::vector<unsigned char> before = read_;
    std::vector<unsigned char> wanted = written_;
    for (std::uint64_t i = first; i < first + size; ++i) {
      const auto from = origin_read() - read_.data() + from_.layout.offsets[i];
      const auto to = origin_written() - written_.data() + to_.layout.offsets[i];
      wanted[static_cast<std::size_t>(to)] = read_[static_cast<std::size_t>(from)];
    }
    for (unsigned item = n_items; item-- > 0;) kernels::rearrange_share(task, item, n_items);
    if (read_ != before) return "what is read was written";
    return written_ == wanted ? "" : "bytes";
  }

 private:
  static unsigned char *middle(std::vector<unsigned char> *room, std::size_t shift) {
    const auto begin = reinterpret_cast<std::uintptr_t>(room->data());
    return room->data() + (64 - begin % 64) % 64 + kRoom / 2 + shift;
  }
  unsigned char *origin_read() { return middle(&read_, from_.shift); }
  unsigned char *origin_written() { return middle(&written_, to_.shift); }

  End from_;
  End to_;
  std::vector<unsigned char> read_;
  std::vector<unsigned char> written_;
};

TEST(Rearranging, MovesWhatBothLayoutsName_WhenTheyAreRandom) {
  LayoutMaker maker(20261123);
  for (int k = 0; k < 400; ++k) {
    const std::uint64_t unit = std::uint64_t{1} << maker.below(5);
    const std::uint64_t other = maker.below(3) == 0 ? std::uint64_t{1} << maker.below(5) : unit;
    const auto shift = [&] { return maker.below(3) == 0 ? maker.below(16) : 0; };
    End from{maker.make(unit, kRoom / 2, true), shift()};
    End to{maker.make(other, kRoom / 2, false), shift()};
    SCOPED_TRACE(std::to_string(k) + ": " + from.layout.how + " to " + to.layout.how);
    Trial trial(std::move(from), std::move(to));
    const auto direction = maker.below(2) == 0 ? SLUICE_PACK : SLUICE_UNPACK;
    const auto n_items = static_cast<unsigned>(maker.below(7) + 1);
    const std::uint64_t all = trial.size_bytes();
    ASSERT_EQ(trial.check(direction, 0, all, n_items), "");
    const std::uint64_t first = maker.below(all);
    ASSERT_EQ(trial.check(direction, first, maker.below(all - first) + 1, n_items), "") << "a part from " << first;
  }
}

// The proof that the comparison sees what it is there for.
TEST(RearrangingMutation, IsNoticed_WhenAStrideOrAWordIsWrong) {
  LayoutMaker maker(5);
  int n_changed = 0;
  for (int k = 0; k < 40; ++k) {
    Trial trial({maker.make(4, kRoom / 2, false), 0}, {maker.make(4, kRoom / 2, false), 0});
    sluice_layout_t *layout = trial.layout_read();
    if (layout->n_dimensions == 0 || layout->dimensions[0].count < 2 || trial.size_bytes() < 64) continue;
    // As long a payload, elsewhere: the walk does not know of it.
    std::uint64_t inner = layout->core_bytes;
    for (std::uint32_t d = 1; d < layout->n_dimensions; ++d) inner *= layout->dimensions[d].count;
    if (inner >= trial.size_bytes()) continue;
    layout->dimensions[0].stride_bytes += 4;
    EXPECT_EQ(trial.check(SLUICE_PACK, 0, trial.size_bytes(), 3), "bytes") << k;
    ++n_changed;
  }
  EXPECT_GE(n_changed, 5);
}

sluice_pack_t strides(std::uint64_t core_bytes, sluice_dimension_t from, sluice_dimension_t to, std::uintptr_t origin) {
  sluice_pack_t pack{};
  pack.form = SLUICE_LAID_OUT;
  for (sluice_layout_t *layout : {&pack.layout, &pack.beside_layout}) {
    layout->n_dimensions = 1;
    layout->core_bytes = core_bytes;
  }
  pack.layout.dimensions[0] = from;
  pack.beside_layout.dimensions[0] = to;
  pack.origin = reinterpret_cast<void *>(origin);
  pack.beside = reinterpret_cast<void *>(std::uintptr_t{4096});
  pack.span_bytes = pack.beside_span_bytes = 1 << 20;
  pack.size_bytes = core_bytes * from.count;
  return pack;
}

TEST(RearrangeTask, HasTheLargestUnitThatDividesBothLayouts) {
  const auto unit_of = [](sluice_pack_t pack) {
    kernels::RearrangeTask task;
    EXPECT_TRUE(backends::make_rearrange_task(&pack, &task).is_success());
    EXPECT_EQ(task.count << task.unit_shift, pack.size_bytes);
    return 1U << task.unit_shift;
  };
  EXPECT_EQ(unit_of(strides(64, {8, 128}, {8, 4096}, 1024)), 16U);
  EXPECT_EQ(unit_of(strides(64, {8, 128}, {8, 72}, 1024)), 8U);
  EXPECT_EQ(unit_of(strides(12, {8, 32}, {8, 16}, 1024)), 4U);
  EXPECT_EQ(unit_of(strides(64, {8, 128}, {8, 4096}, 1025)), 1U);
  // Runs of one length each: what divides both.
  sluice_pack_t pack = strides(48, {8, 64}, {8, 64}, 1024);
  pack.beside_layout.core_bytes = 8;
  pack.beside_layout.dimensions[0] = {48, 16};
  EXPECT_EQ(unit_of(pack), 8U);
}

TEST(RearrangeTask, IsWide_WhenNumbersOfUnitsNeedMoreThan32Bits) {
  sluice_pack_t pack = strides(1, {std::uint64_t{3} << 32U, 2}, {std::uint64_t{3} << 32U, 3}, 0);
  pack.first_bytes = (std::uint64_t{2} << 32U) + 5;
  pack.size_bytes = 3;
  std::vector<unsigned char> from = {1, 2, 3, 4, 5, 6, 7, 8};
  std::vector<unsigned char> to(9);
  // Only the bytes that are moved are there.
  const auto before = [&](std::vector<unsigned char> &room, std::uint64_t stride) {
    return reinterpret_cast<void *>(reinterpret_cast<std::uintptr_t>(room.data()) - stride * pack.first_bytes);
  };
  pack.origin = before(from, 2);
  pack.beside = before(to, 3);
  kernels::RearrangeTask task;
  ASSERT_TRUE(backends::make_rearrange_task(&pack, &task).is_success());
  EXPECT_EQ(task.is_wide, 1U);
  kernels::rearrange_share(task, 0, 1);
  EXPECT_EQ(to, (std::vector<unsigned char>{1, 0, 0, 3, 0, 0, 5, 0, 0}));
}

TEST(RearrangeTask, IsRefused_WhenEitherLayoutMakesNoSense) {
  const sluice_pack_t good = strides(8, {4, 16}, {4, 24}, 1024);
  kernels::RearrangeTask task;
  ASSERT_TRUE(backends::make_rearrange_task(&good, &task).is_success());
  const auto refused = [&](auto change) {
    sluice_pack_t bad = good;
    change(&bad);
    return backends::make_rearrange_task(&bad, &task).result;
  };
  EXPECT_EQ(backends::make_rearrange_task(nullptr, &task).result, SLUICE_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(refused([](auto *bad) { bad->form = SLUICE_PACKED; }), SLUICE_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(refused([](auto *bad) { bad->size_bytes = 33; }), SLUICE_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(refused([](auto *bad) { bad->layout.dimensions[0].count = 3; }), SLUICE_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(refused([](auto *bad) { bad->beside_layout.dimensions[0].count = 3; }), SLUICE_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(refused([](auto *bad) { bad->beside_layout.n_dimensions = 7; }), SLUICE_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(refused([](auto *bad) { bad->beside_layout.core_bytes = 0; }), SLUICE_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(refused([](auto *bad) { bad->beside_layout.n_blocks = 2; }), SLUICE_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(refused([](auto *bad) { bad->beside_span_bytes = 0; }), SLUICE_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(refused([](auto *bad) { bad->size_bytes = 0; }), SLUICE_SUCCESS);
  EXPECT_EQ(task.count, 0U);
  // The other kernel's task is for one layout.
  kernels::PackTask other;
  EXPECT_EQ(backends::make_pack_task(&good, &other).result, SLUICE_ERROR_INVALID_ARGUMENT);
  EXPECT_TRUE(backends::has_two_layouts(&good));
  EXPECT_FALSE(backends::has_two_layouts(nullptr));
}

}  // namespace
}  // namespace sluice::tests::rearranging_test
