// SPDX-License-Identifier: BSD-3-Clause
// MPI_Isendrecv, MPI_Isendrecv_replace and their large-count forms.
#include <atomic>
#include <memory>
#include <utility>

#include "base/log.hpp"
#include "generated/operations.hpp"
#include "ops/env/errors.hpp"
#include "ops/p2p/exchange.hpp"
#include "ops/p2p/staged_request.hpp"

namespace sluice::ops {
namespace {

template <typename Count>
using IsendrecvFunction = int (*wire::Host::*)(const void *, Count, MPI_Datatype, int, int, void *, Count, MPI_Datatype,
                                               int, int, MPI_Comm, MPI_Request *);
template <typename Count>
using IreplaceFunction = int (*wire::Host::*)(void *, Count, MPI_Datatype, int, int, int, int, MPI_Comm, MPI_Request *);

// One request for both directions where the host MPI's own function cannot carry them: a generalized request that the
// engine completes.
class ExchangeTask final : public progress::Task {
 public:
  ExchangeTask(Operation operation, MPI_Comm comm) : exchange(operation, comm) {}

  Exchange exchange;

  // `self`: this. The exchange was started.
  static int serve(const std::shared_ptr<ExchangeTask> &self, MPI_Request *request) {
    // The request holds on to the task until the program has completed or freed it.
    auto *holder = new std::shared_ptr<ExchangeTask>(self);  // the request's; release() deletes it
    const int result = wire::host().MPI_Grequest_start(&query, &release, &cancel, holder, &self->request_);
    if (result != MPI_SUCCESS) {
      delete holder;
      return result;
    }
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
    const MPI_Status &own = (*static_cast<std::shared_ptr<ExchangeTask> *>(state))->status_;
    const int error = status->MPI_ERROR;
    *status = own;
    status->MPI_ERROR = error;
    return own.MPI_ERROR;
  }
  static int release(void *state) {
    delete static_cast<std::shared_ptr<ExchangeTask> *>(state);
    return MPI_SUCCESS;
  }
  static int cancel(void * /*state*/, int /*is_complete*/) { return MPI_SUCCESS; }

