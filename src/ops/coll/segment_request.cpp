// SPDX-License-Identifier: BSD-3-Clause
#include "ops/coll/segment_request.hpp"

#include <fmt/format.h>

#include <exception>
#include <string>
#include <utility>

#include "base/log.hpp"
#include "ops/coll/general_request.hpp"
#include "ops/env/errors.hpp"
#include "progress/host_turns.hpp"
#include "wire/host.hpp"

namespace sluice::ops::coll {
namespace {

using plan::SegmentAbility;

// What a rank says that has an error already: all get one then.
constexpr int kFailed = -1;

Status failure_of(const Call &call, const Status &own) {
  if (!own.is_ok()) return own;
  return Status::error(ErrorKind::kBackend, fmt::format("another rank of the communicator could not do its part of {}; "
                                                        "its own error says why",
                                                        name(call.operation)));
}

}  // namespace

SegmentRequest::SegmentRequest(const Call &call, const Member &member, Sides sides, const plan::SegmentQuery &query,
                               SegmentGroupPtr group)
    : Tracked(call.comm, call.form == Form::kPersistent),
      call_(call),
      member_(member),
      sides_(std::move(sides)),
      query_(query),
      group_(std::move(group)) {
  call_.comm = group_->data();
}

int SegmentRequest::make(const Call &call, const Member &member, Sides sides, const Status &classified,
                         const plan::SegmentQuery &query, SegmentGroupPtr group) {
  const auto made = std::make_shared<SegmentRequest>(call, member, std::move(sides), query, std::move(group));
  if (Status status = made->types_.replace(member, &made->call_); !status.is_ok()) return raise(call.comm, status);
  // Hidden before anybody can find it.
  made->is_hidden_.store(!made->is_persistent(), std::memory_order_release);
  const int result = make_request(call, made, &made->request_);
  if (result != MPI_SUCCESS || made->is_persistent()) return result;
  made->begin(classified, made);
  return MPI_SUCCESS;
}

int SegmentRequest::start_again(const std::shared_ptr<Tracked> &self, MPI_Request * /*request*/) {
  is_hidden_.store(true, std::memory_order_release);
  begin({}, std::static_pointer_cast<SegmentRequest>(self));
  return MPI_SUCCESS;
}

// Memory ran out on this rank: no reason to leave the others waiting.
SegmentAbility SegmentRequest::open() noexcept {
  try {
    cut_ = std::make_unique<CutCall>(call_, member_);
    return cut_->open(sides_, &query_);
  } catch (const std::exception &error) {
    log::debug("ops", error.what());
    return SegmentAbility::kNone;
  }
}

void SegmentRequest::begin(const Status &classified, const std::shared_ptr<SegmentRequest> &self) {
  watch_ = statistics::Stopwatch();
  classified_ = classified;
  result_ = {};
  phase_ = Phase::kAsking;
  const int own = classified.is_ok() ? static_cast<int>(open()) : kFailed;
  question_.say(own, query_.longest_bytes);
  group_->join(this);
  // In the order of the calls, on all ranks.
  const int code = question_.start(group_->questions(), &host_request_);
  if (code != MPI_SUCCESS) {
    host_request_ = MPI_REQUEST_NULL;
    question_.say(kFailed, 0);
    if (classified_.is_ok()) classified_ = host_error(call_, code);
  }
  progress::Engine::process().watch(self);
}

bool SegmentRequest::advance() {
  // A peer may need a message to move in the host MPI before it comes to this call.
  constexpr unsigned kStepsBetween = 32;
  if (++n_steps_ % kStepsBetween == 0) progress::HostTurns::serve_host();
  try {
    return go_on();
  } catch (const std::exception &error) {
    return complete(
        Status::error(ErrorKind::kOutOfMemory, std::string("out of memory inside Sluice (") + error.what() + ")"));
  }
}

bool SegmentRequest::has_come(Status *failure) {
  int is_done = 0;
  const int code = wire::host().MPI_Test(&host_request_, &is_done, MPI_STATUS_IGNORE);
  if (code == MPI_SUCCESS) return is_done != 0;
  *failure = host_error(call_, code);
  return true;
}

bool SegmentRequest::go_on() {
  Status failure;
  switch (phase_) {
    case Phase::kAsking:
      if (!has_come(&failure)) return false;
      return failure.is_ok() ? decide() : complete(std::move(failure));
    case Phase::kWaiting:
      return begin_data();
    case Phase::kCutting: {
      if (!cut_->advance()) return false;
      question_.say(cut_->failure().is_ok() ? 1 : 0, 0);
      const int code = question_.start(group_->data(), &host_request_);
      if (code != MPI_SUCCESS) return complete(host_error(call_, code));
      group_->leave(this);
      phase_ = Phase::kEnding;
      return false;
    }
    case Phase::kEnding:
      if (!has_come(&failure)) return false;
      return failure.is_ok() ? end() : complete(std::move(failure));
    case Phase::kWhole: {
      if (!has_come(&failure)) return false;
      if (!failure.is_ok()) return complete(std::move(failure));
      const statistics::Stopwatch watch;
      Status status = sides_.copy_up();
      sides_.recv.record(call_.operation, watch.elapsed());
      return complete(std::move(status));
    }
  }
  return true;
}

bool SegmentRequest::decide() {
  if (question_.least() == kFailed) return complete(failure_of(call_, classified_));
  question_.answer(&query_);
  const plan::SegmentPlan plan = choose_segments(query_);
  if (log::level() >= log::Level::kDebug) {
    log::debug("plan", std::string(name(call_.operation)) + ": " + explain(member_.size, query_, plan));
  }
  if (plan.n_segments == 1) {
    cut_.reset();
  } else {
    cut_->begin(query_, plan);
  }
  phase_ = Phase::kWaiting;
  return begin_data();
}

bool SegmentRequest::begin_data() {
  if (!group_->is_first(this)) return false;
  if (cut_ == nullptr) return begin_whole();
  phase_ = Phase::kCutting;
  return false;
}

// As the call would have been staged without the others. A rank that fails here leaves them waiting, as it would then.
bool SegmentRequest::begin_whole() {
  const statistics::Stopwatch watch;
  if (!has_staging_) {
    whole_ = call_;
    if (Status status = sides_.open(&whole_); !status.is_ok()) return complete(std::move(status));
    has_staging_ = true;
  }
  if (Status status = sides_.copy_down(); !status.is_ok()) return complete(std::move(status));
  const auto start = is_persistent() ? whole_.start_once : whole_.start;
  const int code = start(whole_, &host_request_);
  if (code != MPI_SUCCESS) return complete(host_error(call_, code));
  sides_.send.record(call_.operation, watch.elapsed());
  group_->leave(this);
  phase_ = Phase::kWhole;
  return false;
}

bool SegmentRequest::end() {
  if (question_.least() == 0) return complete(failure_of(call_, cut_->failure()));
  for (const CollectiveSide *side : {&sides_.send, &sides_.recv}) {
    if (side->is_staged()) {
      side->record(call_.operation, Route::kPipelined, watch_.elapsed());
    } else {
      side->record(call_.operation, watch_.elapsed());
    }
  }
  return complete({});
}

bool SegmentRequest::complete(Status result) {
  group_->leave(this);
  cut_.reset();
  result_ = std::move(result);
  if (!is_persistent() && wire::host().MPI_Grequest_complete(request_) != MPI_SUCCESS && result_.is_ok()) {
    result_ = Status::error(ErrorKind::kBackend, "the host MPI could not complete a generalized request");
  }
  is_hidden_.store(false, std::memory_order_release);
  return true;
}

}  // namespace sluice::ops::coll
