// SPDX-License-Identifier: BSD-3-Clause
// The messages of the engine `device`: how each side of a channel carries one (docs/adr/0033).
#pragma once

#include "base/status.hpp"
#include "device/place.hpp"
#include "device/stream.hpp"
#include "ops/queue/carrier.hpp"
#include "ops/queue/channel_end.hpp"

namespace sluice::ops::queue {

// A message on the channel of that key, for `stream`, which outlives the carrier while something is enqueued. Errors:
// the buffer cannot be told what it is.
[[nodiscard]] Status make_channel_carrier(const Arguments &given, const device::Place &place,
                                          const device::Stream &stream, const ChannelKey &key, CarrierPtr *carrier);

}  // namespace sluice::ops::queue
