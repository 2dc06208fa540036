// SPDX-License-Identifier: BSD-3-Clause
// MPI_Sendrecv, MPI_Sendrecv_replace and their large-count forms.
#include "ops/env/errors.hpp"
#include "ops/p2p/call.hpp"
#include "ops/p2p/exchange.hpp"
#include "ops/p2p/incoming.hpp"
#include "wire/status.hpp"

namespace sluice::ops::p2p {

int sendrecv(ExchangeCall *call) {
  return guarded(call->comm, [call]() -> int {
    const statistics::Stopwatch watch;
    const ExchangeForm &form = call->form;
    Part &send = call->send;
    Part &recv = call->recv;
    // classify and plan
    Buffer sent;
    Side recv_side;
    Status ready = Buffer::to_send(send, call->comm, &sent);
    if (ready.is_ok()) ready = Buffer::to_receive(recv, recv.peer, &recv_side);
    if (!ready.is_ok()) return raise(call->comm, ready);
    MPI_Status own{};
    if (call->status == MPI_STATUS_IGNORE) call->status = &own;
    wire::clear(call->status);
    // execute
    if (sent.is_described() || !may_block(call->comm)) {
      Exchange exchange(form.operation, call->comm, form.has_large_count);
      exchange.sent = std::move(sent);
      exchange.recv_side = std::move(recv_side);
      return exchange.run(send, recv, call->status);
    }
    Side send_side(std::move(sent));
    send_side.name_message(form.operation, send.peer, send.tag);
    if (send_side.is_staged()) ready = send_side.open_and_copy_down(form.has_large_count);
    if (ready.is_ok() && recv_side.is_staged()) ready = recv_side.open(form.has_large_count);
    if (!ready.is_ok()) return raise(call->comm, ready);
    send_side.begin_wire();
    recv_side.begin_wire();
    send_side.put_into(&send);
    recv_side.put_into(&recv);
    const int result = form.make(*call);
    // complete
    if (result == MPI_SUCCESS) {
      send_side.end_sent();
      send_side.record(form.operation);
    }
    return finish_receive(form.operation, call->comm, &recv_side, call->status, result, watch.elapsed());
  });
}

int sendrecv_replace(ExchangeCall *call) {
  return guarded(call->comm, [call]() -> int {
    const statistics::Stopwatch watch;
    const ExchangeForm &form = call->form;
    Part &send = call->send;
    Part &recv = call->recv;
    // classify and plan; one buffer for both directions, so nothing is staged only if both peers are MPI_PROC_NULL
    Side side;
    const int peer = send.peer == MPI_PROC_NULL ? recv.peer : send.peer;
    Status ready = Buffer::to_receive(recv, peer, &side);
    if (!ready.is_ok()) return raise(call->comm, ready);
    MPI_Status own{};
    if (call->status == MPI_STATUS_IGNORE) call->status = &own;
    wire::clear(call->status);
    // execute
    if (side.is_short() || (!may_block(call->comm) && side.size_bytes() > 0)) {
      Exchange exchange(form.operation, call->comm, form.has_large_count);
      exchange.recv_side = std::move(side);
      return exchange.run_replacing(send, recv, call->status);
    }
    side.plan_to_replace();
    if (side.is_staged()) {
      side.name_message(form.operation, send.peer, send.tag);
      if (ready = side.open_and_copy_down(form.has_large_count); !ready.is_ok()) return raise(call->comm, ready);
    }
    side.stay(false);
    side.begin_wire();
    side.put_into(&recv);
    const int result = form.make(*call);
    // complete
    return finish_receive(form.operation, call->comm, &side, call->status, result, watch.elapsed());
  });
}

}  // namespace sluice::ops::p2p
