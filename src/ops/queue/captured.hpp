// SPDX-License-Identifier: BSD-3-Clause
// Messages that a program captures into a graph of its runtime, by enqueuing them while the queue's stream is captured
// (docs/adr/0057): every launch of the graph sends, or receives, one message. They are matched once, as MPI-4 matches
// partitioned ones: the n-th captured send to a rank with a tag on a communicator with the n-th captured receive there,
// and never with a message that is not captured. Each pair has a channel of its own (channel_end.hpp), of two slots.
#pragma once

#include <vector>

#include "base/status.hpp"
#include "device/place.hpp"
#include "device/stream.hpp"
#include "ops/queue/carrier.hpp"
#include "ops/queue/channel_end.hpp"
#include "ops/queue/message.hpp"

namespace sluice::ops::queue {

// `key`: the channel of `given` with no number of a capture, null where it has none (MPI_PROC_NULL). `stream` outlives
// the carrier. Errors: no graph can have this message, and why.
[[nodiscard]] Status make_captured_carrier(const Arguments &given, const device::Place &place,
                                           const device::Stream &stream, const ChannelKey *key, CarrierPtr *carrier);

// Adds all of them, which may be none, to the graph that `stream` is being captured into. With the lock of Channels.
// Errors: nothing was added; the call may be made again.
[[nodiscard]] Status capture_batch(const device::Stream &stream, const std::vector<MessagePtr> &messages);

// What to say where messages that were captured are started when the capture is over.
[[nodiscard]] Status started_outside_of_capture();

}  // namespace sluice::ops::queue
