// SPDX-License-Identifier: BSD-3-Clause
// The messages of the engine `device`: how each side of a channel carries one (docs/adr/0033), in a stream or in a
// graph (0057). `region` is that of classify_buffer(), and `stream` outlives the message while something is enqueued.
// Threads: one at a time for a queue, as its calls.
#pragma once

#include <vector>

#include "base/status.hpp"
#include "device/stream.hpp"
#include "ops/queue/channel_end.hpp"
#include "ops/queue/message.hpp"

namespace sluice::ops::queue {

// A message on the channel of that key; a send waits until those of `behind` are complete. Errors: the host MPI
// refuses.
[[nodiscard]] Status make_channel_message(const Arguments &given, const transfer::Region &region,
                                          const device::Stream &stream, const ChannelKey &key,
                                          const std::vector<MessagePtr> &behind, MessagePtr *message);

// A message that the program captures into a graph of its runtime, by enqueuing it while the queue's stream is
// captured: every launch of the graph sends, or receives, one message. They are matched once, as MPI-4 matches
// partitioned ones: the n-th captured send to a rank with a tag on a communicator with the n-th captured receive there,
// and never with a message that is not captured. Each pair has a channel of its own (channel_end.hpp), of two slots.
// `key`: the channel of `given` with no number of a capture, null where it has none (MPI_PROC_NULL). Errors: no graph
// can have this message, and why.
[[nodiscard]] Status make_captured_message(const Arguments &given, const transfer::Region &region,
                                           const device::Stream &stream, const ChannelKey *key, MessagePtr *message);

}  // namespace sluice::ops::queue
