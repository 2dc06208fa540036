// SPDX-License-Identifier: BSD-3-Clause
#include "ops/coll/node_request.hpp"

#include <utility>

#include "ops/coll/general_request.hpp"
#include "ops/coll/node_queue.hpp"
#include "ops/env/errors.hpp"
#include "progress/host_turns.hpp"
#include "wire/host.hpp"

namespace sluice::ops::coll {
NodeRequest::NodeRequest(const Call &call, const Member &member, Sides sides, Meeting meeting)
    : Tracked(call.comm, call.form == Form::kPersistent),
      call_(call),
      member_(member),
      sides_(std::move(sides)),
      meeting_(std::move(meeting)) {}

int NodeRequest::make(const Call &call, const Member &member, Sides sides, const Status &classified, Meeting meeting) {
  const auto made = std::make_shared<NodeRequest>(call, member, std::move(sides), std::move(meeting));
  if (Status status = made->types_.replace(member, &made->call_); !status.is_ok()) return raise(call.comm, status);
  made->is_hidden_.store(!made->is_persistent(), std::memory_order_release);
  const int result = make_request(call, made, &made->request_);
  if (result != MPI_SUCCESS || made->is_persistent()) return result;
  made->begin(classified, made);
  return MPI_SUCCESS;
}

int NodeRequest::start_again(const std::shared_ptr<Tracked> &self, MPI_Request * /*request*/) {
  is_staged_ = false;
  is_hidden_.store(true, std::memory_order_release);
  begin({}, std::static_pointer_cast<NodeRequest>(self));
  return MPI_SUCCESS;
}

void NodeRequest::begin(const Status &classified, const std::shared_ptr<NodeRequest> &self) {
  classified_ = classified;
  result_ = {};
  if (meeting_.group == nullptr) {
    number_ = meeting_.requests->join(meeting_.has_device);
    // What is staged begins here where it may.
    if (go_on_meeting()) return;
  } else {
    join_group();
  }
  progress::Engine::process().watch(self);
}

void NodeRequest::join_group() {
  together_ = std::make_unique<NodeCall>(call_, member_, sides_, meeting_.group.get());
  together_->describe(classified_);
  NodeQueue &queue = meeting_.group->queue();
  queue.join(together_.get());
  // So that the others see it, though the program may compute from here on.
  static_cast<void>(queue.advance(*together_));
}

// Other calls wait until this one has said settle(), so that they come after it.
bool NodeRequest::go_on_meeting() {
  RequestGroup &requests = *meeting_.requests;
  const RequestGroup::Way way = requests.advance(number_);
  if (way == RequestGroup::Way::kWait) return false;
  struct Settling {
    RequestGroup &requests;
    ~Settling() { requests.settle(); }
  } const settling{requests};
  number_ = 0;
  Status status;
  if (way == RequestGroup::Way::kTogether) {
    meeting_.group = requests.group();
    join_group();
  } else {
    status = way == RequestGroup::Way::kFailed ? host_error(call_, requests.failure()) : classified_;
    if (status.is_ok()) status = stage(requests.comm());
    is_staged_ = status.is_ok();
  }
  return status.is_ok() ? false : complete(std::move(status));
}

bool NodeRequest::advance() {
  // A peer may need a message to move in the host MPI before it comes to this call.
  constexpr unsigned kStepsBetween = 32;
  if (++n_steps_ % kStepsBetween == 0) progress::HostTurns::serve_host();
  try {
    if (number_ != 0) return go_on_meeting();
    return is_staged_ ? go_on_staged() : go_on();
  } catch (const std::exception &error) {
    if (together_ != nullptr) meeting_.group->queue().leave(*together_);
    return complete(
        Status::error(ErrorKind::kOutOfMemory, std::string("out of memory inside Sluice (") + error.what() + ")"));
  }
}

bool NodeRequest::go_on() {
  NodeQueue &queue = meeting_.group->queue();
  const NodeCall::Outcome outcome = queue.advance(*together_);
  if (outcome == NodeCall::Outcome::kNone) return false;
  Status result = outcome == NodeCall::Outcome::kFailed ? together_->failure() : Status();
  if (outcome == NodeCall::Outcome::kStaged) {
    // In the order of the calls, on all ranks: what began before is settled by then.
    if (!queue.is_first(*together_)) return false;
    result = stage(meeting_.group->staging_comm());
    is_staged_ = result.is_ok();
  }
  queue.leave(*together_);
  return is_staged_ ? false : complete(std::move(result));
}

Status NodeRequest::stage(MPI_Comm comm) {
  const statistics::Stopwatch watch;
  if (!has_staging_) {
    staged_ = call_;
    staged_.comm = comm;
    if (Status status = sides_.open(&staged_); !status.is_ok()) return status;
    has_staging_ = true;
  }
  if (Status status = sides_.copy_down(); !status.is_ok()) return status;
  const auto start = is_persistent() ? staged_.start_once : staged_.start;
  const int code = start(staged_, &host_request_);
  if (code != MPI_SUCCESS) return host_error(call_, code);
  sides_.send.record(call_.operation, watch.elapsed());
  return {};
}

bool NodeRequest::go_on_staged() {
  int is_done = 0;
  const int code = wire::host().MPI_Test(&host_request_, &is_done, MPI_STATUS_IGNORE);
  if (code != MPI_SUCCESS) return complete(host_error(call_, code));
  if (is_done == 0) return false;
  const statistics::Stopwatch watch;
  Status status = sides_.copy_up();
  sides_.recv.record(call_.operation, watch.elapsed());
  return complete(std::move(status));
}

bool NodeRequest::complete(Status result) {
  result_ = std::move(result);
  if (!is_persistent() && wire::host().MPI_Grequest_complete(request_) != MPI_SUCCESS && result_.is_ok()) {
    result_ = Status::error(ErrorKind::kBackend, "the host MPI could not complete a generalized request");
  }
  is_hidden_.store(false, std::memory_order_release);
  return true;
}

}  // namespace sluice::ops::coll
