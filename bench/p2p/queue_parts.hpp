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
#include <string>
#include <vector>

#include "bench/memory/buffer.hpp"
#include "bench/memory/pattern.hpp"
#include "bench/mpi/newer_calls.hpp"
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
  decltype(&MPIX_Enqueue_start) start = find<decltype(&MPIX_Enqueue_start)>("MPIX_Enqueue_start");
  decltype(&MPIX_Enqueue_wait) wait = find<decltype(&MPIX_Enqueue_wait)>("MPIX_Enqueue_wait");

 private:
  // Throws AgreedError: every rank gets the same answer.
  template <class Function>
  static Function find(const char *name) {
    void *const function = find_mpi_function(name);
    if (function == nullptr) {
      throw AgreedError(std::string("neither this MPI nor a library below has ") + name +
                        ": run with Sluice, which has stream-triggered queues");
    }
    return reinterpret_cast<Function>(function);
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
  void copy(Buffer &dst, const Buffer &src) {
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

inline int count_of(const Buffer &data) {
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

  MPI_Request enqueue_send(const Buffer &data, int peer) {
    MPI_Request request = MPI_REQUEST_NULL;
    check_mpi(calls_.send(data.data(), count_of(data), MPI_BYTE, peer, kQueueTag, queue_, &request),
              "MPIX_Enqueue_send");
    return request;
  }
  MPI_Request enqueue_recv(const Buffer &data, int peer) {
    MPI_Request request = MPI_REQUEST_NULL;
    check_mpi(calls_.recv(data.data(), count_of(data), MPI_BYTE, peer, kQueueTag, queue_, &request),
              "MPIX_Enqueue_recv");
    return request;
  }
  void enqueue_start() { check_mpi(calls_.start(queue_), "MPIX_Enqueue_start"); }
  void enqueue_wait() { check_mpi(calls_.wait(queue_), "MPIX_Enqueue_wait"); }

 private:
  const QueueFunctions &calls_;
  MPIX_Queue queue_ = MPIX_QUEUE_NULL;
};

inline void complete(std::array<MPI_Request, 2> requests) {
  check_mpi(MPI_Waitall(2, requests.data(), MPI_STATUSES_IGNORE), "MPI_Waitall");
}

// What an exchange of one size between two ranks works with: stream commands copy `source` to `sent`, and what is
// received to `result`.
class QueueExchange {
 protected:
  QueueExchange(Session &session, const QueueFunctions &calls, std::uint64_t size)
      : module_(*session.module()),
        rank_(session.world().rank()),
        stream_(module_),
        queue_(calls, stream_),
        source_(make(size)),
        sent_(make(size)),
        received_(make(size)),
        result_(make(size)) {}
  ~QueueExchange() = default;
  QueueExchange(const QueueExchange &) = delete;
  QueueExchange &operator=(const QueueExchange &) = delete;

  [[nodiscard]] int peer() const { return 1 - rank_; }
  [[nodiscard]] int count() const { return count_of(sent_); }
  // Writes what an iteration of `sender` sends, and poisons what it is to be found in.
  void fill(int sender, std::uint64_t iteration) {
    std::vector<std::byte> bytes(source_.size_bytes());
    const Pattern pattern(static_cast<std::uint32_t>(sender), iteration, 0);
    pattern.fill(bytes);
    module_.copy(source_.data(), bytes.data(), bytes.size());
    pattern.poison(bytes);
    for (Buffer *buffer : {&sent_, &received_, &result_}) module_.copy(buffer->data(), bytes.data(), bytes.size());
  }
  // "" where `found` is what `sender` sent.
  [[nodiscard]] std::string find_error(const Buffer &found, int sender, std::uint64_t iteration) const {
    std::vector<std::byte> bytes(found.size_bytes());
    module_.copy(bytes.data(), found.data(), bytes.size());
    return Pattern(static_cast<std::uint32_t>(sender), iteration, 0).find_error(bytes);
  }

 private:
  Buffer make(std::uint64_t size) { return Buffer::program_memory(&module_, SLUICE_MEMORY_DEVICE, size); }

  DeviceModule &module_;

 protected:
  int rank_;
  ProgramStream stream_;
  Queue queue_;
  Buffer source_;
  Buffer sent_;
  Buffer received_;
  Buffer result_;
};

}  // namespace sluice::bench
