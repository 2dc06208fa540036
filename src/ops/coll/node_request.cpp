// SPDX-License-Identifier: BSD-3-Clause
#include "ops/coll/node_request.hpp"

#include <fmt/format.h>

#include <utility>

#include "ops/coll/node_queue.hpp"
#include "ops/env/errors.hpp"
#include "progress/host_turns.hpp"
#include "wire/host.hpp"

namespace sluice::ops::coll {
namespace {

// What MPI demands of a generalized request. A collective operation has a status that says nothing.
int fill_status(void * /*state*/, MPI_Status *status) {
  status->MPI_SOURCE = MPI_UNDEFINED;
  status->MPI_TAG = MPI_UNDEFINED;
  const int result = wire::host().MPI_Status_set_elements(status, MPI_BYTE, 0);
  return result == MPI_SUCCESS ? wire::host().MPI_Status_set_cancelled(status, 0) : result;
}

int free_nothing(void * /*state*/) {
  return MPI_SUCCESS;
}

// MPI has no such thing for collective operations.
int refuse_cancel(void * /*state*/, int /*is_complete*/) {
  return MPI_SUCCESS;
}

// In the host MPI's own words.
Status host_error(const Call &call, int code) {
  char text[MPI_MAX_ERROR_STRING] = "";
  int length = 0;
  if (wire::host().MPI_Error_string(code, text, &length) != MPI_SUCCESS) text[0] = '\0';
  return Status::error(ErrorKind::kBackend, fmt::format("{}: {}", name(call.operation), text));
}

}  // namespace

NodeRequest::NodeRequest(const Call &call, const Member &member, Sides sides, NodeGroupPtr group)
    : Tracked(call.comm, call.form == Form::kPersistent),
      call_(call),
      member_(member),
      sides_(std::move(sides)),
      group_(std::move(group)) {}

int NodeRequest::make(const Call &call, const Member &member, Sides sides, const Status &classified,
                      NodeGroupPtr group) {
  const auto made = std::make_shared<NodeRequest>(call, member, std::move(sides), std::move(group));
  if (Status status = made->types_.replace(member, &made->call_); !status.is_ok()) return raise(call.comm, status);
  const wire::Host &host = wire::host();
  if (call.form == Form::kPersistent) {
    // Never started. Not from MPI_PROC_NULL: Intel MPI's MPI_Testany takes such a one for complete.
    const int result = host.MPI_Recv_init(nullptr, 0, MPI_BYTE, 0, 0, MPI_COMM_SELF, call.request);
    if (result == MPI_SUCCESS) progress::TrackedRequests::process().add(*call.request, made);
    return result;
  }
  const int result = host.MPI_Grequest_start(&fill_status, &free_nothing, &refuse_cancel, nullptr, call.request);
  if (result != MPI_SUCCESS) return result;
  made->request_ = *call.request;
  made->is_hidden_.store(true, std::memory_order_release);
  progress::TrackedRequests::process().add(*call.request, made);
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
  together_ = std::make_unique<NodeCall>(call_, member_, sides_, group_.get());
  together_->describe(classified);
  result_ = {};
  NodeQueue &queue = group_->queue();
  queue.join(together_.get());
  // So that the others see it, though the program may compute from here on.
  static_cast<void>(queue.advance(*together_));
  progress::Engine::process().watch(self);
}

bool NodeRequest::advance() {
  // A peer may need a message to move in the host MPI before it comes to this call.
  constexpr unsigned kStepsBetween = 32;
  if (++n_steps_ % kStepsBetween == 0) progress::HostTurns::serve_host();
  try {
    return is_staged_ ? go_on_staged() : go_on();
  } catch (const std::exception &error) {
    group_->queue().leave(*together_);
    return complete(
        Status::error(ErrorKind::kOutOfMemory, std::string("out of memory inside Sluice (") + error.what() + ")"));
  }
}

bool NodeRequest::go_on() {
  NodeQueue &queue = group_->queue();
  const NodeCall::Outcome outcome = queue.advance(*together_);
  if (outcome == NodeCall::Outcome::kNone) return false;
  Status result = outcome == NodeCall::Outcome::kFailed ? together_->failure() : Status();
  if (outcome == NodeCall::Outcome::kStaged) {
    // In the order of the calls, on all ranks: what began before is settled by then.
    if (!queue.is_first(*together_)) return false;
    result = stage();
    is_staged_ = result.is_ok();
  }
  queue.leave(*together_);
  return is_staged_ ? false : complete(std::move(result));
}

Status NodeRequest::stage() {
  const statistics::Stopwatch watch;
  if (!has_staging_) {
    staged_ = call_;
    staged_.comm = group_->staging_comm();
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
