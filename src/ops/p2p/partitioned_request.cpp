// SPDX-License-Identifier: BSD-3-Clause
#include "ops/p2p/partitioned_request.hpp"

#include <exception>
#include <string>
#include <utility>

#include "base/bad_peer.hpp"
#include "progress/host_turns.hpp"
#include "wire/host.hpp"
#include "wire/host_failure.hpp"
#include "wire/status.hpp"

namespace sluice::ops {

PartitionedRequest::PartitionedRequest(Operation operation, MPI_Comm communicator, const Arguments &arguments)
    : Tracked(communicator, true),
      operation_(operation),
      arguments_(arguments),
      stages_(
          std::make_unique<std::atomic<Stage>[]>(is_sender() ? 0 : static_cast<std::size_t>(arguments.n_partitions))),
      ready_starts_(is_sender() ? static_cast<std::size_t>(arguments.n_partitions) : 0),
      given_starts_(ready_starts_) {}

// ---- partitions of a send

Status PartitionedRequest::ready(int low, int high, bool *tells_host) {
  *tells_host = false;
  if (high < low || !has_partition(low) || !has_partition(high) || !is_sender()) {
    *tells_host = is_staged();  // for the host MPI to refuse
    return *tells_host ? Status() : not_to_send();
  }
  // As long as the way is not known, too: then what goes wrong is told here, as in any other start.
  if (way() != Way::kDirect) {
    if (Status status = bring_down(low, high); !status.is_ok()) return status;
  }
  return mark_ready(low, high, tells_host);
}

Status PartitionedRequest::bring_down(int low, int high) {
  const statistics::Stopwatch watch;
  const int n = high - low + 1;
  if (side.is_staged()) {
    if (Status status = side.copy_elements_down(low * arguments_.count, n * arguments_.count); !status.is_ok()) {
      return status;
    }
  }
  if (is_staged()) record(0, bytes_of(n), watch.elapsed(), side.route());
  return {};
}

Status PartitionedRequest::mark_ready(int low, int high, bool *tells_host) {
  const std::scoped_lock lock(mutex_);
  *tells_host = is_staged();
  if (Status status = refuse_ready(low, high); !status.is_ok()) return status;
  for (int i = low; i <= high; ++i) {
    ready_starts_[static_cast<std::size_t>(i)] = start_;
    if (way() == Way::kDirect) words_.set_ready(static_cast<std::uint64_t>(i), start_);
  }
  if (way() == Way::kDirect) record(0, bytes_of(high - low + 1), {}, Route::kIpc);
  return {};
}

Status PartitionedRequest::not_to_send() const {
  return Status::error(ErrorKind::kInvalidArgument,
                       is_sender() ? "there is no such partition; give a number from 0 to one less than the request has"
                                   : "partitions of a receive are made ready by its sender alone (MPI_Psend_init); ask "
                                     "for them by MPI_Parrived");
}

// With mutex_. What the host MPI moves it judges itself, as far as it knows of it.
Status PartitionedRequest::refuse_ready(int low, int high) const {
  if (!is_active()) {
    if (is_staged()) return {};
    return Status::error(ErrorKind::kInvalidArgument,
                         "a partition was made ready (MPI_Pready, sluice_pready_on_stream) and the request is not "
                         "started; call MPI_Start first");
  }
  for (int i = low; i <= high; ++i) {
    const auto at = static_cast<std::size_t>(i);
    const bool is_given = given_starts_[at] == start_ || (flags_ != nullptr && flags_->is_set(i, start_));
    if (!is_given && (ready_starts_[at] != start_ || is_staged())) continue;
    return Status::error(
        ErrorKind::kInvalidArgument,
        "partition " + std::to_string(i) +
            " was made ready (MPI_Pready, sluice_pready_on_stream) twice in one start; make each ready once");
  }
  return {};
}

// ---- partitions of a receive

bool PartitionedRequest::claim(int partition) const noexcept {
  Stage seen = Stage::kOwed;
  return stage(partition).compare_exchange_strong(seen, Stage::kCopying, std::memory_order_acq_rel);
}

void PartitionedRequest::set_stages(int first, int end, Stage stage) const noexcept {
  for (int i = first; i < end; ++i) {
    this->stage(i).store(stage, std::memory_order_release);
    this->stage(i).notify_all();
  }
}

Status PartitionedRequest::arrived(int first, int n) {
  const int end = first + n;
  for (int i = first; i < end;) {
    // Neighbours go up in one copy.
    int claimed_end = i;
    while (claimed_end < end && claim(claimed_end)) ++claimed_end;
    if (claimed_end == i) {
      stage(i).wait(Stage::kCopying, std::memory_order_acquire);
      if (stage(i).load(std::memory_order_acquire) == Stage::kDone) ++i;
      continue;
    }
    const statistics::Stopwatch watch;
    Status status = side.copy_elements_up(i * arguments_.count, (claimed_end - i) * arguments_.count);
    set_stages(i, claimed_end, status.is_ok() ? Stage::kDone : Stage::kOwed);
    if (!status.is_ok()) return status;
    record(0, bytes_of(claimed_end - i), watch.elapsed(), side.route());
    i = claimed_end;
  }
  return {};
}

Status PartitionedRequest::look(int partition, bool *has_arrived) {
  *has_arrived = false;
  if (is_sender() || !has_partition(partition)) {
    return Status::error(ErrorKind::kInvalidArgument,
                         "MPI_Parrived was given a partition that this request does not have to receive; give a "
                         "partition of a receive, numbered from 0");
  }
  // As MPI has it, an inactive request has all of its partitions.
  if (!is_active()) {
    *has_arrived = true;
    return {};
  }
  const std::scoped_lock lock(mutex_);
  if (way() != Way::kDirect) return {};
  if (!is_hidden() && !outcome_.is_ok()) return outcome_;
  const std::uint64_t size_bytes = bytes_of(1);
  *has_arrived = taker_->has_taken(start_, static_cast<std::uint64_t>(partition) * size_bytes, size_bytes);
  return {};
}

// ---- starts

int PartitionedRequest::start_again(const std::shared_ptr<Tracked> &self, MPI_Request *request) {
  {
    const std::scoped_lock lock(mutex_);
    ++start_;
    handing_on_ = {};
    if (flags_ != nullptr) flags_->begin(start_);
    if (are_flags_given_) look_at_flags();
    if (!is_staged()) {
      outcome_ = {};
      is_apart_.store(true, std::memory_order_release);
      is_hidden_.store(true, std::memory_order_release);
      if (way() == Way::kDirect) {
        begin_direct();
      } else {
        is_waiting_ = true;
      }
      return MPI_SUCCESS;
    }
  }
  return start_host(self, request);
}

int PartitionedRequest::start_host(const std::shared_ptr<Tracked> &self, MPI_Request *request) {
  is_apart_.store(false, std::memory_order_release);
  // Before the host MPI starts it: a thread may see a partition arrive before MPI_Start returns to this one.
  if (!is_sender()) set_stages(0, arguments_.n_partitions, Stage::kOwed);
  const int result = Tracked::start_again(self, request);
  if (result == MPI_SUCCESS) {
    record(1, 0, {}, side.route());
  } else if (!is_sender()) {
    set_stages(0, arguments_.n_partitions, Stage::kDone);
  }
  return result;
}

// With mutex_.
void PartitionedRequest::begin_direct() {
  if (taker_ != nullptr) taker_->begin(start_);
  record(1, 0, {}, Route::kIpc);
  progress::Engine::process().watch(shared_from_this());
}

void PartitionedRequest::go_staged() {
  {
    const std::scoped_lock lock(mutex_);
    if (!is_waiting_) {
      way_.store(Way::kStaged, std::memory_order_release);
      return;
    }
  }
  // Until the host MPI has started it, threads that make partitions ready leave them to this one.
  MPI_Request request = request_;
  int code = start_host(shared_from_this(), &request);
  std::vector<int> recorded;
  {
    const std::scoped_lock lock(mutex_);
    is_waiting_ = false;
    way_.store(Way::kStaged, std::memory_order_release);
    for (std::size_t i = 0; i < ready_starts_.size(); ++i) {
      if (ready_starts_[i] == start_) recorded.push_back(static_cast<int>(i));
    }
  }
  for (const int partition : recorded) {
    if (code == MPI_SUCCESS) code = wire::host().MPI_Pready(partition, request);
  }
  record(0, bytes_of(static_cast<int>(recorded.size())), {}, side.route());
  if (code != MPI_SUCCESS) {
    is_apart_.store(true, std::memory_order_release);
    outcome_ = wire::host_failure(code, "start a partitioned operation");
  }
  is_hidden_.store(false, std::memory_order_release);
}

void PartitionedRequest::go_directly(const PartitionMemory &landing, int world_peer) {
  const std::scoped_lock lock(mutex_);
  landing_ = landing;
  world_peer_ = world_peer;
  decide_directly();
}

void PartitionedRequest::go_directly(std::unique_ptr<PartitionTaker> taker) {
  const std::scoped_lock lock(mutex_);
  taker_ = std::move(taker);
  decide_directly();
}

// With mutex_.
void PartitionedRequest::decide_directly() {
  way_.store(Way::kDirect, std::memory_order_release);
  if (!std::exchange(is_waiting_, false)) return;
  begin_direct();
  int n_ready = 0;
  for (std::size_t i = 0; i < ready_starts_.size(); ++i) {
    if (ready_starts_[i] != start_) continue;
    words_.set_ready(i, start_);
    ++n_ready;
  }
  record(0, bytes_of(n_ready), {}, Route::kIpc);
}

// ---- a start that goes directly

bool PartitionedRequest::advance() {
  // A peer may need a message to move in the host MPI before it comes to this one.
  constexpr unsigned kStepsBetween = 32;
  if (++n_steps_ % kStepsBetween == 0) progress::HostTurns::serve_host();
  try {
    return go_on();
  } catch (const std::exception &error) {
    return complete(Status::of_exception(error));
  }
}

bool PartitionedRequest::go_on() {
  if (is_sender()) {
    const std::uint64_t taken = words_.taken();
    // A receiver that failed has not waited for streams, whose commands use these words.
    if (taken < start_ || !have_streams_come()) return false;
    if (taken == start_) return complete(handing_on_);
    return complete(
        bad_peer("the receiver of a partitioned message says that it has taken what cannot be, and what it received is "
                 "not known"));
  }
  PartitionTaker::Came came;
  Status status = taker_->advance(&came);
  if (came.copied_bytes != 0) record(0, came.copied_bytes, {}, Route::kIpc);
  if (came.n_put != 0) record(came.n_put, came.put_bytes, {}, Route::kQueueDevice);
  return status.is_ok() && !came.is_all ? false : complete(std::move(status));
}

// Always true. Whoever looks at the outcome sees it behind is_hidden_.
bool PartitionedRequest::complete(Status outcome) noexcept {
  outcome_ = std::move(outcome);
  is_hidden_.store(false, std::memory_order_release);
  return true;
}

// ---- completion

Status PartitionedRequest::finish(MPI_Status *status) {
  if (is_apart()) return recall(status);
  if (!is_sender()) return arrived(0, arguments_.n_partitions);
  const std::scoped_lock lock(mutex_);
  return handing_on_;
}

Status PartitionedRequest::recall(MPI_Status *status) {
  if (!is_apart()) return {};
  // The host MPI has filled it for an inactive request.
  wire::clear(status);
  status->MPI_SOURCE = is_sender() ? MPI_ANY_SOURCE : arguments_.peer;
  status->MPI_TAG = is_sender() ? MPI_ANY_TAG : arguments_.tag;
  wire::set_received_bytes(status, is_sender() ? 0 : bytes_of(arguments_.n_partitions));
  return outcome_;
}

void PartitionedRequest::record(std::uint64_t calls, std::uint64_t bytes, std::chrono::nanoseconds time,
                                Route route) const noexcept {
  if (!statistics::is_enabled()) return;
  statistics::record(operation_, side.kind(), route, calls, bytes, time);
}

}  // namespace sluice::ops
