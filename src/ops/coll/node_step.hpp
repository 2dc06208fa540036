// SPDX-License-Identifier: BSD-3-Clause
// How a rank's part of a call that the ranks of a node carry out together goes on.
#pragma once

#include <optional>

#include "base/status.hpp"
#include "transfer/board.hpp"

namespace sluice::ops::coll {

// How this rank's part ended, and why so.
struct Moved {
  transfer::Ending ending = transfer::Ending::kGood;
  Status why;
};
[[nodiscard]] inline Moved refused(const Status &why) {
  return {transfer::Ending::kRefused, why};
}
[[nodiscard]] inline Moved failed(const Status &why) {
  return {transfer::Ending::kFailed, why};
}

// None: it goes on.
using Step = std::optional<Moved>;

}  // namespace sluice::ops::coll
