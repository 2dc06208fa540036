// SPDX-License-Identifier: BSD-3-Clause
// ChannelPairs: which peers of which communicators a queue's messages can reach by channels.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/status.hpp"
#include "ops/queue/carrier.hpp"
#include "ops/queue/channel_end.hpp"

namespace sluice::ops::queue {

// Of one queue. One thread at a time.
class ChannelPairs {
 public:
  // Both sides of a message come to the same answer: it hangs on what both know of the pair and of the communicator.
  // *key: the channel of `given`, where *is_reached. Hot for a pair that was found before; else some calls of the host
  // MPI, for whose lock a progress thread may be waited for. Errors: the communicator cannot be told from another one.
  [[nodiscard]] Status find(const Arguments &given, bool *is_reached, ChannelKey *key);

 private:
  struct Pair {
    MPI_Comm comm;
    int peer;
    ChannelKey key;  // but for the tag
  };
  // As many as a rank has neighbours in three dimensions, and some more.
  static constexpr std::size_t kMost = 32;
  std::vector<Pair> reached_;
  std::uint64_t n_comms_gone_ = 0;  // when the first of them was found
};

}  // namespace sluice::ops::queue
