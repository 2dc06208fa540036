// SPDX-License-Identifier: BSD-3-Clause
// MPI_Isendrecv, MPI_Isendrecv_replace and their large-count forms.
#include <atomic>
#include <memory>
#include <utility>

#include "base/log.hpp"
#include "ops/env/errors.hpp"
#include "ops/p2p/call.hpp"
#include "ops/p2p/exchange.hpp"
#include "ops/p2p/staged_request.hpp"
#include "ops/request/held_request.hpp"

namespace sluice::ops::p2p {
namespace {

// One request for both directions where the host MPI's own function cannot carry them: a generalized request that the
// engine completes.
class ExchangeTask final : public progress::Task {
 public:
  ExchangeTask(Operation operation, MPI_Comm comm, bool has_large_count) : exchange(operation, comm, has_large_count) {}

  Exchange exchange;

  // `self`: this. The exchange was started.
  static int serve(const std::shared_ptr<ExchangeTask> &self, MPI_Request *request) {
    const int result = start_held_request(self, &query, &self->request_);
    if (result != MPI_SUCCESS) return result;
    *request = self->request_;
    progress::TrackedRequests::process().add(*request, std::make_shared<Marker>(self));
    progress::Engine::process().watch(self);
    return MPI_SUCCESS;
  }

  bool advance() override {
    if (!exchange.poll(&status_)) return false;
    // Raised by the host MPI where the program completes the request.
    status_.MPI_ERROR = exchange.problem().is_ok() ? exchange.host_result() : error_code(exchange.problem());
    is_settled_.store(true, std::memory_order_release);
    if (wire::host().MPI_Grequest_complete(request_) != MPI_SUCCESS) {
      log::warn_once("grequest", "p2p", "the host MPI could not complete a request of MPI_Isendrecv");
    }
    return true;
  }

 private:
  // Makes completion calls take turns, and gives the program the status.
  class Marker final : public progress::Tracked {
   public:
    explicit Marker(std::shared_ptr<ExchangeTask> task) : Tracked(MPI_COMM_SELF, false), task_(std::move(task)) {}
    Status prepare() override { return {}; }
    Status finish(MPI_Status * /*status*/) override { return {}; }
    bool is_hidden() const noexcept override { return !task_->is_settled_.load(std::memory_order_acquire); }
    bool ignores_cancel() const noexcept override { return true; }

   private:
    std::shared_ptr<ExchangeTask> task_;
  };

  static int query(void *state, MPI_Status *status) {
    const MPI_Status &own = held_by_request<ExchangeTask>(state)->status_;
    const int error = status->MPI_ERROR;
    *status = own;
    status->MPI_ERROR = error;
    return own.MPI_ERROR;
  }

  MPI_Request request_ = MPI_REQUEST_NULL;
  MPI_Status status_{};
  std::atomic<bool> is_settled_{false};
};

}  // namespace

int isendrecv(ExchangeCall *call) {
  return guarded(call->comm, [call]() -> int {
    const ExchangeForm &form = call->form;
    Part &send = call->send;
    Part &recv = call->recv;
    // classify and plan
    auto staged = std::make_shared<StagedRequest>(form.operation, call->comm, false);
    staged->is_length_unknown = true;
    Buffer sent;
    Status ready = Buffer::to_send(send, call->comm, &sent);
    if (ready.is_ok()) ready = Buffer::to_receive(recv, recv.peer, &staged->recv_side);
    // execute
    if (ready.is_ok() && (sent.is_described() || staged->recv_side.may_meet_descriptor())) {
      const auto task = std::make_shared<ExchangeTask>(form.operation, call->comm, form.has_large_count);
      task->exchange.sent = std::move(sent);
      task->exchange.recv_side = std::move(staged->recv_side);
      const int result = task->exchange.start(send, recv);
      return result == MPI_SUCCESS ? ExchangeTask::serve(task, call->request) : result;
    }
    staged->send_side = Side(std::move(sent));
    staged->send_side.name_message(form.operation, send.peer, send.tag);
    if (ready.is_ok()) ready = staged->open(form.has_large_count);
    if (ready.is_ok()) ready = staged->prepare();
    if (!ready.is_ok()) return raise(call->comm, ready);
    staged->send_side.put_into(&send);
    staged->recv_side.put_into(&recv);
    const int result = form.make(*call);
    // complete: when the program completes the request
    return track(std::move(staged), call->request, result);
  });
}

int isendrecv_replace(ExchangeCall *call) {
  return guarded(call->comm, [call]() -> int {
    const ExchangeForm &form = call->form;
    Part &send = call->send;
    Part &recv = call->recv;
    // classify and plan; one buffer for both directions, so nothing is staged only if both peers are MPI_PROC_NULL
    auto staged = std::make_shared<StagedRequest>(form.operation, call->comm, false);
    staged->is_replacing = true;
    staged->is_length_unknown = true;
    const int peer = send.peer == MPI_PROC_NULL ? recv.peer : send.peer;
    Status ready = Buffer::to_receive(recv, peer, &staged->recv_side);
    // execute
    if (ready.is_ok() && staged->recv_side.may_meet_descriptor()) {
      const auto task = std::make_shared<ExchangeTask>(form.operation, call->comm, form.has_large_count);
      task->exchange.recv_side = std::move(staged->recv_side);
      const int result = task->exchange.start_replacing(send, recv);
      return result == MPI_SUCCESS ? ExchangeTask::serve(task, call->request) : result;
    }
    staged->recv_side.name_message(form.operation, send.peer, send.tag);
    if (ready.is_ok()) ready = staged->open(form.has_large_count);
    if (ready.is_ok()) ready = staged->prepare();
    if (!ready.is_ok()) return raise(call->comm, ready);
    staged->recv_side.put_into(&recv);
    const int result = form.make(*call);
    // complete: when the program completes the request
    return track(std::move(staged), call->request, result);
  });
}

}  // namespace sluice::ops::p2p
