// SPDX-License-Identifier: BSD-3-Clause
#include "ops/queue/engine.hpp"

#include <fmt/format.h>

#include <chrono>
#include <string_view>
#include <utility>

#include "base/knobs.hpp"
#include "base/log.hpp"
#include "ops/comm/comm_state.hpp"
#include "ops/queue/channels.hpp"
#include "plan/queue_engine.hpp"
#include "progress/engine.hpp"
#include "wire/fabric.hpp"
#include "wire/host.hpp"

namespace sluice::ops::queue {

Status await_room(const device::Stream &stream, std::uint64_t n_triggers, std::uint64_t least) {
  std::uint64_t seen = stream.triggered();
  if (seen >= least) return {};
  const std::chrono::nanoseconds most = Knobs::process().duration("queue_patience");
  auto since = std::chrono::steady_clock::now();
  progress::Patience patience;
  for (;;) {
    patience.pause();
    const std::uint64_t now_at = stream.triggered();
    if (now_at >= least) return {};
    const auto time = std::chrono::steady_clock::now();
    if (now_at != seen) {
      seen = now_at;
      since = time;
    } else if (time - since > most) {
      return Status::error(
          ErrorKind::kUnsupported,
          fmt::format(
              "{} batches of the queue are enqueued that the stream has not come to, and it has not moved for {} "
              "ms; nothing was enqueued: let the stream go on and call again, or raise queue_depth or "
              "queue_patience (SLUICE_TUNING)",
              n_triggers - now_at, std::chrono::duration_cast<std::chrono::milliseconds>(most).count()));
    }
  }
}

namespace {

// Both sides of a message find the same: what lies where is known to all members.
plan::QueueComm reach_of(MPI_Comm comm) {
  if (comm == MPI_COMM_NULL) return plan::QueueComm::kOfMessages;
  int is_inter = 0;
  int size = 0;
  if (wire::host().MPI_Comm_test_inter(comm, &is_inter) != MPI_SUCCESS || is_inter != 0 ||
      wire::host().MPI_Comm_size(comm, &size) != MPI_SUCCESS) {
    return plan::QueueComm::kUnreached;
  }
  if (size == 1) return plan::QueueComm::kAlone;
  if (!is_within_channel(comm)) return plan::QueueComm::kUnreached;
  int n_here = 0;
  for (int rank = 0; rank < size; ++rank) {
    int world_rank = -1;
    const plan::Peer peer = peer_of(comm, rank, &world_rank);
    if (peer == plan::Peer::kSelf || peer == plan::Peer::kLocal) ++n_here;
  }
  if (n_here == size) return plan::QueueComm::kOneNode;
  return n_here > 1 ? plan::QueueComm::kSomeHere : plan::QueueComm::kElsewhere;
}

bool is_begun(plan::QueueEngine engine) noexcept {
  if (engine == plan::QueueEngine::kDevice) return Channels::process().is_open();
  return engine == plan::QueueEngine::kDwq && wire::Fabric::process().is_open();
}

}  // namespace

Status Carriers::capture(const Arguments & /*given*/, const device::Place & /*place*/, CarrierPtr * /*carrier*/) {
  return Status::error(
      ErrorKind::kUnsupported,
      "the stream is being captured into a graph, which takes messages with SLUICE_QUEUE_ENGINE=device "
      "only; set that on all ranks, or end the capture first");
}

Status make_engine(MPI_Comm comm, std::unique_ptr<device::Stream> stream, std::shared_ptr<Engine> *engine) {
  const plan::QueueEngine wanted = plan::queue_engine_of(Knobs::process().text("SLUICE_QUEUE_ENGINE"));
  const plan::QueueEngineQuery query{wanted, is_begun(wanted), stream->has_channels(), reach_of(comm)};
  const plan::QueueEnginePlan plan = choose_queue_engine(query);
  if (log::level() >= log::Level::kDebug) log::debug("plan", explain(query, plan));
  if (plan.reason == plan::QueueEngineReason::kMissing) {
    const std::string_view missing = name(wanted);
    log::warn_once(
        "queue_engine", "ops",
        fmt::format("a queue was to have the engine {}, which is not there: it has the engine thread", missing));
  }
  std::unique_ptr<Carriers> carriers;
  if (plan.engine == plan::QueueEngine::kDevice) carriers = make_device_channels(*stream);
  if (plan.engine == plan::QueueEngine::kDwq) {
    if (Status status = make_deferred_work(&carriers); !status.is_ok()) return status;
  }
  return make_thread_engine(std::move(stream), std::move(carriers), engine);
}

}  // namespace sluice::ops::queue
