// SPDX-License-Identifier: BSD-3-Clause
// Message: a send, receive or collective operation of a queue, from the call that enqueues it until it is complete.
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <utility>

#include "base/status.hpp"
#include "base/types.hpp"
#include "ops/queue/carrier.hpp"
#include "wire/mpi.hpp"

namespace sluice::ops::queue {

// Held by its engine while there is something to do, and by the program's request, which is a generalized one of the
// host MPI's.
class Message final : public std::enable_shared_from_this<Message> {
 public:
  // Errors are raised on `comm`. `operation`, `kind` and `engine` are what the statistics name; without an operation
  // they say nothing.
  Message(std::optional<Operation> operation, MPI_Comm comm, MemoryKind kind, Route engine, CarrierPtr carrier) noexcept
      : operation_(operation), comm_(comm), kind_(kind), engine_(engine), carrier_(std::move(carrier)) {}
  ~Message() = default;
  Message(const Message &) = delete;
  Message &operator=(const Message &) = delete;
  Message(Message &&) = delete;
  Message &operator=(Message &&) = delete;

  // Makes the program's request. Errors: the host MPI refuses; then there is none.
  [[nodiscard]] Status open(MPI_Request *request);
  // Takes the request back that nobody was given: enqueuing failed.
  void withdraw(MPI_Request *request) noexcept;

  // Its carrier's.
  [[nodiscard]] Status prepare() { return carrier_->prepare(); }
  [[nodiscard]] std::uint64_t batches_with_room() const noexcept { return carrier_->batches_with_room(); }
  [[nodiscard]] bool plan_start(const device::Stream &stream, sluice_stream_send_t *send) {
    return carrier_->plan_start(stream, send);
  }
  void start_enqueued(bool is_in_stream) { carrier_->start_enqueued(is_in_stream); }
  [[nodiscard]] bool plan_aside(const device::Stream &stream, sluice_stream_receive_t *receive) {
    return carrier_->plan_aside(stream, receive);
  }
  [[nodiscard]] Carrier::Wait plan_wait(const device::Stream &stream, sluice_stream_receive_t *receive) {
    return is_complete() ? Carrier::Wait::kNotAtAll : carrier_->plan_wait(stream, receive);
  }
  void wait_enqueued(bool is_in_stream) { carrier_->wait_enqueued(is_in_stream); }
  [[nodiscard]] bool is_captured() const noexcept { return carrier_->is_captured(); }
  [[nodiscard]] bool plan_captured(sluice_captured_t *captured) { return carrier_->plan_captured(captured); }
  [[nodiscard]] bool is_done_by_stream() const noexcept { return carrier_->is_done_by_stream(); }
  // Starts it. Once; within a turn of the engine.
  void begin() noexcept;
  // True when it is complete, well or not; the program's request is complete by then. After begin(), within a turn.
  [[nodiscard]] bool poll() noexcept;

  // Any thread.
  [[nodiscard]] bool is_complete() const noexcept { return is_complete_.load(std::memory_order_acquire); }

 private:
  class Marker;
  static int query(void *state, MPI_Status *status);
  static int release(void *state);
  static int cancel(void *state, int is_complete);

  void end(int code) noexcept;

  const std::optional<Operation> operation_;
  const MPI_Comm comm_;
  const MemoryKind kind_;
  const Route engine_;
  const CarrierPtr carrier_;
  MPI_Request request_ = MPI_REQUEST_NULL;  // the program's
  MPI_Status status_{};
  Status outcome_;
  std::atomic<bool> is_complete_{false};
};

using MessagePtr = std::shared_ptr<Message>;

}  // namespace sluice::ops::queue
