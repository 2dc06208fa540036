// SPDX-License-Identifier: BSD-3-Clause
// Call: any call that sends or receives a message, its arguments by their meaning; ExchangeCall: one that does both.
// The exported functions, generated from data/message_forms.txt, fill one in; send.cpp, recv.cpp, sendrecv.cpp and
// isendrecv.cpp carry it out. Threads: any, as the host MPI allows.
#pragma once

#include <cstdint>

#include "base/types.hpp"
#include "ops/comm/peer_words.hpp"
#include "ops/p2p/buffer.hpp"
#include "wire/mpi.hpp"

namespace sluice::ops::p2p {

enum class Mode : std::uint8_t { kNone, kStandard, kBuffered, kSynchronous, kReady };

struct Call;
struct ExchangeCall;

// One exported function with one message.
struct Form {
  Operation operation;
  Mode mode;             // of a send
  bool has_large_count;  // MPI_Count; else int
  // The host MPI's function for the arguments of a call: the blocking one, of a blocking function; the one that gives a
  // request, persistent of a persistent function (null: the blocking one never waits for a peer); and of a receive by
  // source and tag the one that takes a matched message.
  int (*block)(const Call &call);
  int (*start)(const Call &call, MPI_Request *request);
  int (*take)(const Call &call, MPI_Message *message, MPI_Request *request);
};

// One that sends and receives.
struct ExchangeForm {
  Operation operation;
  bool has_large_count;
  int (*make)(const ExchangeCall &call);
};

struct Call : Part {
  explicit Call(const Form &of) noexcept : form(of) {}

  const Form &form;
  // A matched message no longer names its communicator; errors go where MPI sends those without one.
  MPI_Comm comm = MPI_COMM_SELF;
  MPI_Message *matched = nullptr;
  MPI_Status *status = MPI_STATUS_IGNORE;
  MPI_Request *request = nullptr;

  void set_matched(MPI_Message *message) noexcept {
    matched = message;
    peer = *message == MPI_MESSAGE_NO_PROC ? MPI_PROC_NULL : MPI_ANY_SOURCE;
  }
};

// For the table of waits, while a blocking call goes on. `subject`: a Call. Any thread.
inline void tell_peer_of_call(const void *subject, waiting::Wait *wait) noexcept {
  const auto *call = static_cast<const Call *>(subject);
  if (call->matched == nullptr) tell_peer(call->comm, call->peer, call->tag, wait);
}

// The same of a call that the host MPI carries out, which says what it does, and asks the host MPI nothing.
struct PlainCall {
  const Call *call;
  const Buffer *buffer;
  waiting::Direction direction;
};
// `subject`: a PlainCall. Any thread.
inline void tell_plain_call(const void *subject, waiting::Wait *wait) noexcept {
  const auto *plain = static_cast<const PlainCall *>(subject);
  plain->buffer->tell(plain->call->form.operation, plain->direction, wait);
  tell_peer_at_once(plain->call->comm, plain->call->peer, plain->call->tag, wait);
}

// What is sent and replaced by what is received has its buffer in `recv`.
struct ExchangeCall {
  explicit ExchangeCall(const ExchangeForm &of) noexcept : form(of) {}

  const ExchangeForm &form;
  Part send;
  Part recv;
  MPI_Comm comm = MPI_COMM_NULL;
  MPI_Status *status = MPI_STATUS_IGNORE;
  MPI_Request *request = nullptr;
};

// Each for its functions of data/message_forms.txt. `call` is changed. Return an error code, raised already.

// Blocks until the host MPI's own function would have returned, or, where a descriptor is sent, until its receiver has
// the payload.
int send(Call *call);
// Blocks for the copy into staging memory, or the packing. After an error there is no request.
int isend(Call *call);
// Blocks to take staging memory, which is held until the request is freed. After an error there is no request.
int send_init(Call *call);
// Blocks until the payload is in place.
int recv(Call *call);
// Blocks to take staging memory. After an error there is no request.
int irecv(Call *call);
int recv_init(Call *call);
// Block until both payloads are where they belong.
int sendrecv(ExchangeCall *call);
int sendrecv_replace(ExchangeCall *call);
// Block for the copy of what is sent. After an error there is no request.
int isendrecv(ExchangeCall *call);
int isendrecv_replace(ExchangeCall *call);

}  // namespace sluice::ops::p2p
