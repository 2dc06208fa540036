// SPDX-License-Identifier: BSD-3-Clause
// One rank writes what it likes in the memory that the ranks of a node share while they move device memory together
// (docs/adr/0061). The others come to an error, to staging, or to what it sent: never to a crash, to an end that does
// not come, to bytes beside their buffers, or to another outcome than their peers'.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <memory>
#include <optional>
#include <thread>
#include <utility>

#include "tests/ranks/board/board_view.hpp"
#include "tests/support/dice.hpp"
#include "tests/support/memory.hpp"
#include "tests/support/session.hpp"

namespace sluice::tests {
namespace {

using transfer::Published;

constexpr int kScribbler = 1;
constexpr int kBlockBytes = 3000;
constexpr int kInts = kBlockBytes / static_cast<int>(sizeof(int));

enum class Operation : std::uint8_t {
  bcast,     // of the scribbler's
  bcast_by,  // another's, which the scribbler passes on
  allgather,
  alltoall,
  gather,
  scatter,  // of the scribbler's
  allreduce,
  allreduce_in_place,
  reduce,
  scan,
  reduce_scatter_in_place
};
constexpr std::array kOperations = {Operation::bcast,     Operation::allreduce,
                                    Operation::bcast_by,  Operation::allreduce_in_place,
                                    Operation::allgather, Operation::reduce,
                                    Operation::alltoall,  Operation::scan,
                                    Operation::gather,    Operation::reduce_scatter_in_place,
                                    Operation::scatter};

bool is_broadcast(Operation operation) {
  return operation == Operation::bcast || operation == Operation::bcast_by;
}

// The buffers of a rank, and memory that has nothing to do with a call though all ranks know of it.
class Buffers {
 public:
  Buffers()
      : size_bytes_(static_cast<std::size_t>(Session::get().size()) * kBlockBytes),
        send_(Session::get().module(), Kind::device, size_bytes_, true),
        recv_(Session::get().module(), Kind::device, size_bytes_, true),
        bystander_(Session::get().module(), Kind::device, size_bytes_, true) {}

  void fill(Operation operation, int iteration) {
    const int rank = Session::get().rank();
    send_.fill_pattern(rank, iteration);
    const bool is_input = operation == Operation::allreduce_in_place ||
                          operation == Operation::reduce_scatter_in_place ||
                          (is_broadcast(operation) && rank == root(operation));
    if (is_input) {
      recv_.fill_pattern(rank, iteration);
    } else {
      recv_.fill(kPoison);
    }
    sent_ = send_.read_with_guards();
  }

  static int root(Operation operation) { return operation == Operation::bcast_by ? 0 : kScribbler; }

  int start(Operation operation, MPI_Comm comm, MPI_Request *request) const {
    const int n = Session::get().size();
    void *to = recv_.data();
    const void *from = send_.data();
    switch (operation) {
      case Operation::bcast:
      case Operation::bcast_by:
        return MPI_Ibcast(to, n * kBlockBytes, MPI_BYTE, root(operation), comm, request);
      case Operation::allgather:
        return MPI_Iallgather(from, kBlockBytes, MPI_BYTE, to, kBlockBytes, MPI_BYTE, comm, request);
      case Operation::alltoall:
        return MPI_Ialltoall(from, kBlockBytes, MPI_BYTE, to, kBlockBytes, MPI_BYTE, comm, request);
      case Operation::gather:
        return MPI_Igather(from, kBlockBytes, MPI_BYTE, to, kBlockBytes, MPI_BYTE, 0, comm, request);
      case Operation::scatter:
        return MPI_Iscatter(from, kBlockBytes, MPI_BYTE, to, kBlockBytes, MPI_BYTE, kScribbler, comm, request);
      case Operation::allreduce:
        return MPI_Iallreduce(from, to, n * kInts, MPI_INT, MPI_BXOR, comm, request);
      case Operation::allreduce_in_place:
        return MPI_Iallreduce(MPI_IN_PLACE, to, n * kInts, MPI_INT, MPI_BXOR, comm, request);
      case Operation::reduce:
        return MPI_Ireduce(from, to, n * kInts, MPI_INT, MPI_BXOR, 0, comm, request);
      case Operation::scan:
        return MPI_Iscan(from, to, n * kInts, MPI_INT, MPI_BXOR, comm, request);
      case Operation::reduce_scatter_in_place:
        return MPI_Ireduce_scatter_block(MPI_IN_PLACE, to, kInts, MPI_INT, MPI_BXOR, comm, request);
    }
    return MPI_ERR_OTHER;
  }

