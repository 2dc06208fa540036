// SPDX-License-Identifier: BSD-3-Clause
// What the tests of queues share: the functions of MPIX_Queue, a stream of the program's, the queue of a
// stream, and the buffers of an exchange.
#pragma once

#include <mpi.h>
#include <sluice/queue.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "bench/measure/chosen_loop.hpp"
#include "bench/measure/sampling.hpp"
#include "bench/memory/message_buffer.hpp"
#include "bench/memory/pattern.hpp"
#include "bench/mpi/memory_growth.hpp"
#include "bench/mpi/newer_calls.hpp"
#include "bench/report/failure_text.hpp"
#include "bench/session.hpp"

namespace sluice::bench {

inline constexpr int kQueueTag = 7;
// MPIX_Enqueue_send and MPIX_Enqueue_recv count in ints; tests of them have no larger sizes (TestInfo::max_size).
inline constexpr std::uint64_t kLargestQueueCount = std::numeric_limits<int>::max();

// Asked for by name: where nobody has them, one line says so.
struct QueueFunctions {
  decltype(&MPIX_Create_queue) create = find<decltype(&MPIX_Create_queue)>("MPIX_Create_queue");
  decltype(&MPIX_Free_queue) free = find<decltype(&MPIX_Free_queue)>("MPIX_Free_queue");
  decltype(&MPIX_Enqueue_send) send = find<decltype(&MPIX_Enqueue_send)>("MPIX_Enqueue_send");
  decltype(&MPIX_Enqueue_recv) recv = find<decltype(&MPIX_Enqueue_recv)>("MPIX_Enqueue_recv");
  decltype(&MPIX_Enqueue_put) put = find<decltype(&MPIX_Enqueue_put)>("MPIX_Enqueue_put");
  decltype(&MPIX_Enqueue_signal) signal = find<decltype(&MPIX_Enqueue_signal)>("MPIX_Enqueue_signal");
  decltype(&MPIX_Enqueue_wait_signal) wait_signal =
      find<decltype(&MPIX_Enqueue_wait_signal)>("MPIX_Enqueue_wait_signal");
  decltype(&MPIX_Enqueue_start) start = find<decltype(&MPIX_Enqueue_start)>("MPIX_Enqueue_start");
  decltype(&MPIX_Enqueue_wait) wait = find<decltype(&MPIX_Enqueue_wait)>("MPIX_Enqueue_wait");

 private:
  // Throws AgreedError: every rank gets the same answer.
  template <class Function>
  static Function find(const char *name) {
    const auto function = find_function<Function>(name);
    if (function == nullptr) {
      throw AgreedError(std::string("neither this MPI nor a library below has ") + name +
                        ": run with Sluice, which has stream-triggered queues");
    }
    return function;
  }
};

// A stream of the program's on the selected device. Destroyed when what is enqueued has run.
class ProgramStream {
 public:
  explicit ProgramStream(DeviceModule &module) : module_(module) {
    if (module.table().program_stream_create == nullptr) {
      throw DeviceError(module.name() + " has no streams for queues (group `program_stream` of backend.h)");
    }
    module_.require(module_.table().program_stream_create(&native_), "creation of a stream");
  }
  ~ProgramStream() { module_.table().program_stream_destroy(native_); }
  ProgramStream(const ProgramStream &) = delete;
  ProgramStream &operator=(const ProgramStream &) = delete;

  void *native() const { return native_; }
  // What stands in a kernel's place: it reads `src` and writes `dst`, all of it memory of the device. Returns at once.
  void copy(MessageBuffer &dst, const MessageBuffer &src) {
    module_.require(module_.table().program_stream_copy(native_, dst.data(), src.data(), dst.size_bytes()),
                    "enqueueing of a copy");
  }
  void synchronize() {
    module_.require(module_.table().program_stream_synchronize(native_), "synchronisation of a stream");
  }

 private:
  DeviceModule &module_;
  void *native_ = nullptr;
};

inline int count_of(const MessageBuffer &data) {
  if (data.size_bytes() > kLargestQueueCount) throw MpiError("a message of a queue is larger than its count can say");
  return static_cast<int>(data.size_bytes());
}

// The queue of a stream. Freed at the end, when its messages are complete.
class Queue {
 public:
  Queue(const QueueFunctions &calls, const ProgramStream &stream) : calls_(calls) {
    check_mpi(calls_.create(MPI_COMM_WORLD, stream.native(), &queue_), "MPIX_Create_queue");
  }
  ~Queue() { calls_.free(queue_); }
  Queue(const Queue &) = delete;
  Queue &operator=(const Queue &) = delete;

