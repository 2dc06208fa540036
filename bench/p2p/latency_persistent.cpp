// SPDX-License-Identifier: BSD-3-Clause
// latency_persistent: a ping-pong with MPI_Send_init, MPI_Recv_init and MPI_Start, as osu_latency_persistent.
#include "bench/p2p/latency.hpp"

namespace sluice::bench {
namespace {

const Registration latency_persistent(pair_test<PingPong<PersistentCalls>>(
    {.name = "latency_persistent", .title = "ping-pong with persistent requests"}));

}  // namespace
}  // namespace sluice::bench
