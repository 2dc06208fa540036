// SPDX-License-Identifier: BSD-3-Clause
// Carrier: how one message of a queue travels, from the call that enqueues it until it is complete.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/status.hpp"
#include "base/types.hpp"
#include "device/stream.hpp"
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

  // Before the stream is told to start the message, by the thread that tells it; a second time when the stream refused.
  // Never blocks for a message. Errors: the message cannot be started.
  [[nodiscard]] virtual Status prepare() { return {}; }
  // Commands of the message's own go into the stream, before its trigger; by the thread that tells it, before begin().
  // A second time when the stream refused the trigger. Returns how many went into the stream. Failures are the
  // carrier's to make good.
  [[nodiscard]] virtual unsigned enqueue_start(const device::Stream & /*stream*/) { return 0; }
  // The stream is to wait for the message, which was started. *n_commands grows by those that went into the stream.
  // True: it waits by these alone; false: for whoever calls poll(), too. Again after an error of the caller's own.
  [[nodiscard]] virtual bool enqueue_wait(const device::Stream & /*stream*/, unsigned * /*n_commands*/) {
    return false;
  }
  // The stream has done all for the message, and poll() is about to say so. Any thread.
  [[nodiscard]] virtual bool is_done_by_stream() const noexcept { return false; }
  // The program asks whether it is complete. Any thread. Hot.
  virtual void ask() noexcept {}
  // What the statistics call the way that it took; `engine` is what its queue calls itself. When it is complete.
  [[nodiscard]] virtual Route route_taken(Route engine) const noexcept { return engine; }
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