  MPI_Request enqueue_send(const MessageBuffer &data, int peer) {
    MPI_Request request = MPI_REQUEST_NULL;
    check_mpi(calls_.send(data.data(), count_of(data), MPI_BYTE, peer, kQueueTag, queue_, &request),
              "MPIX_Enqueue_send");
    return request;
  }
  MPI_Request enqueue_recv(const MessageBuffer &data, int peer) {
    MPI_Request request = MPI_REQUEST_NULL;
    check_mpi(calls_.recv(data.data(), count_of(data), MPI_BYTE, peer, kQueueTag, queue_, &request),
              "MPIX_Enqueue_recv");
    return request;
  }
  // To the beginning of the peer's window.
  MPI_Request enqueue_put(const MessageBuffer &data, int peer, MPI_Win window) {
    MPI_Request request = MPI_REQUEST_NULL;
    check_mpi(
        calls_.put(data.data(), count_of(data), MPI_BYTE, peer, 0, count_of(data), MPI_BYTE, window, queue_, &request),
        "MPIX_Enqueue_put");
    return request;
  }
  MPI_Request enqueue_signal(int peer, MPI_Win window) {
    MPI_Request request = MPI_REQUEST_NULL;
    check_mpi(calls_.signal(peer, window, queue_, &request), "MPIX_Enqueue_signal");
    return request;
  }
  MPI_Request enqueue_wait_signal(int peer, MPI_Win window) {
    MPI_Request request = MPI_REQUEST_NULL;
    check_mpi(calls_.wait_signal(peer, window, queue_, &request), "MPIX_Enqueue_wait_signal");
    return request;
  }
  void enqueue_start() { check_mpi(calls_.start(queue_), "MPIX_Enqueue_start"); }
  void enqueue_wait() { check_mpi(calls_.wait(queue_), "MPIX_Enqueue_wait"); }

