// SPDX-License-Identifier: BSD-3-Clause
// Exchange: a send and a receive that are one operation of MPI's, as two requests that the engine completes.
#pragma once

#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "ops/env/errors.hpp"
#include "ops/p2p/incoming.hpp"
#include "ops/p2p/outgoing.hpp"
#include "ops/p2p/post_receive.hpp"
#include "transfer/host_layout.hpp"

namespace sluice::ops {

// The host MPI's non-blocking functions for a count type.
template <typename Count>
struct ExchangeForms;
template <>
struct ExchangeForms<int> {
  static constexpr auto kIsend = &wire::Host::MPI_Isend;
  static constexpr auto kIrecv = &wire::Host::MPI_Irecv;
  static constexpr auto kImrecv = &wire::Host::MPI_Imrecv;
};
template <>
struct ExchangeForms<MPI_Count> {
  static constexpr auto kIsend = &wire::Host::MPI_Isend_c;
  static constexpr auto kIrecv = &wire::Host::MPI_Irecv_c;
  static constexpr auto kImrecv = &wire::Host::MPI_Imrecv_c;
};

class Exchange {
 public:
  // The other end of one direction.
  struct Peer {
    int rank;
    int tag;
  };

  Exchange(Operation operation, MPI_Comm comm) : operation_(operation), comm_(comm) {}

  // Classified and planned, not open.
  Buffer sent;
  Side recv_side;

  // Begins both; after an error nothing is under way. Returns an error code, raised already.
  template <typename Count>
  [[nodiscard]] int start(Peer to, Peer from);
  // The same for a buffer, recv_side, whose contents are sent before what is received replaces them.
  template <typename Count>
  [[nodiscard]] int start_replacing(Peer to, Peer from);

  // True when both are complete; what came is in *status. Never blocks but for copies.
  [[nodiscard]] bool poll(MPI_Status *status);
  // Then: the host MPI's error code, which it has raised; or an error of Sluice's, which nobody has.
  [[nodiscard]] int host_result() const noexcept { return host_result_; }
  [[nodiscard]] const Status &problem() const noexcept { return problem_; }

  // Begins both and completes them, in turns.
  template <typename Count>
  int run(Peer to, Peer from, MPI_Status *status) {
    const int result = start<Count>(to, from);
    return result == MPI_SUCCESS ? complete(status) : result;
  }
  template <typename Count>
  int run_replacing(Peer to, Peer from, MPI_Status *status) {
    const int result = start_replacing<Count>(to, from);
    return result == MPI_SUCCESS ? complete(status) : result;
  }

 private:
  template <typename Count>
  [[nodiscard]] int post(Peer from);
  template <typename Count>
  [[nodiscard]] int send(Peer to);
  int complete(MPI_Status *status);
  // How one of the two ended. The other may have failed before it.
  void note(Status ended) noexcept {
    if (!ended.is_ok()) problem_ = std::move(ended);
  }
  void withdraw_receive() noexcept;
  // MPICH 5 calls the error handler for some bad arguments and then returns success, without a request.
  [[nodiscard]] static bool was_refused(MPI_Request request, Peer peer) noexcept {
    return request == MPI_REQUEST_NULL && peer.rank != MPI_PROC_NULL;
  }
  // Nothing is under way, and the program has been told. Returns `result`.
  int give_up(int result) noexcept {
    is_received_ = true;
    is_sent_ = true;
    return result;
  }

  const Operation operation_;
  const MPI_Comm comm_;
  std::shared_ptr<Incoming> incoming_;
  MPI_Request receive_ = MPI_REQUEST_NULL;
  std::shared_ptr<Outgoing> outgoing_;  // null: the send is plain
  MPI_Request send_ = MPI_REQUEST_NULL;
  Side source_;                   // what is sent plainly: `sent`, or what lies in a buffer that is replaced
  std::vector<std::byte> image_;  // the latter of a host buffer: its payload, packed
  bool is_received_ = false;
  bool is_sent_ = false;
  int host_result_ = MPI_SUCCESS;
  Status problem_;
};

template <typename Count>
int Exchange::post(Peer from) {
  incoming_ = std::make_shared<Incoming>(operation_, comm_, false);
  incoming_->side = std::move(recv_side);
  Side &target = incoming_->side;
  if (target.is_staged()) {
    if (Status status = target.open_to_receive<Count>(); !status.is_ok()) return raise(comm_, status);
  }
  target.begin_wire();
  std::optional<Envelope> envelope;
  const int result =
      post_receive<Count>(ExchangeForms<Count>::kIrecv, ExchangeForms<Count>::kImrecv, target.buffer(),
                          target.count<Count>(), target.type(), from.rank, from.tag, comm_, &receive_, &envelope);
  if (result == MPI_SUCCESS && target.may_meet_descriptor()) incoming_->serve(incoming_, receive_, envelope);
  return result;
}

template <typename Count>
int Exchange::send(Peer to) {
  Status status;
  outgoing_ = Outgoing::make(operation_, false, &sent, to.rank, to.tag, comm_, &status);
  if (outgoing_ != nullptr) return outgoing_->start(false);
  source_ = Side(std::move(sent));
  source_.name_message(operation_, to.rank, to.tag);
  if (status.is_ok() && source_.is_staged()) status = source_.open_and_copy_down<Count>();
  if (!status.is_ok()) return raise(comm_, status);
  source_.begin_wire();
  const int result = (wire::host().*ExchangeForms<Count>::kIsend)(source_.buffer(), source_.count<Count>(),
                                                                  source_.type(), to.rank, to.tag, comm_, &send_);
  if (result == MPI_SUCCESS) source_.record(operation_);
  return result;
}

template <typename Count>
int Exchange::start(Peer to, Peer from) {
  int result = post<Count>(from);
  if (result != MPI_SUCCESS || was_refused(receive_, from)) return give_up(result);
  result = send<Count>(to);
  if (result == MPI_SUCCESS && (outgoing_ != nullptr || !was_refused(send_, to))) return MPI_SUCCESS;
  withdraw_receive();
  return give_up(result);
}

template <typename Count>
int Exchange::start_replacing(Peer to, Peer from) {
  // What is sent is copied first: the receive may be met at once.
  source_ = Side(recv_side.to_send_what_is_there());
  source_.name_message(operation_, to.rank, to.tag);
  const bool is_host = !source_.is_staged();
  if (is_host) {
    image_.resize(source_.size_bytes());
    transfer::gather(source_.region(), image_.data(), image_.size());
  } else if (Status status = source_.open_and_copy_down<Count>(); !status.is_ok()) {
    return raise(comm_, status);
  }
  int result = post<Count>(from);
  if (result != MPI_SUCCESS || was_refused(receive_, from)) return give_up(result);
  const bool is_plain = is_host && source_.region().layout->is_contiguous;
  void *const buffer = is_host ? image_.data() : source_.buffer();
  const Count count = is_host && !is_plain ? static_cast<Count>(image_.size()) : source_.count<Count>();
  const MPI_Datatype type = is_host && !is_plain ? MPI_PACKED : source_.type();
  source_.begin_wire();
  result = (wire::host().*ExchangeForms<Count>::kIsend)(buffer, count, type, to.rank, to.tag, comm_, &send_);
  if (result == MPI_SUCCESS && !was_refused(send_, to)) return MPI_SUCCESS;
  withdraw_receive();
  return give_up(result);
}

}  // namespace sluice::ops
