// SPDX-License-Identifier: BSD-3-Clause
// Carrier: how one message of a queue travels, from the call that enqueues it until it is complete.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/status.hpp"
#include "base/types.hpp"
#include "device/stream.hpp"
#include "sluice/stream_message.h"
#include "wire/mpi.hpp"

namespace sluice::ops::queue {

// What the program says of a message. `buffer` of a send is only read.
struct Arguments {
  bool is_send = false;
  void *buffer = nullptr;
  int count = 0;
  MPI_Datatype type = MPI_DATATYPE_NULL;
  int peer = MPI_PROC_NULL;
  int tag = 0;
  MPI_Comm comm = MPI_COMM_NULL;
};

class Carrier {
 public:
  virtual ~Carrier() = default;
  Carrier() noexcept = default;
  Carrier(const Carrier &) = delete;
  Carrier &operator=(const Carrier &) = delete;
  Carrier(Carrier &&) = delete;
  Carrier &operator=(Carrier &&) = delete;

  // These are called by the thread that tells the stream; those that plan with the lock of Carriers::hold().
  // Plans: before the stream is told to start the message; a second time when the stream refused. Never blocks for a
  // message. Errors: the message cannot be started.
  [[nodiscard]] virtual Status prepare() { return {}; }
  // How many batches the stream may be behind this message's for plan_start() to find what it needs; behind prepare().
  [[nodiscard]] virtual std::uint64_t batches_with_room() const noexcept { return ~std::uint64_t{0}; }
  // Plans what the stream is to do for the message when it comes to the start: true, and *send, of which
  // start_enqueued() is told; false: nothing, or it is in the stream already, which refused the trigger then.
  [[nodiscard]] virtual bool plan_start(const device::Stream & /*stream*/, sluice_stream_send_t * /*send*/) {
    return false;
  }
  virtual void start_enqueued(bool /*is_in_stream*/) {}
  // Plans that the message is received aside of the stream, as soon as it is there: true, and *receive, of which
  // wait_enqueued() is told; false: as plan_wait() has it. The stream must join before it takes anything else.
  [[nodiscard]] virtual bool plan_aside(const device::Stream & /*stream*/, sluice_stream_receive_t * /*receive*/) {
    return false;
  }
  // Plans how the stream is to wait for the message, which was started: kCommand says *receive, of which
  // wait_enqueued() is told. Again after an error of the caller's own.
  enum class Wait : std::uint8_t {
    kForPoll,  // for whoever calls poll()
    kCommand,
    kNotAtAll,  // the stream will have done all by then
  };
  [[nodiscard]] virtual Wait plan_wait(const device::Stream & /*stream*/, sluice_stream_receive_t * /*receive*/) {
    return Wait::kForPoll;
  }
  virtual void wait_enqueued(bool /*is_in_stream*/) {}
  // The stream has done all for the message, and poll() is about to say so. Any thread.
  [[nodiscard]] virtual bool is_done_by_stream() const noexcept { return false; }
  // The program asks whether it is complete. Any thread. Hot.
  virtual void ask() noexcept {}
  // What the statistics call the way that it took; `engine` is what its queue calls itself. When it is complete.
  [[nodiscard]] virtual Route route_taken(Route engine) const noexcept { return engine; }
  // A message of a graph that the program captures. It is started by being captured: plan_captured() says how, with the
  // lock of Carriers::hold() and behind prepare(); false: the graph has nothing to do for it. It is complete when both
  // sides know each other.
  [[nodiscard]] virtual bool is_captured() const noexcept { return false; }
  [[nodiscard]] virtual bool plan_captured(sluice_captured_t * /*captured*/) { return false; }
  // The stream has come to the start. Once, within a turn; in the order in which messages were enqueued. Returns an MPI
  // error code; after an error poll() is not called.
  [[nodiscard]] virtual int begin() = 0;
  // Whether it is complete, well or not; then *code is an MPI error code and *status, which was cleared, tells of it.
  // Within a turn.
  [[nodiscard]] virtual bool poll(int *code, MPI_Status *status) = 0;
  // For error messages: "to 3, tag 5".
  [[nodiscard]] virtual std::string describe() const = 0;
  // Payload of a message that ended well, in bytes.
  [[nodiscard]] virtual std::uint64_t payload_bytes(const MPI_Status &status) const = 0;
};

using CarrierPtr = std::unique_ptr<Carrier>;

// As the program's own MPI_Isend or MPI_Irecv would: by any route of Sluice's, matched by the host MPI. `given` was
// taken by the host MPI; a datatype of the program's is held. Errors: the host MPI refuses. (plain_carrier.cpp)
[[nodiscard]] Status make_plain_carrier(const Arguments &given, CarrierPtr *carrier);

}  // namespace sluice::ops::queue
