// SPDX-License-Identifier: BSD-3-Clause
// ChannelPairs: which peers of which communicators a queue's messages can reach by channels.
#pragma once

#include "base/status.hpp"
#include "ops/comm/comm_memo.hpp"
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
    MPI_Comm comm = MPI_COMM_NULL;
    int peer = MPI_PROC_NULL;
    ChannelKey key;  // but for the tag
  };
  // As many as a rank has neighbours in three dimensions, and some more.
  CommMemo<Pair, 32> reached_;
};

}  // namespace sluice::ops::queue