  // All ranks know of the memory beside from here on.
  void show_bystander(MPI_Comm comm) const {
    bystander_.fill(kPoison);
    ASSERT_EQ(MPI_Allgather(bystander_.data(), kBlockBytes, MPI_BYTE, recv_.data(), kBlockBytes, MPI_BYTE, comm),
              MPI_SUCCESS);
  }

  // What nobody may have written; of the scribbler's own the memory beside alone, since it says where its buffers are.
  std::string find_foreign_byte() const {
    const Bytes beside = bystander_.read_with_guards();
    if (std::any_of(beside.begin(), beside.end(), [](unsigned char byte) { return byte != kPoison; })) {
      return "memory that is no buffer of the call";
    }
    if (Session::get().rank() == kScribbler) return "";
    if (find_difference(sent_, send_.read_with_guards()) != "") return "a buffer that is only read";
    const Bytes around = recv_.read_with_guards();
    const auto is_poison = [](unsigned char byte) { return byte == kPoison; };
    const auto behind = static_cast<std::ptrdiff_t>(kGuardBytes);
    if (!std::all_of(around.begin(), around.begin() + behind, is_poison) ||
        !std::all_of(around.end() - behind, around.end(), is_poison)) {
      return "beside the receive buffer";
    }
    return "";
  }

  // Of a call that succeeded: what came from others than the scribbler.
  std::string find_wrong_block(Operation operation, int iteration) const {
    const int rank = Session::get().rank();
    const bool is_gathered = operation == Operation::allgather || (operation == Operation::gather && rank == 0);
    if (!is_gathered && operation != Operation::alltoall) return "";
    for (int source = 0; source < Session::get().size(); ++source) {
      if (source == kScribbler || rank == kScribbler) continue;
      const auto first = static_cast<std::size_t>(is_gathered ? 0 : rank * kBlockBytes);
      const std::string error = find_pattern_error(
          recv_.read(static_cast<std::size_t>(source) * kBlockBytes, kBlockBytes), source, iteration, first);
      if (!error.empty()) return fmt::format("from rank {}: {}", source, error);
    }
    return "";
  }

 private:
  std::size_t size_bytes_;
  Memory send_;
  Memory recv_;
  Memory bystander_;
  Bytes sent_;
};

// A communicator with a board of its own, which all calls of this test use, and the view of it.
class Scribbles : public testing::Test {
 protected:
  void SetUp() override {
    const Session &session = Session::get();
    if (!session.has_kind(Kind::device)) GTEST_SKIP() << "missing: device memory";
    ASSERT_GE(session.size(), 2);
    page_.emplace(session.comm());
    const std::vector<Mapping> before = find_shared_mappings();
    ASSERT_EQ(MPI_Comm_dup(session.comm(), &comm_), MPI_SUCCESS);
    buffers_.emplace();
    buffers_->show_bystander(comm_);
    for (int round = 0; round < 12; ++round) {
      for (const Operation operation : kOperations) run(operation, round, [](std::uint64_t) {});
    }
    for (const Mapping &mapping : find_shared_mappings()) {
      const bool is_new = std::find(before.begin(), before.end(), mapping) == before.end();
      if (is_new && mapping.size_bytes == BoardView(nullptr, session.size()).whole_bytes()) {
        view_.emplace(mapping.begin, session.size());
      }
    }
    ASSERT_TRUE(view_) << "missing: the memory that the ranks share";
    run(Operation::allgather, 0, [](std::uint64_t) {});
    std::memcpy(&input_of_other_, view_->said_by(0), sizeof input_of_other_);
    n_good_ = n_bad_ = 0;
  }
  void TearDown() override {
    if (comm_ == MPI_COMM_NULL) return;
    EXPECT_EQ(MPI_Comm_free(&comm_), MPI_SUCCESS);
  }

  // One call on all ranks; `scribble(call)` is what the scribbler does once it has published call `call` of the board,
  // before any of the others begins. True: it did.
  template <typename Scribble>
  bool run(Operation operation, int iteration, Scribble scribble) {
    const bool is_scribbler = Session::get().rank() == kScribbler;
    const bool is_watched = view_.has_value();
    buffers_->fill(operation, iteration);
    MPI_Request request = MPI_REQUEST_NULL;
    const std::uint64_t turn = ++n_turns_;
    bool has_scribbled = false;
    meet(turn);
    if (!is_scribbler && is_watched) page_->wait_for(kGo, turn);
    const std::uint64_t before = is_watched ? view_->flag(kScribbler, BoardView::kPublished).load() : 0;
    int code = buffers_->start(operation, comm_, &request);
    if (is_scribbler && is_watched) {
      const std::uint64_t call = view_->flag(kScribbler, BoardView::kPublished).load();
      has_scribbled = call != before;
      if (has_scribbled) scribble(call);
      page_->at(kGo).store(turn);
    }
    if (code == MPI_SUCCESS) code = MPI_Wait(&request, MPI_STATUS_IGNORE);
    look(operation, iteration, turn, code);
    return has_scribbled;
  }

