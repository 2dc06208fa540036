// SPDX-License-Identifier: BSD-3-Clause
// MPI_Recv, MPI_Mrecv and their large-count forms.
#include "base/recycled.hpp"
#include "generated/operations.hpp"
#include "ops/env/errors.hpp"
#include "ops/p2p/incoming.hpp"
#include "ops/p2p/post_receive.hpp"
#include "ops/request/turns.hpp"
#include "wire/status.hpp"

namespace sluice::ops {
namespace {

template <typename Count>
using RecvFunction = int (*wire::Host::*)(void *, Count, MPI_Datatype, int, int, MPI_Comm, MPI_Status *);
template <typename Count>
using MrecvFunction = int (*wire::Host::*)(void *, Count, MPI_Datatype, MPI_Message *, MPI_Status *);

// A count type's four ways to receive.
template <typename Count>
struct RecvForms {
  RecvFunction<Count> recv;
  MrecvFunction<Count> mrecv;
  IrecvFunction<Count> irecv;
  ImrecvFunction<Count> imrecv;
};

// The execute and complete of both. `receive` is the host MPI's blocking function, `start` its non-blocking one, each
// given the buffer, count and type; `start` is called where this process must not block.
template <typename Count, typename Receive, typename Start>
int receive_through(Operation operation, MPI_Comm comm, Side side, bool may_block, MPI_Status *status, Receive receive,
                    Start start) {
  const statistics::Stopwatch watch;
  if (side.is_staged()) {
    if (Status opened = side.open_to_receive<Count>(); !opened.is_ok()) return raise(comm, opened);
  }
  MPI_Status own{};
  MPI_Status *received = status == MPI_STATUS_IGNORE ? &own : status;
  wire::clear(received);
  side.begin_wire();
  if (may_block) {
    const int result = receive(side.buffer(), side.count<Count>(), side.type(), received);
    return finish_receive(operation, comm, &side, received, result, watch.elapsed());
  }
  const auto incoming = make_recycled<Incoming>(operation, comm, false);
  incoming->side = std::move(side);
  const Side &target = incoming->side;
  MPI_Request request = MPI_REQUEST_NULL;
  std::optional<Envelope> envelope;
  const int result = start(target.buffer(), target.count<Count>(), target.type(), &request, &envelope);
  if (result != MPI_SUCCESS) return result;
  if (target.may_meet_descriptor()) incoming->serve(incoming, request, envelope);
  return complete_in_turns(incoming.get(), &request, received);
}

template <typename Count>
int recv_through(const RecvForms<Count> &forms, void *buf, Count count, MPI_Datatype datatype, int source, int tag,
                 MPI_Comm comm, MPI_Status *status) {
  const wire::Host &host = wire::host();
  if (is_plain_host_traffic()) return (host.*forms.recv)(buf, count, datatype, source, tag, comm, status);
  return guarded(comm, [&]() -> int {
    // classify and plan
    Side side;
    if (Status sorted = Buffer::to_receive(buf, count, datatype, source, &side); !sorted.is_ok())
      return raise(comm, sorted);
    // execute and complete
    return receive_through<Count>(
        Operation::kRecv, comm, std::move(side), source == MPI_PROC_NULL || may_block(comm), status,
        [&](void *buffer, Count n, MPI_Datatype type, MPI_Status *received) {
          return (host.*forms.recv)(buffer, n, type, source, tag, comm, received);
        },
        [&](void *buffer, Count n, MPI_Datatype type, MPI_Request *request, std::optional<Envelope> *envelope) {
          return post_receive<Count>(forms.irecv, forms.imrecv, buffer, n, type, source, tag, comm, request, envelope);
        });
  });
}

template <typename Count>
int mrecv_through(const RecvForms<Count> &forms, void *buf, Count count, MPI_Datatype datatype, MPI_Message *message,
                  MPI_Status *status) {
  const wire::Host &host = wire::host();
  if (is_plain_host_traffic()) return (host.*forms.mrecv)(buf, count, datatype, message, status);
  // A matched message no longer names its communicator; errors go where MPI sends those without one.
  const MPI_Comm comm = MPI_COMM_SELF;
  return guarded(comm, [&]() -> int {
    // classify and plan
    Side side;
    if (Status sorted = Buffer::to_receive_matched(buf, count, datatype, *message, &side); !sorted.is_ok()) {
      return raise(comm, sorted);
    }
    // execute and complete
    const std::optional<Envelope> claimed = take_envelope(*message);
    const bool blocks = !progress::Engine::process().is_busy() && !claimed.has_value();
    return receive_through<Count>(
        Operation::kMrecv, comm, std::move(side), blocks, status,
        [&](void *buffer, Count n, MPI_Datatype type, MPI_Status *received) {
          return (host.*forms.mrecv)(buffer, n, type, message, received);
        },
        [&](void *buffer, Count n, MPI_Datatype type, MPI_Request *request, std::optional<Envelope> *envelope) {
          *envelope = claimed;
          return (host.*forms.imrecv)(buffer, n, type, message, request);
        });
  });
}

constexpr RecvForms<int> kForms{&wire::Host::MPI_Recv, &wire::Host::MPI_Mrecv, &wire::Host::MPI_Irecv,
                                &wire::Host::MPI_Imrecv};
constexpr RecvForms<MPI_Count> kLargeForms{&wire::Host::MPI_Recv_c, &wire::Host::MPI_Mrecv_c, &wire::Host::MPI_Irecv_c,
                                           &wire::Host::MPI_Imrecv_c};

}  // namespace

int recv(void *buf, int count, MPI_Datatype datatype, int source, int tag, MPI_Comm comm, MPI_Status *status) {
  return recv_through(kForms, buf, count, datatype, source, tag, comm, status);
}

int recv_c(void *buf, MPI_Count count, MPI_Datatype datatype, int source, int tag, MPI_Comm comm, MPI_Status *status) {
  return recv_through(kLargeForms, buf, count, datatype, source, tag, comm, status);
}

int mrecv(void *buf, int count, MPI_Datatype datatype, MPI_Message *message, MPI_Status *status) {
  return mrecv_through(kForms, buf, count, datatype, message, status);
}

int mrecv_c(void *buf, MPI_Count count, MPI_Datatype datatype, MPI_Message *message, MPI_Status *status) {
  return mrecv_through(kLargeForms, buf, count, datatype, message, status);
}

}  // namespace sluice::ops
