// SPDX-License-Identifier: BSD-3-Clause
#include "ops/life/life.hpp"

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <exception>
#include <optional>
#include <string>
#include <vector>

#include "base/knobs.hpp"
#include "base/log.hpp"
#include "base/output_file.hpp"
#include "base/own_references.hpp"
#include "base/rank_in_path.hpp"
#include "base/statistics.hpp"
#include "base/trace.hpp"
#include "base/waiting.hpp"
#include "device/copy.hpp"
#include "device/device_memory.hpp"
#include "device/host_registration.hpp"
#include "device/ipc_exports.hpp"
#include "device/ipc_imports.hpp"
#include "device/queue.hpp"
#include "device/registry.hpp"
#include "device/staging_pool.hpp"
#include "network/network.hpp"
#include "ops/coll/levels/node_levels.hpp"
#include "ops/coll/node/request_group.hpp"
#include "ops/comm/comm_state.hpp"
#include "ops/datatype/layout_of.hpp"
#include "ops/env/wait_words.hpp"
#include "ops/p2p/partitioned_match.hpp"
#include "ops/p2p/permissions.hpp"
#include "ops/queue/engine_exchange.hpp"
#include "ops/queue/queues.hpp"
#include "ops/request/turns.hpp"
#include "ops/rma/window.hpp"
#include "ops/stream/streams.hpp"
#include "plan/collective_terms.hpp"
#include "plan/policy.hpp"
#include "plan/tuning.hpp"
#include "progress/engine.hpp"
#include "progress/thread.hpp"
#include "progress/tracked_requests.hpp"
#include "wire/channel.hpp"
#include "wire/host.hpp"

