// SPDX-License-Identifier: BSD-3-Clause
// The generator of random programs.
#include "tests/ranks/p2p/random_program.hpp"

#include <array>

#include "tests/support/completers.hpp"
#include "tests/support/dice.hpp"

namespace sluice::tests {
namespace {

// Throws the same dice however many kinds there are.
Kind random_kind(Dice &dice, const std::vector<Kind> &kinds) {
  return kinds[dice.below(4) % kinds.size()];
}

// Around the thresholds of the routes (256 bytes, 64 KiB), and the pages.
std::size_t random_size(Dice &dice) {
  constexpr std::array<std::size_t, 13> kEdges = {0,   1,    4,      63,     252,    255,    256,
                                                  257, 4095, 65'535, 65'536, 65'537, 131'072};
  switch (dice.below(5)) {
    case 0:
      return dice.one_of(kEdges);
    case 1:
      return dice.below(300);
    case 2:
      return dice.below(9000);
    case 3:
      return 60'000 + dice.below(10'000);
    default:
      return dice.below(150'000);
  }
}

void choose_layout(Dice &dice, Message *message) {
  message->is_ints = dice.one_in(3);
  if (!message->is_ints) {
    return;
  }
  message->send_stride = dice.one_in(2) ? 1 : 2 + dice.below_int(3);
  message->recv_stride = dice.one_in(2) ? 1 : 2 + dice.below_int(3);
  message->size_bytes = message->size_bytes / 4 * 4;
  message->spare_bytes = message->spare_bytes / 4 * 4;
}

// Drawn apart from the rest, and in every second program: the others are what they were before there were such types.
void choose_nested_layouts(std::uint64_t seed, Program *program) {
  constexpr std::array kRepeats = {1, 2, 3, 4, 6, 8, 12, 24, 36, 60};
  Dice dice(seed ^ 0x6C61796F757473);
  if (dice.one_in(2)) {
    return;
  }
  for (Lane &lane : program->lanes) {
    for (Round &round : lane.rounds) {
      for (Message &message : round.messages) {
        message.is_nested = dice.one_in(2);
        message.send_repeats = dice.one_of(kRepeats);
        message.recv_repeats = dice.one_of(kRepeats);
        message.type_seed = dice.below(~0ULL);
        message.frees_type_early = dice.one_in(2);
        if (message.is_nested && !dice.one_in(4)) message.size_bytes /= 2;
      }
    }
  }
}

void choose_modes(Dice &dice, Message *message) {
  constexpr std::array kPosted = {RecvMode::irecv, RecvMode::recv_init};
  constexpr std::array kLate = {RecvMode::recv,          RecvMode::probe_recv,    RecvMode::iprobe_recv,
                                RecvMode::mprobe_mrecv,  RecvMode::mprobe_imrecv, RecvMode::improbe_mrecv,
                                RecvMode::improbe_imrecv};
  // Of a message whose receive is called after the sends: they must not wait for it, nor need it posted.
  constexpr std::array kLocal = {SendMode::isend,     SendMode::issend,     SendMode::ibsend,    SendMode::bsend,
                                 SendMode::send_init, SendMode::ssend_init, SendMode::bsend_init};
  if (dice.one_in(3)) {
    message->recv_mode = dice.one_of(kLate);
    message->send_mode = dice.one_of(kLocal);
    message->any_tag = dice.one_in(2);
  } else {
    message->recv_mode = dice.one_of(kPosted);
    message->send_mode = static_cast<SendMode>(dice.below(12));
  }
}

Message random_message(Dice &dice, int n_ranks, int index, const std::vector<Kind> &kinds) {
  Message message;
  message.source = dice.below_int(n_ranks);
  message.destination = dice.below_int(n_ranks);
  message.size_bytes = random_size(dice);
  message.spare_bytes = dice.one_in(3) ? dice.below(200) : 0;
  message.send_kind = random_kind(dice, kinds);
  message.recv_kind = random_kind(dice, kinds);
  choose_layout(dice, &message);
  choose_modes(dice, &message);
  message.any_source = dice.one_in(3);
  const bool has_own_tag = dice.one_in(3) || (message.any_source && !is_late(message.recv_mode));
  message.tag = has_own_tag ? kOwnTags + index : dice.below_int(3);
  return message;
}

Round random_round(Dice &dice, int n_ranks, const std::vector<Kind> &kinds) {
  Round round;
  round.n_starts = 1 + (dice.one_in(2) ? 0 : dice.below_int(kMostStarts));
  round.completer = dice.below(completers().size());
  round.ignores_statuses = dice.one_in(5);
  round.uses_startall = dice.one_in(2);
  round.has_idle = dice.one_in(3);
  round.rotation = dice.below(16);
  const int n_messages = 1 + dice.below_int(kMostMessages);
  for (int index = 0; index < n_messages; ++index) {
    round.messages.push_back(random_message(dice, n_ranks, index, kinds));
  }
  return round;
}

}  // namespace

Program make_program(std::uint64_t seed, int n_ranks, const std::vector<Kind> &kinds) {
  Dice dice(seed);
  Program program;
  program.seed = seed;
  const int n_lanes = 1 + (dice.one_in(2) ? 0 : dice.below_int(kMostLanes));
  for (int i = 0; i < n_lanes; ++i) {
    Lane lane;
    const int n_rounds = 1 + dice.below_int(kMostRounds);
    for (int k = 0; k < n_rounds; ++k) {
      lane.rounds.push_back(random_round(dice, n_ranks, kinds));
    }
    program.lanes.push_back(lane);
  }
  choose_nested_layouts(seed, &program);
  return program;
}

}  // namespace sluice::tests