  void look(Operation operation, int iteration, std::uint64_t turn, int code) {
    ++(code == MPI_SUCCESS ? n_good_ : n_bad_);
    EXPECT_EQ(buffers_->find_foreign_byte(), "");
    if (code == MPI_SUCCESS) {
      EXPECT_EQ(buffers_->find_wrong_block(operation, iteration), "");
    } else {
      note_text(code);
    }
    const auto rank = static_cast<std::size_t>(Session::get().rank());
    page_->at(kCodes + rank).store(turn * 2 + (code == MPI_SUCCESS ? 0 : 1));
    for (std::size_t other = 0; other < static_cast<std::size_t>(Session::get().size()); ++other) {
      page_->wait_for(kCodes + other, turn * 2);
      const bool is_good_there = page_->at(kCodes + other).load() == turn * 2;
      EXPECT_TRUE(!is_alike_ || is_good_there == (code == MPI_SUCCESS)) << "another outcome at rank " << other;
    }
  }

  // All ranks are here.
  void meet(std::uint64_t turn) {
    page_->at(kHere).fetch_add(1);
    page_->wait_for(kHere, turn * static_cast<std::uint64_t>(Session::get().size()));
  }

  void note_text(int code) {
    std::array<char, MPI_MAX_ERROR_STRING> text{};
    int length = 0;
    if (MPI_Error_string(code, text.data(), &length) != MPI_SUCCESS) return;
    if (std::string_view(text.data()).find("what rank 1 of the communicator wrote") != std::string_view::npos)
      ++n_named_;
  }

  static constexpr std::size_t kGo = 0;
  static constexpr std::size_t kHere = 16;
  static constexpr std::size_t kCodes = 32;