 private:
  const QueueFunctions &calls_;
  MPIX_Queue queue_ = MPIX_QUEUE_NULL;
};

template <std::size_t n>
void complete(std::array<MPI_Request, n> requests) {
  check_mpi(MPI_Waitall(static_cast<int>(n), requests.data(), MPI_STATUSES_IGNORE), "MPI_Waitall");
}

// Whether this MPI makes windows at all: Debian's Open MPI 4 makes none in a container. Collective.
inline bool makes_windows() {
  MPI_Comm comm = MPI_COMM_NULL;
  check_mpi(MPI_Comm_dup(MPI_COMM_WORLD, &comm), "MPI_Comm_dup");
  check_mpi(MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
  MPI_Win window = MPI_WIN_NULL;
  const bool makes = MPI_Win_create(nullptr, 0, 1, MPI_INFO_NULL, comm, &window) == MPI_SUCCESS;
  if (makes) check_mpi(MPI_Win_free(&window), "MPI_Win_free");
  check_mpi(MPI_Comm_free(&comm), "MPI_Comm_free");
  return makes;
}

// A window of one buffer of each rank, in one epoch to all of them.
class QueueWindow {
 public:
  // Collective.
  explicit QueueWindow(const MessageBuffer &memory) {
    const auto size_bytes = static_cast<MPI_Aint>(memory.size_bytes());
    check_mpi(MPI_Win_create(memory.data(), size_bytes, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &window_), "MPI_Win_create");
    check_mpi(MPI_Win_lock_all(0, window_), "MPI_Win_lock_all");
  }
  // Collective.
  ~QueueWindow() {
    MPI_Win_unlock_all(window_);
    MPI_Win_free(&window_);
  }
  QueueWindow(const QueueWindow &) = delete;
  QueueWindow &operator=(const QueueWindow &) = delete;
  MPI_Win get() const { return window_; }

 private:
  MPI_Win window_ = MPI_WIN_NULL;
};

// What an exchange of one size between two ranks works with: stream commands copy `source` to `sent`, and what is
// received to `result`. Checked as every message is (memory/message_buffer.hpp): by a kernel of the device, in place.
class QueueExchange {
 public:
  // Collective. Other memory, made before what was there is given back, so that an allocator that hands out what it got
  // last does not give the same again. Throws AgreedError.
  void renew() {
    std::unique_ptr<Messages> fresh;
    session_.world().agree(
        text_with_size(size_bytes_, error_of([&] { fresh = std::make_unique<Messages>(module_, size_bytes_); })));
    messages_ = std::move(fresh);
  }

 protected:
  // Collective. Throws AgreedError.
  QueueExchange(Session &session, const QueueFunctions &calls, std::uint64_t size)
      : rank_(session.world().rank()),
        session_(session),
        module_(*session.module()),
        stream_(module_),
        queue_(calls, stream_),
        size_bytes_(size) {
    renew();
  }
  ~QueueExchange() = default;
  QueueExchange(const QueueExchange &) = delete;
  QueueExchange &operator=(const QueueExchange &) = delete;

  // Whose data the messages hold when an iteration is over. Data that no stream command of this rank writes lie in
  // `source`, and in `result` without has_result, from the beginning, and must stay.
  struct Senders {
    int of_sent = 0;
    int of_received = 0;
    bool has_result = true;
  };

  [[nodiscard]] int peer() const { return 1 - rank_; }
  [[nodiscard]] int count() const { return count_of(messages_->sent); }
  MessageBuffer &source() { return messages_->source; }
  MessageBuffer &sent() { return messages_->sent; }
  MessageBuffer &received() { return messages_->received; }
  MessageBuffer &result() { return messages_->result; }

  // Writes what an iteration begins with, and poisons all that it must write.
  void fill(const Senders &senders, std::uint64_t iteration) {
    const Pattern sent = sent_by(senders.of_sent, iteration);
    const Pattern received = sent_by(senders.of_received, iteration);
    messages_->source.fill(sent, scratch_);
    messages_->sent.poison(sent, scratch_);
    messages_->received.poison(received, scratch_);
    if (senders.has_result) {
      messages_->result.poison(received, scratch_);
    } else {
      messages_->result.fill(received, scratch_);
    }
  }
  // The first byte that is wrong, of any of them and its guards; "".
  [[nodiscard]] std::string find_error(const Senders &senders, std::uint64_t iteration) {
    struct Look {
      const char *name;
      const MessageBuffer &buffer;
      int sender;
    };
    for (const Look &look :
         {Look{"result", messages_->result, senders.of_received},
          Look{"received message", messages_->received, senders.of_received},
          Look{"sent message", messages_->sent, senders.of_sent}, Look{"source", messages_->source, senders.of_sent}}) {
      const std::string wrong = look.buffer.find_error(sent_by(look.sender, iteration), scratch_);
      if (!wrong.empty()) return std::string(look.name) + ", " + wrong;
    }
    return "";
  }

  int rank_;
  Session &session_;
  DeviceModule &module_;

 private:
  struct Messages {
    Messages(DeviceModule &module, std::uint64_t size)
        : source(&module, SLUICE_MEMORY_DEVICE, size),
          sent(&module, SLUICE_MEMORY_DEVICE, size),
          received(&module, SLUICE_MEMORY_DEVICE, size),
          result(&module, SLUICE_MEMORY_DEVICE, size) {}
    MessageBuffer source;
    MessageBuffer sent;
    MessageBuffer received;
    MessageBuffer result;
  };

  static Pattern sent_by(int rank, std::uint64_t iteration) { return {static_cast<std::uint32_t>(rank), iteration, 0}; }

 protected:
  ProgramStream stream_;
  Queue queue_;

 private:
  std::uint64_t size_bytes_;
  std::unique_ptr<Messages> messages_;
  std::vector<std::byte> scratch_;
};

inline Loop queue_loop_of(const Options &options, const Loop &usual) {
  return chosen_loop(options, options.is_cold ? cold_loop(usual) : usual);
}

// With --cold, and its columns behind the others. Collective.
inline std::optional<MemoryGrowth> growth_with(Session &session, Columns &columns) {
  std::optional<MemoryGrowth> growth;
  if (session.options().is_cold) {
    growth.emplace(session.module());
    growth->add_columns(columns);
  }
  return growth;
}

// Iterations of --cold, each timed by itself, in memory that was made for it; a barrier keeps the making out of the
// time. `iterate` is given whether the iteration counts. Collective.
template <class Exchange, class Iterate>
void run_cold(Session &session, Exchange &exchange, const Loop &loop, MemoryGrowth &growth, Iterate iterate) {
  for (std::uint64_t i = 0; i < loop.warmup + loop.iterations; ++i) {
    exchange.renew();
    exchange.prepare(i);
    if (i == loop.warmup) growth.begin();
    session.world().barrier();
    iterate(i >= loop.warmup);
  }
  growth.end();
}

}  // namespace sluice::bench
