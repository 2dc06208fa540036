// SPDX-License-Identifier: BSD-3-Clause
#include "ops/p2p/exchange.hpp"

#include <exception>
#include <optional>
#include <string>
#include <utility>

#include "base/log.hpp"
#include "base/waiting.hpp"
#include "ops/env/errors.hpp"
#include "ops/env/wait_words.hpp"
#include "ops/p2p/post_receive.hpp"
#include "progress/engine.hpp"
#include "transfer/host_layout.hpp"

namespace sluice::ops {

int Exchange::post(const p2p::Part &from) {
  incoming_ = std::make_shared<Incoming>(operation_, comm_, false);
  incoming_->side = std::move(recv_side);
  incoming_->again.tag = from.tag;
  Side &target = incoming_->side;
  if (target.is_staged()) {
    if (Status status = target.open(has_large_count_); !status.is_ok()) return raise(comm_, status);
  }
  target.begin_wire();
  std::optional<Envelope> envelope;
  const wire::Host &host = wire::host();
  void *const buffer = target.buffer();
  const MPI_Count count = target.count();
  const MPI_Datatype type = target.type();
  const int result = post_receive(
      comm_, from.peer, from.tag, &envelope,
      [&] {
        return has_large_count_
                   ? host.MPI_Irecv_c(buffer, count, type, from.peer, from.tag, comm_, &receive_)
                   : host.MPI_Irecv(buffer, static_cast<int>(count), type, from.peer, from.tag, comm_, &receive_);
      },
      [&](MPI_Message *message) {
        return has_large_count_ ? host.MPI_Imrecv_c(buffer, count, type, message, &receive_)
                                : host.MPI_Imrecv(buffer, static_cast<int>(count), type, message, &receive_);
      });
  if (result == MPI_SUCCESS && target.may_meet_descriptor()) incoming_->serve(incoming_, receive_, envelope);
  return result;
}

int Exchange::send(const p2p::Part &to) {
  Status status;
  outgoing_ = Outgoing::make(operation_, false, &sent, to, comm_, &status);
  if (outgoing_ != nullptr) return outgoing_->start(false);
  source_ = Side(std::move(sent));
  source_.name_message(operation_, to.peer, to.tag);
  if (status.is_ok() && source_.is_staged()) status = source_.open_and_copy_down(has_large_count_);
  if (!status.is_ok()) return raise(comm_, status);
  source_.begin_wire();
  const int result = send_plainly(to, source_.buffer(), source_.count(), source_.type());
  if (result == MPI_SUCCESS) source_.record(operation_);
  return result;
}

int Exchange::send_plainly(const p2p::Part &to, const void *buffer, MPI_Count count, MPI_Datatype type) {
  const wire::Host &host = wire::host();
  return has_large_count_ ? host.MPI_Isend_c(buffer, count, type, to.peer, to.tag, comm_, &send_)
                          : host.MPI_Isend(buffer, static_cast<int>(count), type, to.peer, to.tag, comm_, &send_);
}

int Exchange::start(const p2p::Part &to, const p2p::Part &from) {
  int result = post(from);
  if (result != MPI_SUCCESS || was_refused(receive_, from.peer)) return give_up(result);
  result = send(to);
  if (result == MPI_SUCCESS && (outgoing_ != nullptr || !was_refused(send_, to.peer))) return MPI_SUCCESS;
  withdraw_receive();
  return give_up(result);
}

int Exchange::start_replacing(const p2p::Part &to, const p2p::Part &from) {
  // What is sent is copied first: the receive may be met at once.
  source_ = Side(recv_side.to_send_what_is_there());
  source_.name_message(operation_, to.peer, to.tag);
  const bool is_host = !source_.is_staged();
  if (is_host) {
    image_.resize(source_.size_bytes());
    transfer::gather(source_.region(), image_.data(), image_.size());
  } else if (Status status = source_.open_and_copy_down(has_large_count_); !status.is_ok()) {
    return raise(comm_, status);
  }
  int result = post(from);
  if (result != MPI_SUCCESS || was_refused(receive_, from.peer)) return give_up(result);
  const bool is_plain = is_host && source_.region().layout->is_contiguous;
  void *const buffer = is_host ? image_.data() : source_.buffer();
  const MPI_Count count = is_host && !is_plain ? static_cast<MPI_Count>(image_.size()) : source_.count();
  const MPI_Datatype type = is_host && !is_plain ? MPI_PACKED : source_.type();
  source_.begin_wire();
  result = send_plainly(to, buffer, count, type);
  if (result == MPI_SUCCESS && !was_refused(send_, to.peer)) return MPI_SUCCESS;
  withdraw_receive();
  return give_up(result);
}

bool Exchange::poll(MPI_Status *status) {
  const wire::Host &host = wire::host();
  int is_done = 0;
  if (!is_sent_ && (outgoing_ == nullptr || !outgoing_->is_hidden())) {
    MPI_Request *request = outgoing_ != nullptr ? outgoing_->request() : &send_;
    MPI_Status ended;
    const int code = host.MPI_Test(request, &is_done, &ended);
    is_sent_ = code != MPI_SUCCESS || is_done != 0;
    if (code != MPI_SUCCESS) host_result_ = code;
    if (is_sent_ && code == MPI_SUCCESS) source_.end_sent();
    if (is_sent_ && code == MPI_SUCCESS && outgoing_ != nullptr) note(outgoing_->finish(&ended));
  }
  if (!is_received_ && !incoming_->is_hidden()) {
    const int code = host.MPI_Test(&receive_, &is_done, status);
    is_received_ = code != MPI_SUCCESS || is_done != 0;
    if (code != MPI_SUCCESS) host_result_ = code;
    if (is_received_ && code == MPI_SUCCESS) note(incoming_->finish(status));
  }
  return is_sent_ && is_received_;
}

int Exchange::complete(MPI_Status *status) {
  const waiting::Described described(
      [](const void *subject, waiting::Wait *wait) noexcept {
        const auto *exchange = static_cast<const Exchange *>(subject);
        if (!exchange->is_received_) {
          exchange->incoming_->tell(wait);
        } else if (exchange->outgoing_ != nullptr) {
          exchange->outgoing_->tell(wait);
        }
        const CallOnComm call{name(exchange->operation_), exchange->comm_};
        tell_call_on_comm(&call, wait);
      },
      this);
  progress::turn_until([&] { return poll(status); });
  return problem_.is_ok() ? host_result_ : raise(comm_, problem_);
}

void Exchange::withdraw_receive() noexcept {
  if (receive_ == MPI_REQUEST_NULL || wire::host().MPI_Cancel(&receive_) != MPI_SUCCESS) return;
  MPI_Status status;
  is_sent_ = true;
  // A receive that was met before it could be cancelled is completed: the program has been told of an error anyway.
  try {
    progress::turn_until([&] { return poll(&status); });
  } catch (const std::exception &error) {  // no memory: the engine goes on with what is left
    log::warn_once("withdraw", "p2p", std::string("a receive could not be withdrawn: ") + error.what());
  }
}

}  // namespace sluice::ops
