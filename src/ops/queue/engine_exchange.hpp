// SPDX-License-Identifier: BSD-3-Clause
// What the engines of queues need of each other when MPI begins, so that no call of the program's has to wait for
// another rank: addresses (dwq), a communicator (device). Threads: the one that begins and ends MPI, but for questions.
#pragma once

#include "plan/queue_engine.hpp"

namespace sluice::ops::queue {

// Collective over MPI_COMM_WORLD where the channel is open; opens something where all ranks asked for the same engine,
// and the channels of `device` where all of them may have queues and none asked for another.
// A rank that cannot open its part of dwq is known to all as one that is not reached there: messages to and from it
// go by the host MPI. In MPI_Init. Blocks.
void open_engines() noexcept;

// Whether all ranks have begun `engine`, and asked for it by name where it `is_named`. The same on all ranks. Any
// thread.
[[nodiscard]] bool is_agreed_engine(plan::QueueEngine engine, bool is_named) noexcept;

// After the last message, in MPI_Finalize. Blocks for the other ranks where the engine device is open.
void close_engines() noexcept;

}  // namespace sluice::ops::queue
