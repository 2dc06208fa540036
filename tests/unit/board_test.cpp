// SPDX-License-Identifier: BSD-3-Clause
// The board that ranks share during a collective operation, with threads in the ranks' place; and blocks as they are
// described on it.
#include "transfer/board.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

#include "fake_device.hpp"
#include "shared_board.hpp"
#include "transfer/chunked_copy.hpp"

namespace sluice::transfer::board_test {
namespace {

// What rank `rank` says in call `call`.
Published word_of(int rank, int call) {
  Published said;
  said.state = Published::State::kTakesPart;
  said.base_address = static_cast<std::uint64_t>(call) * 1000 + static_cast<std::uint64_t>(rank);
  return said;
}

// Calls follow each other as fast as they can, some of them without an end, as when all stage.
TEST(Board, ShowsEachCallsWords_WhenRanksRaceAhead) {
  constexpr int kRanks = 3;
  constexpr int kCalls = 60;
  const auto body = [&](Board *own, int rank, int *n_wrong) {
    Board &board = *own;
    for (int number = 1; number <= kCalls; ++number) {
      const auto call = static_cast<std::uint64_t>(number);
      Published said = word_of(rank, number);
      std::vector<StridedBlock> blocks(kRanks);
      for (int reader = 0; reader < kRanks; ++reader) {
        blocks[static_cast<std::size_t>(reader)].offset_bytes = call * 100 + static_cast<std::uint64_t>(reader);
      }
      said.n_blocks = kRanks;
      wait_until([&] { return board.may_publish(call); });
      board.publish(call, said, blocks);
      wait_until([&] { return board.have_all_published(call); });
      int &wrong = *n_wrong;
      for (int other = 0; other < kRanks; ++other) {
        wrong += board.published(call, other).base_address == word_of(other, number).base_address ? 0 : 1;
        wrong += board.block(call, other, board.published(call, other), static_cast<std::size_t>(rank)).offset_bytes ==
                         call * 100 + static_cast<std::uint64_t>(rank)
                     ? 0
                     : 1;
      }
      if (call % 3 == 0) {
        board.end(call, Ending::kGood);
        continue;
      }
      board.set_chunks(call, static_cast<std::uint32_t>(call));
      wait_until([&] { return board.chunks_of(call, (rank + 1) % kRanks) == static_cast<std::uint32_t>(call); });
      const bool is_refusing = call % 5 == 0 && rank == 2;
      board.end(call, is_refusing ? Ending::kRefused : Ending::kGood);
      std::optional<Board::Outcome> outcome;
      wait_until([&] { return (outcome = board.outcome(call)).has_value(); });
      wrong += outcome->ending == (call % 5 == 0 ? Ending::kRefused : Ending::kGood) ? 0 : 1;
      wrong += call % 5 != 0 || outcome->rank == 2 ? 0 : 1;
    }
  };
  EXPECT_EQ(count_wrong(kRanks, body), std::vector<int>(kRanks, 0));
}

// Each rank says some things several times in a row, others once, and the readers are late by up to kSlots calls.
TEST(Board, ShowsEachCallsWords_WhereSomeAreSaidAgain) {
  constexpr int kRanks = 3;
  constexpr std::uint64_t kCalls = 300;
  const auto said_by = [](int rank, std::uint64_t call) {
    const std::uint64_t stays = call / (static_cast<std::uint64_t>(rank) * 2 + 2);
    Published said = word_of(rank, static_cast<int>(call % 7 == 0 ? call : stays));
    said.n_blocks = 1;
    return said;
  };
  const auto block_of = [](int rank, std::uint64_t call) {
    return StridedBlock{call / 11 * 8, 8, 0, static_cast<std::uint64_t>(rank) + 1};
  };
  const auto body = [&](Board *own, int rank, int *n_wrong) {
    Board &board = *own;
    const auto look = [&](std::uint64_t call) {
      wait_until([&] { return board.have_all_published(call); });
      for (int other = 0; other < kRanks; ++other) {
        const bool is_right =
            board.published(call, other).base_address == said_by(other, call).base_address &&
            board.block(call, other, board.published(call, other), static_cast<std::size_t>(rank)).offset_bytes ==
                block_of(other, call).offset_bytes;
        *n_wrong += is_right ? 0 : 1;
      }
      board.end(call, Ending::kGood);
    };
    const auto late = static_cast<std::uint64_t>(rank) + 1;
    for (std::uint64_t call = 1; call <= kCalls; ++call) {
      wait_until([&] { return board.may_publish(call); });
      const StridedBlock block = block_of(rank, call);
      board.publish(call, said_by(rank, call), {&block, 1});
      if (call > late) look(call - late);
    }
    for (std::uint64_t call = kCalls - late + 1; call <= kCalls; ++call) look(call);
  };
  EXPECT_EQ(count_wrong(kRanks, body), std::vector<int>(kRanks, 0));
}

// What others have read already stays in their caches.
TEST(Board, WritesOneLine_WhereTheSameIsSaidAgain) {
  constexpr std::size_t kLine = 128;
  const SharedMemory memory(2);
  const auto *bytes = static_cast<const std::byte *>(memory.data());
  Board board(memory.data(), 2, 1);
  std::vector<StridedBlock> blocks(2, {0, 8, 0, 1});
  Published said = word_of(1, 1);
  said.n_blocks = 2;
  const auto lines_of = [&](std::uint64_t call) {
    const std::vector<std::byte> before(bytes, bytes + Board::size_bytes(2));
    board.publish(call, said, blocks);
    int n_lines = 0;
    for (std::size_t at = 0; at < before.size(); at += kLine) {
      n_lines += std::memcmp(&before[at], bytes + at, std::min(kLine, before.size() - at)) == 0 ? 0 : 1;
    }
    return n_lines;
  };
  EXPECT_GT(lines_of(1), 1);
  EXPECT_EQ(lines_of(2), 1);
  EXPECT_EQ(lines_of(3), 1);
  blocks[1].offset_bytes = 8;
  EXPECT_GT(lines_of(4), 1);
  EXPECT_EQ(lines_of(5), 1);
  said.largest_bytes = 8;
  EXPECT_GT(lines_of(6), 1);
  blocks.pop_back();
  EXPECT_GT(lines_of(7), 1);
  EXPECT_EQ(board.block(6, 1, board.published(6, 1), 1).offset_bytes, 8U);
}

// As many calls as there are slots are under way; the next one waits until all ranks have ended the first.
TEST(Board, HasASlotAgain_OnceAllRanksHaveEndedItsCall) {
  const SharedMemory memory(2);
  Board one(memory.data(), 2, 0);
  Board other(memory.data(), 2, 1);
  for (std::uint64_t call = 1; call <= Board::kSlots; ++call) {
    ASSERT_TRUE(one.may_publish(call));
    one.publish(call, word_of(0, static_cast<int>(call)), {});
    other.publish(call, word_of(1, static_cast<int>(call)), {});
  }
  EXPECT_FALSE(one.may_publish(Board::kSlots + 1));
  one.end(1, Ending::kGood);
  EXPECT_FALSE(one.may_publish(Board::kSlots + 1));
  other.end(2, Ending::kGood);  // out of order
  EXPECT_FALSE(one.may_publish(Board::kSlots + 1));
  other.end(1, Ending::kRefused);
  EXPECT_TRUE(one.may_publish(Board::kSlots + 1));
  const std::optional<Board::Outcome> outcome = one.outcome(1);
  ASSERT_TRUE(outcome);
  EXPECT_EQ(outcome->ending, Ending::kRefused);
  EXPECT_EQ(outcome->rank, 1);
  EXPECT_EQ(one.published(2, 1).base_address, word_of(1, 2).base_address);
}

TEST(Board, BelievesNoBlockThatIsNotThere) {
  const SharedMemory memory(2);
  Board board(memory.data(), 2, 1);
  Published said = word_of(1, 1);
  said.n_blocks = static_cast<std::uint32_t>(Board::most_blocks(2)) + 1;
  const std::vector<StridedBlock> blocks(2, {0, 8, 0, 1});
  board.publish(1, said, blocks);
  EXPECT_EQ(board.block(1, 1, board.published(1, 1), 1).n_runs, 0U);
  said.n_blocks = 2;
  board.publish(2, said, blocks);
  EXPECT_EQ(board.block(2, 1, said, 1).n_runs, 1U);
  EXPECT_EQ(board.block(2, 1, said, 2).n_runs, 0U);
}

// Where two ranks are neighbours more than once.
TEST(Board, HasEachBlock_WhenARankHasMoreThanThereAreRanks) {
  const SharedMemory memory(2);
  Board one(memory.data(), 2, 0);
  Board other(memory.data(), 2, 1);
  std::vector<StridedBlock> blocks(Board::most_blocks(2));
  for (std::size_t i = 0; i < blocks.size(); ++i) blocks[i] = {i * 100, 8, 0, 1};
  Published said = word_of(1, 1);
  said.n_blocks = static_cast<std::uint32_t>(blocks.size());
  other.publish(1, said, blocks);
  one.publish(1, word_of(0, 1), {});
  ASSERT_TRUE(one.have_all_published(1));
  for (std::size_t i = 0; i < blocks.size(); ++i) EXPECT_EQ(one.block(1, 1, said, i).offset_bytes, i * 100);
  EXPECT_EQ(one.published(1, 0).base_address, word_of(0, 1).base_address);
}

LayoutPtr gapped() {
  auto layout = std::make_shared<Layout>();
  layout->size_bytes = 4;
  layout->extent_bytes = 10;
  layout->end_byte = 4;
  layout->is_contiguous = false;
  layout->blocks = {{0, 4}};
  return layout;
}

TEST(StridedBlock, DescribesRunsAtOneDistance) {
  std::vector<std::byte> memory(200);
  StridedBlock block;
  const Region rows{memory.data() + 20, 5, gapped(), {}};
  ASSERT_TRUE(describe(rows, memory.data(), &block));
  EXPECT_EQ(block.offset_bytes, 20U);
  EXPECT_EQ(block.run_bytes, 4U);
  EXPECT_EQ(block.stride_bytes, 10);
  EXPECT_EQ(block.n_runs, 5U);
  EXPECT_TRUE(block.is_within(64));
  EXPECT_FALSE(block.is_within(63));
  const Region whole{memory.data() + 3, 40, std::make_shared<Layout>(Layout::basic(2)), {}};
  ASSERT_TRUE(describe(whole, memory.data(), &block));
  EXPECT_EQ(block.n_runs, 1U);
  EXPECT_EQ(block.size_bytes(), 80U);
}

// What two ranks sent is mapped side by side here, and goes side by side: two copies, of which none leaves its mapping.
TEST(StridedBlock, IsCopiedApartFromItsNeighbors) {
  std::vector<std::byte> mapped(200);
  std::vector<std::byte> memory(200);
  const LayoutPtr bytes = std::make_shared<Layout>(Layout::basic(1));
  const StridedBlock halves{0, 50, 50, 2};  // runs that touch each other within one allocation
  std::vector<sluice_copy_t> copies;
  add_copies(halves, mapped.data(), {memory.data(), 100, bytes, {}}, &copies);
  ASSERT_EQ(copies.size(), 1U);
  add_copies(halves, mapped.data() + 100, {memory.data() + 100, 100, bytes, {}}, &copies);
  ASSERT_EQ(copies.size(), 2U);
  for (const sluice_copy_t &copy : copies) EXPECT_EQ(copy.size_bytes, 100U);
}

TEST(StridedBlock, RefusesWhatAFewNumbersCannotSay) {
  std::vector<std::byte> memory(100'000);
  StridedBlock block;
  auto uneven = std::make_shared<Layout>();
  uneven->size_bytes = 6;
  uneven->extent_bytes = 16;
  uneven->end_byte = 9;
  uneven->is_contiguous = false;
  uneven->blocks = {{0, 4}, {7, 2}};
  EXPECT_FALSE(describe({memory.data(), 3, uneven, {}}, memory.data(), &block));
  EXPECT_FALSE(describe({memory.data(), kMostRuns + 1, gapped(), {}}, memory.data(), &block));
  EXPECT_GT(count_runs({memory.data(), kMostRuns + 1, gapped(), {}}), kMostRuns);
}

TEST(StridedBlock, IsWithinNothing_WhenItsNumbersAreWrong) {
  const std::uint64_t huge = ~std::uint64_t{0};
  EXPECT_TRUE(StridedBlock{}.is_within(0));
  EXPECT_FALSE((StridedBlock{0, 8, 8, huge}.is_within(100)));
  EXPECT_FALSE((StridedBlock{huge, 8, 8, 1}.is_within(100)));
  EXPECT_FALSE((StridedBlock{0, huge, 8, 1}.is_within(100)));
  EXPECT_FALSE((StridedBlock{0, 0, 8, 1}.is_within(100)));
  EXPECT_FALSE((StridedBlock{0, 8, -8, 2}.is_within(100)));
  const std::uint64_t long_run = (std::uint64_t{1} << 60) + 64;  // 16 of them are 1024 bytes, as 64 bits count
  EXPECT_FALSE((StridedBlock{0, long_run, 0, 16}.is_within(std::uint64_t{1} << 61)));
  EXPECT_FALSE((StridedBlock{0, 8, std::int64_t{1} << 62, 200}.is_within(100)));
  EXPECT_TRUE((StridedBlock{92, 8, -46, 3}.is_within(100)));
}

// Runs of one length into runs of another.
TEST(StridedBlock, IsCopiedIntoAnyLayoutOfAsManyBytes) {
  std::vector<std::byte> from(100);
  std::vector<std::byte> to(100, std::byte{0xee});
  for (std::size_t i = 0; i < from.size(); ++i) from[i] = tests::pattern(i, 1);
  const StridedBlock block{5, 10, 20, 2};  // bytes 5 to 14 and 25 to 34
  std::vector<sluice_copy_t> copies;
  add_copies(block, from.data(), {to.data(), 5, gapped(), {}}, &copies);
  for (const sluice_copy_t &copy : copies) std::memcpy(copy.dst, copy.src, copy.size_bytes);
  for (std::size_t i = 0; i < to.size(); ++i) {
    const std::size_t position = i / 10 * 4 + i % 10;
    const bool is_payload = i < 50 && i % 10 < 4;
    const std::byte wanted = is_payload ? from[position < 10 ? 5 + position : 25 + position - 10] : std::byte{0xee};
    EXPECT_EQ(to[i], wanted) << i;
  }
}

class Chunks : public tests::FakeDevice {};

TEST_F(Chunks, AreCopiedAsTheyCome) {
  constexpr std::size_t kBytes = 1050;
  std::byte *from = fake.allocate(SLUICE_MEMORY_DEVICE, kBytes);
  std::byte *to = fake.allocate(SLUICE_MEMORY_DEVICE, kBytes, 0, std::byte{0xee});
  for (std::size_t i = 0; i < kBytes; ++i) fake.alias(from)[i] = tests::pattern(i, 2);
  ChunkedCopy copy({to, from, kBytes}, 100);
  EXPECT_EQ(copy.n_chunks(), 11U);
  ASSERT_TRUE(copy.open(place()).is_ok());
  ASSERT_TRUE(copy.advance(0).is_ok());
  EXPECT_EQ(copy.n_copied(), 0U);
  while (copy.n_copied() < 3) ASSERT_TRUE(copy.advance(3).is_ok());
  EXPECT_EQ(fake.alias(to)[299], tests::pattern(299, 2));
  EXPECT_EQ(fake.alias(to)[300], std::byte{0xee});
  while (!copy.is_done()) ASSERT_TRUE(copy.advance(1000).is_ok());
  EXPECT_EQ(std::memcmp(fake.alias(to), fake.alias(from), kBytes), 0);
}

TEST_F(Chunks, EndWithTheErrorOfOne) {
  std::byte *from = fake.allocate(SLUICE_MEMORY_DEVICE, 1000);
  std::byte *to = fake.allocate(SLUICE_MEMORY_DEVICE, 1000);
  ChunkedCopy copy({to, from, 1000}, 100);
  ASSERT_TRUE(copy.open(place()).is_ok());
  fake.fail(tests::Call::kEnqueueCopies, SLUICE_ERROR_NATIVE, "broken link", 1, 3);
  Status status;
  for (int turn = 0; turn < 1000 && status.is_ok(); ++turn) status = copy.advance(10);
  EXPECT_NE(status.message().find("broken link"), std::string::npos) << status.message();
}

}  // namespace
}  // namespace sluice::transfer::board_test
