// SPDX-License-Identifier: BSD-3-Clause
// CheckedArguments: which arguments the host MPI has been shown and has taken, so that the next message with the same
// ones needs no call of it: with a progress thread at work each call may have to wait for the host MPI's lock.
#pragma once

#include "ops/comm/comm_memo.hpp"
#include "ops/queue/carrier.hpp"

namespace sluice::ops::queue {

// Of one queue. One thread at a time.
class CheckedArguments {
 public:
  // Whether as much as these was taken before: the same direction, peer, tag, communicator and type, any buffer and a
  // count that is none too few. Hot.
  [[nodiscard]] bool has(const Arguments &given) noexcept;
  // The host MPI took them. Only types and communicators are kept of which it is known when their handles are given to
  // others: predefined types, and communicators with a state (ops/comm/comm_state.hpp).
  void add(const Arguments &given);

 private:
  // As many as an exchange with all neighbours in three dimensions has, both ways.
  CommMemo<Arguments, 64> kept_;
};

}  // namespace sluice::ops::queue
