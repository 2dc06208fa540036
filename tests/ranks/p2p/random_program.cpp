// SPDX-License-Identifier: BSD-3-Clause
// The generator of random programs.
#include "tests/ranks/p2p/random_program.hpp"

#include <array>
#include <random>

#include "tests/ranks/p2p/completers.hpp"

namespace sluice::tests {
namespace {

// std::uniform_int_distribution differs between libraries; a seed must mean the same program everywhere.
class Dice {
 public:
  explicit Dice(std::uint64_t seed) : engine_(seed) {}
  std::uint64_t below(std::uint64_t bound) { return engine_() % bound; }
  int below_int(int bound) { return static_cast<int>(below(static_cast<std::uint64_t>(bound))); }
  bool one_in(std::uint64_t n) { return below(n) == 0; }
  Kind kind(const std::vector<Kind> &kinds) { return kinds[below(kinds.size())]; }

 private:
  std::mt19937_64 engine_;
};

std::size_t random_size(Dice &dice) {
  constexpr std::array<std::size_t, 9> kEdges = {0, 1, 4, 63, 4095, 4096, 65'535, 65'536, 65'537};
  switch (dice.below(4)) {
    case 0:
      return kEdges[dice.below(kEdges.size())];
    case 1:
      return dice.below(300);
    case 2:
      return dice.below(9000);
    default:
      return dice.below(150'000);
  }
}

Message random_message(Dice &dice, int n_ranks, int index, const std::vector<Kind> &kinds) {
  Message message;
  message.source = dice.below_int(n_ranks);
  message.destination = dice.below_int(n_ranks);
  message.any_source = dice.one_in(4);
  // Tags below 3 are shared by several messages, so that their order matters; 100 + index belongs to one message.
  message.tag = message.any_source || dice.one_in(3) ? 100 + index : dice.below_int(3);
  message.size_bytes = random_size(dice);
  message.spare_bytes = dice.one_in(3) ? dice.below(200) : 0;
  message.send_mode = static_cast<SendMode>(dice.below(6));
  message.recv_mode = static_cast<RecvMode>(dice.below(4));
  message.send_kind = dice.kind(kinds);
  message.recv_kind = dice.kind(kinds);
  if (dice.one_in(4)) {
    message.stride = 2 + dice.below_int(3);
    message.size_bytes = message.size_bytes / 4 * 4;
    message.spare_bytes = message.spare_bytes / 4 * 4;
  }
  const bool is_late = message.recv_mode == RecvMode::late_recv || message.recv_mode == RecvMode::late_mrecv;
  if (is_late) {
    // Received after the sends of the round were started: its own tag keeps it from the posted receives, and its send
    // must not wait for it, nor need a posted receive.
    message.tag = 100 + index;
    message.send_mode = dice.one_in(2) ? SendMode::isend : SendMode::issend;
  }
  return message;
}

}  // namespace

Program make_program(std::uint64_t seed, int n_ranks, const std::vector<Kind> &kinds) {
  Dice dice(seed);
  Program program;
  program.seed = seed;
  const std::uint64_t n_rounds = 1 + dice.below(3);
  for (std::uint64_t i = 0; i < n_rounds; ++i) {
    Round round;
    round.completer = dice.below(completers().size());
    const int n_messages = 1 + dice.below_int(8);
    for (int index = 0; index < n_messages; ++index) {
      round.messages.push_back(random_message(dice, n_ranks, index, kinds));
    }
    program.rounds.push_back(round);
  }
  return program;
}

}  // namespace sluice::tests
