// SPDX-License-Identifier: BSD-3-Clause
#include "ops/queue/carriers.hpp"

#include <fmt/format.h>

#include <string_view>
#include <utility>
#include <vector>

#include "base/knobs.hpp"
#include "base/log.hpp"
#include "ops/comm/assertions.hpp"
#include "ops/comm/comm_state.hpp"
#include "ops/queue/engine_exchange.hpp"
#include "ops/queue/host_messages.hpp"
#include "ops/queue/one_sided.hpp"
#include "plan/queue_engine.hpp"
#include "progress/thread.hpp"
#include "wire/channel.hpp"
#include "wire/host.hpp"

namespace sluice::ops::queue {
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

plan::QueueEngineQuery query_of(MPI_Comm comm, const device::Stream &stream) {
  plan::QueueEngineQuery query;
  query.wanted = plan::queue_engine_of(Knobs::process().text("SLUICE_QUEUE_ENGINE"));
  query.is_asserted = comm != MPI_COMM_NULL && has_queues_only(comm);
  const auto engine = query.wanted == plan::QueueEngine::kAuto ? plan::QueueEngine::kDevice : query.wanted;
  query.is_agreed = is_agreed_engine(engine, !query.is_asserted);
  query.has_channels = stream.has_channels();
  query.comm = reach_of(comm);
  return query;
}

}  // namespace

Status check_threads() {
  int provided = MPI_THREAD_SINGLE;
  if (wire::host().MPI_Query_thread(&provided) == MPI_SUCCESS && provided == MPI_THREAD_MULTIPLE) return {};
  return Status::error(ErrorKind::kUnsupported,
                       "queues need MPI_THREAD_MULTIPLE, for a thread that starts their messages; ask for it with "
                       "MPI_Init_thread, or set SLUICE_PROGRESS_THREAD=1, which does");
}

Status Carriers::carry(const Arguments &given, const transfer::Region &region, MessagePtr *message) {
  return make_plain_message(given, region, message);
}

Status Carriers::carry_signal(const Arguments &given, const rma::WindowPtr &window, std::vector<MessagePtr> behind,
                              MessagePtr *message) {
  *message = make_host_signal(given, window, std::move(behind));
  return {};
}

bool is_within_world(const Arguments &given, int *world_rank) {
  if (given.peer < 0) return false;  // MPI_PROC_NULL
  int is_inter = 0;
  if (wire::host().MPI_Comm_test_inter(given.comm, &is_inter) != MPI_SUCCESS || is_inter != 0) return false;
  return peer_of(given.comm, given.peer, world_rank) != plan::Peer::kUnknown &&
         *world_rank != wire::Channel::process().rank() && is_within_channel(given.comm);
}

Status make_carriers(MPI_Comm comm, const device::Stream &stream, std::unique_ptr<Carriers> *carriers) {
  const plan::QueueEngineQuery query = query_of(comm, stream);
  const plan::QueueEnginePlan plan = choose_queue_engine(query);
  log::debug("plan", [&] { return explain(query, plan); });
  if (plan.reason == plan::QueueEngineReason::kMissing) {
    const auto missing = query.wanted == plan::QueueEngine::kAuto ? plan::QueueEngine::kDevice : query.wanted;
    log::warn_once(
        "queue_engine", "ops",
        fmt::format("a queue was to have the engine {}, which is not there: it has the engine thread", name(missing)));
  }
  if (plan.engine == plan::QueueEngine::kDwq) {
    if (Status status = make_deferred_work(carriers); !status.is_ok()) return status;
  } else if (plan.engine == plan::QueueEngine::kDevice) {
    *carriers = make_device_channels(stream);
  } else {
    *carriers = std::make_unique<Carriers>();
  }
  if (Status status = check_threads(); !status.is_ok()) return status;
  // It looks at the trigger while the program computes.
  static std::mutex mutex;
  const std::scoped_lock lock(mutex);
  return progress::ProgressThread::process().start();
}

}  // namespace sluice::ops::queue
