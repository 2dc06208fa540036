// SPDX-License-Identifier: BSD-3-Clause
#include "ops/p2p/pull_hints.hpp"

#include "wire/channel.hpp"

namespace sluice::ops {

PullHints &PullHints::process() {
  static auto *hints = new PullHints(static_cast<std::size_t>(wire::Channel::process().size()));
  return *hints;
}

PullHints &PullHints::of_host_memory() {
  static auto *hints = new PullHints(static_cast<std::size_t>(wire::Channel::process().size()));
  return *hints;
}

}  // namespace sluice::ops