namespace sluice::ops {
namespace {

std::atomic<int> world_rank{0};

void print_statistics() {
  const int rank = world_rank.load(std::memory_order_relaxed);
  const std::string &mode = Knobs::process().text("SLUICE_STATS");
  if (mode == "all" || ((mode == "rank0" || mode == "1") && rank == 0)) {
    std::fputs(statistics::to_text(rank).c_str(), stderr);
  }
  std::string path = Knobs::process().text("SLUICE_STATS_FILE");
  if (path.empty()) return;
  if (!put_rank(&path, rank) && rank != 0) return;  // one file, and rank 0's it is
  const Status status = write_file(path, statistics::to_json(rank), "the statistics", "SLUICE_STATS_FILE");
  if (!status.is_ok()) log::error("ops", status.message());
}

void write_trace() {
  if (!trace::is_enabled()) return;
  const int rank = world_rank.load(std::memory_order_relaxed);
  const Status status = trace::write(trace::file_of(Knobs::process().text("SLUICE_TRACE"), rank), rank);
  if (!status.is_ok()) log::error("ops", status.message());
}

// From which length on this rank would carry collective operations out together: the shortest that its backends ask
// for, of those that are in the process by now, else the setting's.
std::uint64_t length_of_loaded(std::uint64_t plan::Policy::*length, const char *setting) {
  std::optional<std::uint64_t> least;
  for (const device::Backend *backend : device::Registry::process().backends()) {
    const std::uint64_t bytes = plan::policy_of(backend, 0).*length;
    least = std::min(least.value_or(bytes), bytes);
  }
  return least.value_or(Knobs::process().bytes(setting));
}

// What it brings to the agreement: the same; where there are no backends yet, what tables say of any device of those
// that may be there later. (Many programs come to their devices after MPI_Init.)
std::uint64_t collective_length(std::uint64_t plan::Policy::*length, const char *setting) {
  std::optional<std::uint64_t> least;
  if (device::Registry::process().backends().empty()) {
    // Looked for once: that takes milliseconds.
    static const std::vector<std::string> expected = device::Registry::process().expected();
    for (const std::string &name : expected) {
      const std::optional<std::uint64_t> bytes = plan::tuned_number_of_any(name, setting);
      if (bytes) least = std::min(least.value_or(*bytes), *bytes);
    }
  }
  return least ? *least : length_of_loaded(length, setting);
}

using LengthFunction = std::uint64_t (*)(std::uint64_t plan::Policy::*, const char *);

plan::Policy lengths_by(LengthFunction length) {
  plan::Policy policy;
  policy.coll_ipc_threshold_bytes = length(&plan::Policy::coll_ipc_threshold_bytes, "coll_ipc_threshold");
  policy.coll_reduce_threshold_bytes = length(&plan::Policy::coll_reduce_threshold_bytes, "coll_reduce_threshold");
  policy.coll_levels_threshold_bytes = length(&plan::Policy::coll_levels_threshold_bytes, "coll_levels_threshold");
  policy.coll_segment_threshold_bytes = length(&plan::Policy::coll_segment_threshold_bytes, "coll_segment_threshold");
  policy.coll_segment_bytes = length(&plan::Policy::coll_segment_bytes, "coll_segment");
  return policy;
}

// Collective. Ranks on which no device memory can turn up need no channel; one on which it can is enough for all.
void open_channel() {
  const Knobs &knobs = Knobs::process();
  const bool has_use = knobs.text("SLUICE_P2P_IPC") != "off" || knobs.text("SLUICE_P2P_PIPELINE") != "none";
  const CollectiveTerms terms = plan::collective_terms(lengths_by(&collective_length), lengths_by(&length_of_loaded));
  const Status status = wire::Channel::process().open(has_use, device::Registry::process().may_have_devices(), terms);
  if (!status.is_ok()) log::error("ops", status.message());
  coll::NodeLevels::make_for_world();
  coll::RequestGroup::make_ahead(MPI_COMM_WORLD);
}

// Sees off what is under way, here and at the others: a peer may still wait for an acknowledgement.
void close_channel() {
  wire::Channel &channel = wire::Channel::process();
  if (!channel.is_open()) return;
  const CallOnComm call{"MPI_Finalize", MPI_COMM_WORLD};
  const waiting::Described described(&tell_call_on_comm, &call);
  MPI_Request request = MPI_REQUEST_NULL;
  PartitionedMatch::give_up_soon();
  rma::end_windows();
  progress::turn_until([] { return !progress::Engine::process().is_busy(); });
  if (wire::host().MPI_Ibarrier(channel.comm(), &request) == MPI_SUCCESS) {
    if (wait_in_turns(&request, MPI_STATUS_IGNORE) != MPI_SUCCESS) log::warn("ops", "the last barrier failed");
  }
  if (!Permissions::process().drain()) log::warn("ops", "the last permissions were not received");
  network::Network::process().close();
  release_comm_states();
  channel.close();
}

bool wants_progress_thread() {
  return Knobs::process().is_on("SLUICE_PROGRESS_THREAD");
}

// After the channel: without one there is never anything to do.
void start_progress_thread() {
  if (!wants_progress_thread() || !wire::Channel::process().is_open()) return;
  int provided = MPI_THREAD_SINGLE;
  if (wire::host().MPI_Query_thread(&provided) != MPI_SUCCESS || provided != MPI_THREAD_MULTIPLE) {
    log::warn("ops",
              "no progress thread: this host MPI does not give MPI_THREAD_MULTIPLE; unset SLUICE_PROGRESS_THREAD");
    return;
  }
  const Status status = progress::ProgressThread::process().start();
  if (!status.is_ok()) log::error("ops", status.message());
}

}  // namespace

bool wants_all_threads() noexcept {
  try {
    if (wants_progress_thread()) return true;
    return program_refers_to("MPIX_Stream_comm_create") && !stream::are_left_to_host();
  } catch (const std::exception &) {
    return false;  // no memory for the knobs: begin() says so
  }
}

void prepare() noexcept {
  device::Registry::process().refresh();
}

void begin(bool has_world) noexcept {
  try {
    const Knobs &knobs = Knobs::process();
    int rank = 0;
    if (has_world && wire::host().MPI_Comm_rank(MPI_COMM_WORLD, &rank) == MPI_SUCCESS) {
      world_rank.store(rank, std::memory_order_relaxed);
      log::set_rank(rank);
    }
    int size = 1;
    if (has_world && wire::host().MPI_Comm_size(MPI_COMM_WORLD, &size) == MPI_SUCCESS) waiting::open(rank, size);
    const std::string &mode = knobs.text("SLUICE_STATS");
    if ((mode != "off" && mode != "0") || !knobs.text("SLUICE_STATS_FILE").empty()) statistics::enable();
    if (!knobs.text("SLUICE_TRACE").empty()) trace::enable();
    // First of all: ranks take unlike times for what comes then.
    if (has_world) {
      const Status status = wire::Channel::process().gather();
      if (!status.is_ok()) log::error("ops", status.message());
    }
    device::Registry::process().refresh();
    if (has_world) {
      open_channel();
      queue::open_engines();
      start_progress_thread();
    }
  } catch (const std::exception &error) {
    log::error("ops", std::string("start: ") + error.what());
  }
}

void end() noexcept {
  try {
    progress::ProgressThread::process().stop();
    progress::TrackedRequests::process().wait_for_adopted();
    close_channel();
    waiting::close();
    queue::release_queues();
    stream::release_comm_streams();
    print_statistics();
    write_trace();
    release_datatypes();
    device::IpcImports::process().clear();
    device::IpcExports::process().clear();
    device::release_device_memory();
    device::release_host_registrations();
    device::release_queues();
    device::StagingPool::process().trim();
  } catch (const std::exception &error) {
    log::error("ops", std::string("end: ") + error.what());
  }
}

}  // namespace sluice::ops