  MPI_Request request_ = MPI_REQUEST_NULL;
  MPI_Status status_{};
  std::atomic<bool> is_settled_{false};
};

template <typename Count>
int isendrecv_through(IsendrecvFunction<Count> function, const void *sendbuf, Count sendcount, MPI_Datatype sendtype,
                      int dest, int sendtag, void *recvbuf, Count recvcount, MPI_Datatype recvtype, int source,
                      int recvtag, MPI_Comm comm, MPI_Request *request) {
  if (is_plain_host_traffic()) {
    return (wire::host().*function)(sendbuf, sendcount, sendtype, dest, sendtag, recvbuf, recvcount, recvtype, source,
                                    recvtag, comm, request);
  }
  return guarded(comm, [&]() -> int {
    // classify and plan
    auto staged = std::make_shared<StagedRequest>(Operation::kIsendrecv, comm, false);
    staged->is_length_unknown = true;
    Buffer sent;
    Status ready = Buffer::to_send(sendbuf, sendcount, sendtype, dest, comm, &sent);
    if (ready.is_ok()) ready = Buffer::to_receive(recvbuf, recvcount, recvtype, source, &staged->recv_side);
    // execute
    if (ready.is_ok() && (sent.is_described() || staged->recv_side.may_meet_descriptor())) {
      const auto task = std::make_shared<ExchangeTask>(Operation::kIsendrecv, comm);
      task->exchange.sent = std::move(sent);
      task->exchange.recv_side = std::move(staged->recv_side);
      const int result = task->exchange.start<Count>({dest, sendtag}, {source, recvtag});
      return result == MPI_SUCCESS ? ExchangeTask::serve(task, request) : result;
    }
    staged->send_side = Side(std::move(sent));
    staged->send_side.name_message(Operation::kIsendrecv, dest, sendtag);
    if (ready.is_ok()) ready = staged->open<Count>();
    if (ready.is_ok()) ready = staged->prepare();
    if (!ready.is_ok()) return raise(comm, ready);
    const Side &send_side = staged->send_side;
    const Side &recv_side = staged->recv_side;
    const int result = (wire::host().*function)(send_side.buffer(), send_side.count<Count>(), send_side.type(), dest,
                                                sendtag, recv_side.buffer(), recv_side.count<Count>(), recv_side.type(),
                                                source, recvtag, comm, request);
    // complete: when the program completes the request
    return track(std::move(staged), request, result);
  });
}

template <typename Count>
int ireplace_through(IreplaceFunction<Count> function, void *buf, Count count, MPI_Datatype datatype, int dest,
                     int sendtag, int source, int recvtag, MPI_Comm comm, MPI_Request *request) {
  if (is_plain_host_traffic()) {
    return (wire::host().*function)(buf, count, datatype, dest, sendtag, source, recvtag, comm, request);
  }
  return guarded(comm, [&]() -> int {
    // classify and plan; one buffer for both directions, so nothing is staged only if both peers are MPI_PROC_NULL
    auto staged = std::make_shared<StagedRequest>(Operation::kIsendrecvReplace, comm, false);
    staged->is_replacing = true;
    staged->is_length_unknown = true;
    const int peer = dest == MPI_PROC_NULL ? source : dest;
    Status ready = Buffer::to_receive(buf, count, datatype, peer, &staged->recv_side);
    // execute
    if (ready.is_ok() && staged->recv_side.may_meet_descriptor()) {
      const auto task = std::make_shared<ExchangeTask>(Operation::kIsendrecvReplace, comm);
      task->exchange.recv_side = std::move(staged->recv_side);
      const int result = task->exchange.start_replacing<Count>({dest, sendtag}, {source, recvtag});
      return result == MPI_SUCCESS ? ExchangeTask::serve(task, request) : result;
    }
    staged->recv_side.name_message(Operation::kIsendrecvReplace, dest, sendtag);
    if (ready.is_ok()) ready = staged->open<Count>();
    if (ready.is_ok()) ready = staged->prepare();
    if (!ready.is_ok()) return raise(comm, ready);
    const Side &side = staged->recv_side;
    const int result = (wire::host().*function)(side.buffer(), side.count<Count>(), side.type(), dest, sendtag, source,
                                                recvtag, comm, request);
    // complete: when the program completes the request
    return track(std::move(staged), request, result);
  });
}

}  // namespace

int isendrecv(const void *sendbuf, int sendcount, MPI_Datatype sendtype, int dest, int sendtag, void *recvbuf,
              int recvcount, MPI_Datatype recvtype, int source, int recvtag, MPI_Comm comm, MPI_Request *request) {
  return isendrecv_through(&wire::Host::MPI_Isendrecv, sendbuf, sendcount, sendtype, dest, sendtag, recvbuf, recvcount,
                           recvtype, source, recvtag, comm, request);
}

int isendrecv_replace(void *buf, int count, MPI_Datatype datatype, int dest, int sendtag, int source, int recvtag,
                      MPI_Comm comm, MPI_Request *request) {
  return ireplace_through(&wire::Host::MPI_Isendrecv_replace, buf, count, datatype, dest, sendtag, source, recvtag,
                          comm, request);
}

int isendrecv_c(const void *sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, int dest, int sendtag, void *recvbuf,
                MPI_Count recvcount, MPI_Datatype recvtype, int source, int recvtag, MPI_Comm comm,
                MPI_Request *request) {
  return isendrecv_through(&wire::Host::MPI_Isendrecv_c, sendbuf, sendcount, sendtype, dest, sendtag, recvbuf,
                           recvcount, recvtype, source, recvtag, comm, request);
}

int isendrecv_replace_c(void *buf, MPI_Count count, MPI_Datatype datatype, int dest, int sendtag, int source,
                        int recvtag, MPI_Comm comm, MPI_Request *request) {
  return ireplace_through(&wire::Host::MPI_Isendrecv_replace_c, buf, count, datatype, dest, sendtag, source, recvtag,
                          comm, request);
}

}  // namespace sluice::ops