  std::optional<SharedPage> page_;
  MPI_Comm comm_ = MPI_COMM_NULL;
  std::optional<Buffers> buffers_;
  std::optional<BoardView> view_;
  Published input_of_other_;
  bool is_alike_ = true;  // calls end alike on all ranks
  std::uint64_t n_turns_ = 0;
  int n_good_ = 0;
  int n_bad_ = 0;
  int n_named_ = 0;
};

constexpr std::size_t kHandleBytes =
    sizeof(sluice_ipc_handle_t) + sizeof(Published::base_address) + sizeof(Published::allocation_bytes);

// Writes over one word of what the scribbler said, each in its turn, or gives out another's memory as its own.
void change_a_word(const BoardView &view, const Published &input_of_other, int number, Dice *dice) {
  unsigned char *said = view.said_by(kScribbler);
  const unsigned char *other = view.said_by(0);
  constexpr std::size_t kWord = sizeof(std::uint64_t);
  const std::size_t n_words = view.said_bytes() / kWord;
  const std::size_t at = static_cast<std::size_t>(number) % n_words * kWord;
  std::uint64_t word = 0;
  std::memcpy(&word, said + at, kWord);
  switch (dice->below(13)) {
    case 0:
      word = dice->below(std::numeric_limits<std::uint64_t>::max());
      break;
    case 1:
      word = 0;
      break;
    case 2:
      word = ~word;
      break;
    case 3:
      word ^= std::uint64_t{1} << dice->below(64);
      break;
    case 4:
      word += dice->below(4 * kBlockBytes);
      break;
    case 5:
      word -= dice->below(4 * kBlockBytes);
      break;
    case 6:
      word = std::uint64_t{1} << (60 + dice->below(4));
      break;
    case 7:
      word = std::uint64_t{1} << dice->below(20);
      break;
    case 8:
      std::memcpy(&word, other + at, kWord);
      break;
    case 9:
      std::memcpy(said + offsetof(Published, handle), &input_of_other.handle, kHandleBytes);
      return;
    case 10:  // its result goes over another's input
      std::memcpy(said + offsetof(Published, target), &input_of_other.handle, kHandleBytes);
      return;
    case 11:
      std::memcpy(said + offsetof(Published, target), other + offsetof(Published, target), sizeof(Published::Target));
      return;
    default:
      said[static_cast<std::size_t>(dice->below(view.said_bytes()))] = static_cast<unsigned char>(dice->below(256));
      return;
  }
  std::memcpy(said + at, &word, kWord);
}

int count_of_changes() {
  return Session::get().options().is_full ? 10'000 : 400;
}

TEST_F(Scribbles, OverWhatARankSaid_AreNotBelieved) {
  Dice dice(Session::get().options().seed);
  const int n_changes = count_of_changes();
  int n_scribbled = 0;
  for (int i = 0; i < n_changes && !HasFailure(); ++i) {
    const Operation operation = kOperations[static_cast<std::size_t>(i) % kOperations.size()];
    SCOPED_TRACE(fmt::format("change {} with seed {}", i, Session::get().options().seed));
    n_scribbled += run(operation, i, [&](std::uint64_t) { change_a_word(*view_, input_of_other_, i, &dice); }) ? 1 : 0;
  }
  if (Session::get().rank() != kScribbler) {
    EXPECT_GT(n_bad_, n_changes / 20) << "few calls heard of it";
    EXPECT_GT(n_named_, 0) << "no error named the rank";
    EXPECT_GT(n_good_, n_changes / 20);
    return;
  }
  EXPECT_GT(n_scribbled, n_changes * 9 / 10);
  fmt::print("{} words changed before the others read them: {} calls ended well, {} with an error\n", n_scribbled,
             n_good_, n_bad_);
}

// Numbers that no rank can have come to, and words that no rank says: nobody waits for what they say is to come.
TEST_F(Scribbles, OfNumbersThatCannotBe_EndTheCall) {
  Dice dice(Session::get().options().seed);
  is_alike_ = false;  // the scribbler itself may write the right word again before another looks
  constexpr std::array kWords = {BoardView::kPublished, BoardView::kContent, BoardView::kChunks, BoardView::kEnded};
  const int n_changes = count_of_changes() / 4;
  for (int i = 0; i < n_changes && !HasFailure(); ++i) {
    SCOPED_TRACE(fmt::format("change {} with seed {}", i, Session::get().options().seed));
    const auto scribble = [&](std::uint64_t call) {
      const std::size_t word = dice.one_of(kWords);
      const std::uint64_t ahead = call + 5 + dice.below(1000);
      const bool is_number = word == BoardView::kPublished;
      const std::size_t slot = is_number ? 0 : call % transfer::Board::kSlots;
      const std::uint64_t unknown = call << 32U | (77 + dice.below(100));
      const std::uint64_t value = is_number ? ahead : dice.one_in(2) ? ahead << 32U : unknown;
      view_->flag(kScribbler, word + slot).store(value);
    };
    run(kOperations[static_cast<std::size_t>(i) % kOperations.size()], i, scribble);
  }
  is_alike_ = true;
  for (int i = 0; i < 20 && !HasFailure(); ++i) run(Operation::allgather, i, [](std::uint64_t) {});
  EXPECT_GE(n_good_, 20);
}

// All the time, while blocking calls run.
TEST_F(Scribbles, BesideCalls_AreNotBelieved) {
  const Session &session = Session::get();
  std::atomic<bool> is_over{false};
  std::thread hand;
  if (session.rank() == kScribbler) {
    hand = std::thread([&] {
      Dice dice(session.options().seed);
      const Mapping slots = view_->slots_of(kScribbler);
      const std::size_t said_bytes = view_->said_bytes();
      while (!is_over.load()) {
        const std::size_t slot = slots.size_bytes / transfer::Board::kSlots * dice.below(transfer::Board::kSlots);
        slots.begin[slot + dice.below(said_bytes)] = static_cast<unsigned char>(dice.below(256));
        std::this_thread::yield();
      }
    });
  }
  const auto size = static_cast<std::size_t>(session.size()) * kBlockBytes;
  const Memory from(session.module(), Kind::device, size, true);
  const Memory to(session.module(), Kind::device, size, true);
  const int n_bytes = static_cast<int>(size);
  const int n_ints = session.size() * kInts;
  for (int i = 0; i < count_of_changes() / 8; ++i) {
    // What they return is one of many, and is the same on all ranks; that they end is what is asked here.
    static_cast<void>(MPI_Bcast(to.data(), n_bytes, MPI_BYTE, i % session.size(), comm_));
    static_cast<void>(MPI_Alltoall(from.data(), kBlockBytes, MPI_BYTE, to.data(), kBlockBytes, MPI_BYTE, comm_));
    static_cast<void>(MPI_Allreduce(from.data(), to.data(), n_ints, MPI_INT, MPI_BXOR, comm_));
    static_cast<void>(MPI_Reduce_scatter_block(MPI_IN_PLACE, to.data(), kInts, MPI_INT, MPI_BXOR, comm_));
    EXPECT_EQ(buffers_->find_foreign_byte(), "");
  }
  is_over.store(true);
  if (hand.joinable()) hand.join();
}

}  // namespace
}  // namespace sluice::tests
