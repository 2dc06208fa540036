// SPDX-License-Identifier: BSD-3-Clause
// Messages of device memory that a stream copies by itself, to and from pinned memory of Sluice's, while the host MPI
// moves the pinned memory: no thread tells the device anything on their way. A runtime may hold a thread up that does
// so while the program is in a call of the runtime's that waits for the stream (docs/adr/0086).
#pragma once

#include "device/stream.hpp"
#include "ops/queue/host_messages.hpp"
#include "ops/queue/message.hpp"

namespace sluice::ops::queue {

// Whether `region`, what classify_buffer() found, can go so over a stream that can copy: one run of bytes of the
// stream's device. Pure.
[[nodiscard]] bool can_be_copied(const transfer::Region &region, const device::Stream &stream) noexcept;

// Makes such a message, matched by the host MPI; *message stays null where there is no pinned memory. `given` was taken
// by the host MPI. May allocate. Errors: the host MPI refuses to hold the datatype. Any thread.
[[nodiscard]] Status make_copied_message(const Arguments &given, const transfer::Region &region, MessagePtr *message);

// The same for an all-reduce; `checked` is what make_collective_message() made of `given`, which stays where the
// operation cannot go so. Errors: as make_copied_message(). Any thread.
[[nodiscard]] Status make_copied_reduction(const CollectiveArguments &given, const device::Stream &stream,
                                           MessagePtr *checked);

}  // namespace sluice::ops::queue
