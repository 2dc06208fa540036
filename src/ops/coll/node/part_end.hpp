// SPDX-License-Identifier: BSD-3-Clause
// How a rank's part of a call that the ranks of a node carry out together goes on. Pure: any thread.
#pragma once

#include <optional>
#include <string>

#include "base/status.hpp"
#include "transfer/board.hpp"

namespace sluice::ops::coll {

// How this rank's part ended, and why so.
struct PartEnd {
  transfer::Ending ending = transfer::Ending::kGood;
  Status why;
};
[[nodiscard]] inline PartEnd refused(const Status &why) {
  return {transfer::Ending::kRefused, why};
}
[[nodiscard]] inline PartEnd failed(const Status &why) {
  return {transfer::Ending::kFailed, why};
}
// Where another rank's memory is not reached: what makes no sense is an error for all, and all else is staged.
[[nodiscard]] inline PartEnd not_reached(const Status &why) {
  return why.kind() == ErrorKind::kBadPeer ? failed(why) : refused(why);
}

// Another rank, which has ended so, or not yet, does not do what is waited for. If its word is nonsense, others see an
// error in it, and may look before it is another: so this is one, too.
[[nodiscard]] inline PartEnd gave_up(int rank, const std::optional<transfer::Ending> &ended) {
  const Status why =
      Status::error(ErrorKind::kBackend, "rank " + std::to_string(rank) + " gave up; its own error says why");
  return ended == transfer::Ending::kFailed ? failed(why) : refused(why);
}

// None: it goes on.
using MaybePartEnd = std::optional<PartEnd>;

}  // namespace sluice::ops::coll
