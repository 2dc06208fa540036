// SPDX-License-Identifier: BSD-3-Clause
// Engine: what carries the messages of one queue. make_engine() says which.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>

#include "base/status.hpp"
#include "base/types.hpp"
#include "device/place.hpp"
#include "device/stream.hpp"
#include "ops/queue/carrier.hpp"
#include "ops/queue/message.hpp"

namespace sluice::ops::queue {

// One thread at a time calls these; none blocks for a message or for the stream.
class Engine {
 public:
  virtual ~Engine() = default;
  Engine() noexcept = default;
  Engine(const Engine &) = delete;
  Engine &operator=(const Engine &) = delete;
  Engine(Engine &&) = delete;
  Engine &operator=(Engine &&) = delete;

  // What the statistics call it.
  [[nodiscard]] virtual Route route() const noexcept = 0;
  // How a message of this queue is to travel, and what the statistics call that: this engine's way, or the one that
  // serves any message. `given` was taken by the host MPI; `place` is where its buffer lies now. Errors: the message
  // cannot be enqueued.
  [[nodiscard]] virtual Status carry(const Arguments &given, const device::Place &place, CarrierPtr *carrier,
                                     Route *route) = 0;
  // Adds a message to the batch that the next start() ends.
  virtual void enqueue(MessagePtr message) = 0;
  // Ends the batch, and has the stream start it. Errors: the stream refuses; the batch is open as before.
  [[nodiscard]] virtual Status start() = 0;
  // Has the stream wait for the batches so far, what it sends by itself included. Errors: none was started, the stream
  // refuses.
  [[nodiscard]] virtual Status wait() = 0;
  // Messages enqueued and not started; messages started and not complete.
  struct Pending {
    std::size_t n_open = 0;
    std::size_t n_started = 0;
  };
  [[nodiscard]] virtual Pending pending() = 0;
  // Lets go of the stream, which need not live any longer. Nothing is pending. Last call.
  virtual void close() noexcept = 0;
  // The same when the stream may be gone already.
  virtual void abandon() noexcept = 0;
};

// The engine that plan/queue_engine.hpp chooses, over `stream`, for messages on `comm` (MPI_COMM_NULL: on their own).
// Errors: this process cannot have it.
[[nodiscard]] Status make_engine(MPI_Comm comm, std::unique_ptr<device::Stream> stream,
                                 std::shared_ptr<Engine> *engine);

// Waits until `stream` has come to trigger `least` of the `n_triggers` that it was told, so that another batch may be
// enqueued. A runtime that has no room in a stream holds up its caller, and may hold up every other thread
// that asks anything of it, among them the one that would carry the message that the stream waits for. Holds nothing up
// here: the progress thread goes on. Errors: the stream has not moved for queue_patience; nothing was enqueued.
[[nodiscard]] Status await_room(const device::Stream &stream, std::uint64_t n_triggers, std::uint64_t least);

// What carries messages otherwise than the host MPI does, for an engine whose batches the progress thread begins.
class Carriers {
 public:
  virtual ~Carriers() = default;
  Carriers() noexcept = default;
  Carriers(const Carriers &) = delete;
  Carriers &operator=(const Carriers &) = delete;
  Carriers(Carriers &&) = delete;
  Carriers &operator=(Carriers &&) = delete;

  [[nodiscard]] virtual Route route() const noexcept = 0;
  // As Engine::carry(); *carrier stays null where the host MPI is to carry the message.
  [[nodiscard]] virtual Status carry(const Arguments &given, const device::Place &place, CarrierPtr *carrier) = 0;
  // The same while the program captures the stream into a graph: a message that each launch of the graph sends or
  // receives, or an error that says why it cannot be one.
  [[nodiscard]] virtual Status capture(const Arguments &given, const device::Place &place, CarrierPtr *carrier);
  // At the beginning of each turn.
  virtual void turn() noexcept = 0;
  // Nothing of the carriers' own waits for a turn any more.
  [[nodiscard]] virtual bool is_idle() { return true; }
  // Held while the carriers of a batch say what the stream is to do, once for all of them; not while it is told: a
  // runtime may hold up its caller until the stream has room.
  [[nodiscard]] virtual std::unique_lock<std::mutex> hold() { return {}; }
};

// device_channels.cpp: over `stream`, which outlives them. The channels of the process are open.
[[nodiscard]] std::unique_ptr<Carriers> make_device_channels(const device::Stream &stream);

// thread_engine.cpp; without `carriers` the host MPI carries all messages.
[[nodiscard]] Status make_thread_engine(std::unique_ptr<device::Stream> stream, std::unique_ptr<Carriers> carriers,
                                        std::shared_ptr<Engine> *engine);

// deferred_work.cpp. The fabric of the process is open. Errors: it has no more counters.
[[nodiscard]] Status make_deferred_work(std::unique_ptr<Carriers> *carriers);

}  // namespace sluice::ops::queue
