// SPDX-License-Identifier: BSD-3-Clause
// Small random point-to-point programs: made from a seed, the same on all ranks, free of deadlock, and with exactly one
// right outcome, so that two runs of one program can be compared.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "tests/support/memory.hpp"

namespace sluice::tests {

enum class SendMode : std::uint8_t {
  send,
  ssend,
  rsend,
  bsend,
  isend,
  issend,
  irsend,
  ibsend,
  send_init,
  ssend_init,
  rsend_init,
  bsend_init
};
// How a message is received. The first two are posted before any message of the round is sent. The others are late:
// they are called when the sends are under way, on a communicator of their own.
enum class RecvMode : std::uint8_t {
  irecv,
  recv_init,
  recv,
  probe_recv,
  iprobe_recv,
  mprobe_mrecv,
  mprobe_imrecv,
  improbe_mrecv,
  improbe_imrecv
};

constexpr bool is_late(RecvMode mode) {
  return mode >= RecvMode::recv;
}
constexpr bool is_persistent(SendMode mode) {
  return mode >= SendMode::send_init;
}

// Tags from here on belong to one message of their round; smaller ones are shared, so that the order matters.
inline constexpr int kOwnTags = 100;

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
  bool is_ints = false;  // ints, else bytes
  int send_stride = 1;   // of ints: above 1 there are gaps between them
  int recv_stride = 1;
  // In place of those: a random type on each side, of one signature, which an element has so many times. Where the
  // receiver has it in other portions than the sender, its last element may stay incomplete.
  bool is_nested = false;
  int send_repeats = 1;
  int recv_repeats = 1;
  std::uint64_t type_seed = 0;
  bool frees_type_early = false;  // the sender, before the message is complete
  // Wildcards. A posted receive with MPI_ANY_SOURCE has a tag of its own. A late one is found by a probe: of a rank's
  // n-th late message those of its n-th probe are meant, whichever message that finds.
  bool any_source = false;
  bool any_tag = false;
};

// Messages that are sent and received `n_starts` times; those of one start are all received before the next begins.
struct Round {
  std::vector<Message> messages;
  int n_starts = 1;
  std::size_t completer = 0;  // index into completers(); it gets all requests of a start in one array
  bool ignores_statuses = false;
  bool uses_startall = false;  // neighbouring persistent requests are started in one call
  bool has_idle = false;       // a null request and an inactive one are among those to complete
  std::size_t rotation = 0;    // of the requests in that array
};

// What one thread does, on communicators of its own.
struct Lane {
  std::vector<Round> rounds;
};

inline constexpr int kMostLanes = 3;
inline constexpr int kMostRounds = 3;
inline constexpr int kMostStarts = 3;
inline constexpr int kMostMessages = 8;

struct Program {
  std::uint64_t seed = 0;
  std::vector<Lane> lanes;
};

// n_ranks: 1 or more. kinds: what there is to choose from; but for it, a seed means the same program everywhere.
Program make_program(std::uint64_t seed, int n_ranks, const std::vector<Kind> &kinds);

}  // namespace sluice::tests
