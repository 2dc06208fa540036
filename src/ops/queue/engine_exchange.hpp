// SPDX-License-Identifier: BSD-3-Clause
// What the engines of queues that all ranks ask for by name need of each other when MPI begins, so that no call of the
// program's has to wait for another rank: addresses (dwq), a communicator (device). Threads: the one that begins and
// ends MPI.
#pragma once

namespace sluice::ops::queue {

// Collective over MPI_COMM_WORLD where the channel is open; opens something where all ranks asked for the same engine.
// A rank that cannot open its part of dwq is known to all as one that is not reached there: messages to and from it
// go by the host MPI. In MPI_Init. Blocks.
void open_engines() noexcept;

// After the last message, in MPI_Finalize. Blocks for the other ranks where the engine device is open.
void close_engines() noexcept;

}  // namespace sluice::ops::queue
