// SPDX-License-Identifier: BSD-3-Clause
// Which device and which cores each rank of a node gets (`sluice run --bind`).
#pragma once

#include <cstdint>
#include <vector>

#include "base/status.hpp"
#include "command/bind_rule.hpp"
#include "command/place/machine.hpp"

namespace sluice::command::place {

struct Seat {
  std::int32_t device = 0;
  ThreadSet threads;  // to be bound to; empty: nothing is known that speaks for any
  int n_sharing = 1;  // ranks that have the same threads, this one among them
};

// A list that does not fit.
struct SeatProblem {
  Status status;  // ok: there is none
  int rank = -1;  // the lowest rank of the node that it concerns
};

// The seats of ranks 0 to n_ranks-1 of one node; rule.kind is not kNone, `devices` not empty. Ranks whose devices have
// the same cores near them divide these: each gets whole cores, next to each other, and none is given twice unless the
// ranks are more than the cores. The same on every rank of the node that sees the same devices. Nothing is bound.
// Any thread.
SeatProblem plan_seats(const Machine &machine, const std::vector<Nearness> &devices, const BindRule &rule, int n_ranks,
                       std::vector<Seat> *seats);

}  // namespace sluice::command::place
