// SPDX-License-Identifier: BSD-3-Clause
#include "ops/coll/requests/engine_request.hpp"

#include <exception>
#include <string>
#include <utility>

#include "ops/coll/fold/rank_order.hpp"
#include "ops/coll/requests/general_request.hpp"
#include "ops/env/errors.hpp"
#include "progress/host_turns.hpp"
#include "wire/host.hpp"
#include "wire/host_failure.hpp"

namespace sluice::ops::coll {

EngineRequest::EngineRequest(const Call &call, const Member &member, Sides sides)
    : Tracked(call.comm, call.form == Form::kPersistent), call_(call), member_(member), sides_(std::move(sides)) {}

int EngineRequest::make(const std::shared_ptr<EngineRequest> &made, const Status &classified) {
  if (Status status = made->types_.replace(made->member_, &made->call_); !status.is_ok()) {
    return raise(made->communicator(), status);
  }
  if (made->call_.facts.is_in_rank_order) {
    const Status found = FoldGroup::of(made->communicator(), &made->fold_group_);
    if (!found.is_ok()) return raise(made->communicator(), found);
  }
  // Hidden before anybody can find it.
  made->is_hidden_.store(!made->is_persistent(), std::memory_order_release);
  const int result = make_request(made->call_, made, &made->request_);
  if (result != MPI_SUCCESS || made->is_persistent()) return result;
  made->classified_ = classified;
  if (made->fold_group_ != nullptr) made->fold_group_->order().join(made.get());
  made->begin(made);
  return MPI_SUCCESS;
}

int EngineRequest::start_again(const std::shared_ptr<Tracked> &self, MPI_Request * /*request*/) {
  is_hidden_.store(true, std::memory_order_release);
  classified_ = sides_.refusal();
  result_ = {};
  if (fold_group_ != nullptr) fold_group_->order().join(this);
  begin(std::static_pointer_cast<EngineRequest>(self));
  return MPI_SUCCESS;
}

bool EngineRequest::advance() {
  // A peer may need a message to move in the host MPI before it comes to this call.
  constexpr unsigned kStepsBetween = 32;
  if (++n_steps_ % kStepsBetween == 0) progress::HostTurns::serve_host();
  try {
    return go_on();
  } catch (const std::exception &error) {
    return complete(Status::of_exception(error));
  }
}

bool EngineRequest::complete(Status result) {
  leave();
  if (fold_group_ != nullptr) fold_group_->order().leave(this);
  fold_.reset();
  result_ = std::move(result);
  const int code = is_persistent() ? MPI_SUCCESS : wire::host().MPI_Grequest_complete(request_);
  if (code != MPI_SUCCESS && result_.is_ok()) result_ = wire::host_failure(code, "complete a generalized request");
  is_hidden_.store(false, std::memory_order_release);
  return true;
}

Status EngineRequest::stage(MPI_Comm comm) {
  const statistics::Stopwatch watch;
  // A refused side takes part, and copies nothing.
  if (!classified_.is_ok() && sides_.refusal().is_ok()) return classified_;
  if (!has_staging_) {
    staged_ = call_;
    staged_.comm = comm;
    if (Status status = sides_.open(&staged_); !status.is_ok()) return status;
    has_staging_ = true;
  }
  if (Status status = sides_.copy_down_uncompared(call_.pattern); !status.is_ok()) return status;
  if (fold_group_ != nullptr) {
    say_fold(staged_);
    fold_ = std::make_unique<PendingFold>(fold_group_, this, staged_, member_);
    sides_.send.record(call_.operation, watch.elapsed());
    return {};
  }
  const auto start = is_persistent() ? staged_.start_once : staged_.start;
  const int code = start(staged_, &host_request_);
  if (code != MPI_SUCCESS) return host_error(call_, code);
  sides_.send.record(call_.operation, watch.elapsed());
  return {};
}

bool EngineRequest::has_come(Status *failure) {
  int is_done = 0;
  int code = MPI_SUCCESS;
  if (fold_ != nullptr) {
    is_done = fold_->advance(&code) ? 1 : 0;
  } else {
    code = wire::host().MPI_Test(&host_request_, &is_done, MPI_STATUS_IGNORE);
  }
  if (code == MPI_SUCCESS) return is_done != 0;
  *failure = host_error(call_, code);
  return true;
}

bool EngineRequest::go_on_staged() {
  Status failure;
  if (!has_come(&failure)) return false;
  if (!failure.is_ok()) return complete(std::move(failure));
  const statistics::Stopwatch watch;
  Status status = sides_.copy_up();
  sides_.recv.record(call_.operation, watch.elapsed());
  return complete(std::move(status));
}

}  // namespace sluice::ops::coll
