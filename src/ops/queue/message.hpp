// SPDX-License-Identifier: BSD-3-Clause
// Message: a send, receive or collective operation of a queue, from the call that enqueues it until it is complete.
// Each way in which one travels is a kind of Message.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/short_mutex.hpp"
#include "base/status.hpp"
#include "base/types.hpp"
#include "ops/queue/flat_buffer.hpp"
#include "sluice/stream_message.h"
#include "wire/mpi.hpp"

namespace sluice::ops::queue {

class BatchQueue;

// Held by its queue while there is something to do, and by the program's request, which is a generalized one of the
// host MPI's. Threads: who enqueues and who starts the message, one at a time, as the calls for its queue; beside them
// the engine's turns for begin() and poll(); any for what says so.
class Message : public std::enable_shared_from_this<Message> {
 public:
  // Errors are raised on `comm`. `operation` and `kind` are what the statistics name; without an operation they say
  // nothing.
  Message(std::optional<Operation> operation, MPI_Comm comm, MemoryKind kind) noexcept
      : operation_(operation), comm_(comm), kind_(kind) {}
  virtual ~Message() = default;
  Message(const Message &) = delete;
  Message &operator=(const Message &) = delete;
  Message(Message &&) = delete;
  Message &operator=(Message &&) = delete;

  // Makes the program's request. Errors: the host MPI refuses; then there is none.
  [[nodiscard]] Status open(MPI_Request *request);
  // Takes the request back that nobody was given: enqueuing failed. A null `request`: there is none.
  void withdraw(MPI_Request *request) noexcept;
  // The message of a request that open() made; null for any other.
  [[nodiscard]] static std::shared_ptr<Message> of(MPI_Request request);
  // The program will not complete a request of this message. From here on its status, when it is complete, is written
  // to *report (null: nowhere), MPI_ERROR included, by the turn that sees it complete, or at once. What it ends with is
  // raised on its communicator then. Errors: it is complete already, and ended with this.
  [[nodiscard]] Status leave(MPI_Status *report);
  [[nodiscard]] bool has_report() const noexcept { return report_.load(std::memory_order_relaxed) != nullptr; }
  // The queue that it was enqueued in; null when that is gone.
  [[nodiscard]] std::shared_ptr<BatchQueue> queue() const noexcept { return queue_.lock(); }
  void set_queue(const std::shared_ptr<BatchQueue> &queue) noexcept { queue_ = queue; }

  // These are called by the thread that tells the stream; those that plan with the lock of Carriers::hold().
  // Plans before the stream is told to start the message; a second time when the stream refused. Never blocks for a
  // message. Errors: the message cannot be started.
  [[nodiscard]] virtual Status prepare() { return {}; }
  // How many batches the stream may be behind this message's for plan_start() to find what it needs; behind prepare().
  [[nodiscard]] virtual std::uint64_t batches_with_room() const noexcept { return ~std::uint64_t{0}; }
  // Adds the copies that the stream makes when it comes to the start, before what it sends. Again when the stream
  // refused.
  virtual void plan_copies(std::vector<sluice_copy_t> * /*copies*/) {}
  // A copy that the stream makes behind its wait for the message: true, and *copy; back_refused() when the stream did
  // not take it.
  [[nodiscard]] virtual bool plan_back(sluice_copy_t * /*copy*/) { return false; }
  virtual void back_refused() noexcept {}
  // The program completes the request of a message of `size_bytes`: brings the data, if no stream was told to. Blocks
  // for the copy. Errors: those of the copy. By whoever completes the request.
  [[nodiscard]] virtual Status land(std::uint64_t /*size_bytes*/) { return {}; }
  // The message is complete when the stream has made its copy of plan_copies(). Any thread.
  [[nodiscard]] virtual bool has_copy() const noexcept { return false; }
  // A signal, which comes behind the copies of its batch.
  [[nodiscard]] virtual bool is_signal() const noexcept { return false; }
  // Plans what the stream is to do for the message when it comes to the start: true, and *send, of which
  // start_enqueued() is told; false: nothing, or it is in the stream already, which refused the trigger then.
  [[nodiscard]] virtual bool plan_start(sluice_stream_send_t * /*send*/) { return false; }
  virtual void start_enqueued(bool /*is_in_stream*/) {}
  // Plans that the message is received aside of the stream, as soon as it is there: true, and *receive, of which
  // wait_enqueued() is told; false: as plan_wait() has it. The stream must join before it takes anything else.
  [[nodiscard]] virtual bool plan_aside(sluice_stream_receive_t * /*receive*/) { return false; }
  // Plans how the stream is to wait for the message, which was started and is not complete: kCommand says *receive, of
  // which wait_enqueued() is told. Again after an error of the caller's own.
  enum class Wait : std::uint8_t {
    kForPoll,  // for whoever calls poll()
    kCommand,
    kNotAtAll,  // the stream will have done all by then
  };
  [[nodiscard]] virtual Wait plan_wait(sluice_stream_receive_t * /*receive*/) { return Wait::kForPoll; }
  virtual void wait_enqueued(bool /*is_in_stream*/) {}
  // A message of a graph that the program captures. It is started by being captured: plan_captured() says how, with the
  // lock of Carriers::hold() and behind prepare(); false: the graph has nothing to do for it. It is complete when both
  // sides know each other.
  [[nodiscard]] virtual bool is_captured() const noexcept { return false; }
  [[nodiscard]] virtual bool plan_captured(sluice_captured_t * /*captured*/) { return false; }
  // A captured signal makes this copy, too; before plan_captured().
  virtual void carry(const sluice_copy_t & /*copy*/) noexcept {}

