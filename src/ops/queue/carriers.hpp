// SPDX-License-Identifier: BSD-3-Clause
// Carriers: what makes the messages of one queue, each as its engine carries it. make_carriers() says which engine.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "base/status.hpp"
#include "device/stream.hpp"
#include "ops/queue/message.hpp"
#include "ops/rma/window.hpp"

namespace sluice::ops::queue {

// These are the engine `thread`'s: the host MPI carries all messages. Others carry what they can. Threads: one at a
// time for what makes messages, as the calls for a queue; the engine's turns for turn() and is_idle(); any for the
// rest.
class Carriers {
 public:
  virtual ~Carriers() = default;
  Carriers() noexcept = default;
  Carriers(const Carriers &) = delete;
  Carriers &operator=(const Carriers &) = delete;
  Carriers(Carriers &&) = delete;
  Carriers &operator=(Carriers &&) = delete;

  // The stream itself may wait for messages (Message::plan_wait()).
  [[nodiscard]] virtual bool can_wait() const noexcept { return false; }
  // Messages may go aside of the stream.
  [[nodiscard]] virtual bool can_go_aside() const noexcept { return false; }
  // There are messages for graphs.
  [[nodiscard]] virtual bool can_capture() const noexcept { return false; }
  // The host MPI matches all messages.
  [[nodiscard]] virtual bool match_in_host() const noexcept { return true; }

  // Makes a message as it is to travel; for a graph, where the program captures the stream into one and can_capture().
  // `given` was taken by the host MPI; `region` is what classify_buffer() found for it. Errors: the message cannot be
  // enqueued.
  [[nodiscard]] virtual Status carry(const Arguments &given, const transfer::Region &region, MessagePtr *message);
  // The same for a signal of `window` to or from its rank `given.peer`, which is sent when those of `behind` are
  // complete. What goes wrong later is raised on `given.comm`. Errors: as carry().
  [[nodiscard]] virtual Status carry_signal(const Arguments &given, const rma::WindowPtr &window,
                                            std::vector<MessagePtr> behind, MessagePtr *message);
  // At the beginning of each turn.
  virtual void turn() noexcept {}
  // Nothing of the carriers' own waits for a turn any more.
  [[nodiscard]] virtual bool is_idle() { return true; }
  // Held while the messages of a batch say what the stream is to do, once for all of them; not while it is told, but
  // for a capture: a runtime may hold up its caller until the stream has room.
  [[nodiscard]] virtual std::unique_lock<std::mutex> hold() { return {}; }
};

// Those of the engine that plan/queue_engine.hpp chooses, over `stream`, which outlives them, for messages on `comm`
// (MPI_COMM_NULL: on their own). Starts the progress thread, which begins messages. Errors: this process cannot have
// the engine, or the thread. Any thread.
[[nodiscard]] Status make_carriers(MPI_Comm comm, const device::Stream &stream, std::unique_ptr<Carriers> *carriers);

// Whether there may be a thread that starts messages. Errors: MPI gives no MPI_THREAD_MULTIPLE. Any thread.
[[nodiscard]] Status check_threads();

// Whether the engines that do without the host MPI could reach the peer of `given`: another process of this
// MPI_COMM_WORLD, within an intracommunicator; then *world_rank is its rank there. Both sides of a message come to the
// same answer: it hangs on what both know of the pair and of the communicator. Some calls of the host MPI. Any thread.
[[nodiscard]] bool is_within_world(const Arguments &given, int *world_rank);

// device_channels.cpp. The channels of the process are open. Any thread.
[[nodiscard]] std::unique_ptr<Carriers> make_device_channels(const device::Stream &stream);

// deferred_work.cpp. The fabric of the process is open. Errors: it has no more counters. Any thread.
[[nodiscard]] Status make_deferred_work(std::unique_ptr<Carriers> *carriers);

}  // namespace sluice::ops::queue
