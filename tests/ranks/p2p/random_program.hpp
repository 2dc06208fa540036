// SPDX-License-Identifier: BSD-3-Clause
// Small random point-to-point programs: made from a seed, the same on all ranks, free of deadlock, and with exactly one
// right outcome, so that two runs of one program can be compared.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "tests/support/memory.hpp"

namespace sluice::tests {

enum class SendMode : std::uint8_t { send, ssend, isend, issend, irsend, persistent };
enum class RecvMode : std::uint8_t { irecv, persistent, late_recv, late_mrecv };

struct Message {
  int source = 0;
  int destination = 0;
  int tag = 0;
  std::size_t size_bytes = 0;
  std::size_t spare_bytes = 0;  // how much longer the receive buffer is
  SendMode send_mode = SendMode::send;
  RecvMode recv_mode = RecvMode::irecv;
  Kind send_kind = Kind::host;
  Kind recv_kind = Kind::host;
  int stride = 1;           // above 1: sent and received as a vector of ints with that stride
  bool any_source = false;  // the tag is the message's own then
};

// Messages of one round are all received before the next round begins.
struct Round {
  std::vector<Message> messages;
  std::size_t completer = 0;  // index into completers()
};

struct Program {
  std::uint64_t seed = 0;
  std::vector<Round> rounds;
};

// n_ranks: 1 or more. kinds: what there is to choose from.
Program make_program(std::uint64_t seed, int n_ranks, const std::vector<Kind> &kinds);

}  // namespace sluice::tests