  // The stream has done all for the message, and poll() is about to say so. Any thread.
  [[nodiscard]] virtual bool is_done_by_stream() const noexcept { return false; }
  // Starts the message, when the stream has come to its start. Call it once, within a turn, in the order in which
  // messages were enqueued.
  void begin() noexcept;
  // True when it is complete, well or not; the program's request is complete by then. After begin(), within a turn.
  [[nodiscard]] bool poll() noexcept;
  // Any thread.
  [[nodiscard]] bool is_complete() const noexcept { return is_complete_.load(std::memory_order_acquire); }

 private:
  // Starts the transfer, where that is not for test_transfer(). Returns an MPI error code; after an error
  // test_transfer() is not called.
  [[nodiscard]] virtual int start_transfer() { return MPI_SUCCESS; }
  // Whether it is complete, well or not; then *code is an MPI error code and *status, which was cleared, tells of it.
  // Within a turn.
  [[nodiscard]] virtual bool test_transfer(int *code, MPI_Status *status) = 0;
  // The program asks whether it is complete. Any thread. Hot.
  virtual void ask() noexcept {}
  // What the statistics call the way that it took. When it is complete.
  [[nodiscard]] virtual Route route_taken() const noexcept { return Route::kThread; }
  // For error messages: "to 3, tag 5".
  [[nodiscard]] virtual std::string describe() const = 0;
  // Payload of a message that ended well, in bytes.
  [[nodiscard]] virtual std::uint64_t payload_bytes(const MPI_Status &status) const = 0;

  class Marker;
  static int query(void *state, MPI_Status *status);

  void end(int code) noexcept;
  void write_report() noexcept;  // with ending_

  const std::optional<Operation> operation_;
  const MPI_Comm comm_;
  const MemoryKind kind_;
  MPI_Request program_request_ = MPI_REQUEST_NULL;
  MPI_Status status_{};
  Status outcome_;
  int code_ = MPI_SUCCESS;  // as the host MPI, or the engine, gave it
  ShortMutex ending_;       // of what leave() and end() tell each other
  std::atomic<MPI_Status *> report_{nullptr};
  bool is_left_ = false;
  bool has_ended_ = false;
  bool is_error_told_ = false;
  std::atomic<bool> is_complete_{false};
  std::weak_ptr<BatchQueue> queue_;
};

using MessagePtr = std::shared_ptr<Message>;

// Takes those away that are complete. Any thread, for a list of its own.
inline void forget_complete(std::vector<MessagePtr> *messages) {
  std::erase_if(*messages, [](const MessagePtr &message) { return message->is_complete(); });
}
// Whether all are complete, which are forgotten. Any thread, for a list of its own.
[[nodiscard]] inline bool all_complete(std::vector<MessagePtr> *messages) {
  forget_complete(messages);
  return messages->empty();
}

// Why a message cannot be a graph's, and what to do. Errors: always that one, kUnsupported. Pure.
[[nodiscard]] Status cannot_be_captured(const std::string &why);

// What the statistics call a message between two ranks. Pure.
[[nodiscard]] constexpr Operation operation_of(bool is_send, bool is_signal) noexcept {
  if (is_signal) return is_send ? Operation::kEnqueueSignal : Operation::kEnqueueWaitSignal;
  return is_send ? Operation::kEnqueueSend : Operation::kEnqueueRecv;
}

// A send or a receive. `region` is what classify_buffer() found for `given`, which the host MPI took. Threads: as
// Message.
class PointMessage : public Message {
 public:
  PointMessage(const Arguments &given, transfer::Region region) noexcept
      : Message(operation_of(given.is_send, given.is_signal), given.comm, region.place.kind),
        given_(given),
        flat_(std::move(region)) {}

  [[nodiscard]] bool is_signal() const noexcept override { return given_.is_signal && given_.is_send; }

 protected:
  [[nodiscard]] std::string describe() const override;
  [[nodiscard]] std::uint64_t payload_bytes(const MPI_Status &status) const override;

  Arguments given_;
  FlatBuffer flat_;
};

// Makes a message of a kind that holds datatypes. Errors: the host MPI refuses. Any thread.
template <typename Kind, typename... Values>
[[nodiscard]] Status make_holding(MessagePtr *message, const Values &...values) {
  auto made = std::make_shared<Kind>(values...);
  if (Status status = made->hold(); !status.is_ok()) return status;
  *message = std::move(made);
  return {};
}

}  // namespace sluice::ops::queue
