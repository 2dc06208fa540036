// SPDX-License-Identifier: BSD-3-Clause
// queue_latency and queue_enqueue: messages between commands of a stream, as kernels would be, started and awaited by
// the stream itself (MPIX_Queue: sluice/queue.h), beside the same with a host that synchronises and then calls MPI.
#include <mpi.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "bench/catalogue.hpp"
#include "bench/measure/chosen_loop.hpp"
#include "bench/memory/buffer.hpp"
#include "bench/mpi/agreed_stop.hpp"
#include "bench/mpi/rank_samples.hpp"
#include "bench/p2p/queue_parts.hpp"
#include "bench/report/failure_text.hpp"
#include "bench/session.hpp"

namespace sluice::bench {
namespace {

// A ping-pong of one size: kernel, message, kernel, and the same back.
class PingPong : QueueExchange {
 public:
  PingPong(Session &session, const QueueFunctions &calls, std::uint64_t size) : QueueExchange(session, calls, size) {}

  void plain() {
    if (rank_ == 0) {
      stream_.copy(sent_, source_);
      stream_.synchronize();
      check_mpi(MPI_Send(sent_.data(), count(), MPI_BYTE, peer(), kQueueTag, MPI_COMM_WORLD), "MPI_Send");
    }
    check_mpi(MPI_Recv(received_.data(), count(), MPI_BYTE, peer(), kQueueTag, MPI_COMM_WORLD, MPI_STATUS_IGNORE),
              "MPI_Recv");
    stream_.copy(rank_ == 0 ? result_ : sent_, received_);
    stream_.synchronize();
    if (rank_ == 1) check_mpi(MPI_Send(sent_.data(), count(), MPI_BYTE, peer(), kQueueTag, MPI_COMM_WORLD), "MPI_Send");
  }

  // The host enqueues all of it, then waits once.
  void triggered() {
    std::array<MPI_Request, 2> requests;
    if (rank_ == 0) {
      stream_.copy(sent_, source_);
      requests = {queue_.enqueue_recv(received_, peer()), queue_.enqueue_send(sent_, peer())};
      queue_.enqueue_start();
      queue_.enqueue_wait();
      stream_.copy(result_, received_);
    } else {
      requests[0] = queue_.enqueue_recv(received_, peer());
      queue_.enqueue_start();
      queue_.enqueue_wait();
      stream_.copy(sent_, received_);
      requests[1] = queue_.enqueue_send(sent_, peer());
      queue_.enqueue_start();
    }
    stream_.synchronize();
    complete(requests);
  }

  void prepare(std::uint64_t iteration) { fill(0, iteration); }
  std::string verify(std::uint64_t iteration) const { return find_error(rank_ == 0 ? result_ : sent_, 0, iteration); }
};

struct Way {
  const char *name;
  void (PingPong::*iterate)();
};
constexpr std::array kWays = {Way{"plain", &PingPong::plain}, Way{"queue", &PingPong::triggered}};

// Each way is checked before either is timed. Collective.
std::string check(Session &session, PingPong &test, std::uint64_t size, std::uint64_t n_iterations) {
  std::string failure;
  for (const Way &way : kWays) {
    for (std::uint64_t iteration = 0; iteration < n_iterations; ++iteration) {
      test.prepare(iteration);
      session.world().barrier();
      (test.*way.iterate)();
      if (failure.empty()) failure = text_with_iteration(size, iteration, test.verify(iteration), way.name);
    }
  }
  return session.world().first_error(failure);
}

Loop queue_loop(std::uint64_t size) {
  constexpr std::uint64_t kLargeMessage = 8192;
  return size > kLargeMessage ? Loop{.warmup = 10, .iterations = 200} : Loop{.warmup = 100, .iterations = 1000};
}

// Halves of round trips. Collective.
std::vector<double> time(Session &session, PingPong &test, const Way &way, const Loop &loop) {
  session.world().barrier();
  std::vector<double> samples = sample_us(loop, [&] { (test.*way.iterate)(); });
  for (double &sample : samples) sample /= 2;
  return largest_of_ranks(std::move(samples), session.world().is_root());
}

void run_latency(Session &session) {
  const Options &options = session.options();
  const QueueFunctions calls;
  session.add_note("half of a round trip: stream command, message, stream command; copies stand in kernels' place");
  session.begin({{"plain", "queue"}, {}});
  for (const std::uint64_t size : options.sizes) {
    PingPong test(session, calls, size);
    const Loop loop = chosen_loop(options, queue_loop(size));
    Row row;
    row.size_bytes = size;
    row.check.n_iterations = checked_iterations(options.check, loop.iterations);
    session.begin_routes();
    row.check.failure = check(session, test, size, row.check.n_iterations);
    row.routes = session.end_routes();
    if (row.check.failure.empty()) {
      for (const Way &way : kWays) row.series.push_back({way.name, {}});
      row.stopped = repeat_blocks_together(options, row.series, [&](std::uint64_t) {
        for (std::size_t i = 0; i < kWays.size(); ++i) {
          row.series[i].blocks.push_back(summarise(time(session, test, kWays[i], loop), options.percentiles));
        }
      });
    }
    session.add(std::move(row));
  }
}

// What the host spends in the four calls of an exchange until they return; all of it is completed after each, untimed.
void run_enqueue(Session &session) {
  const Options &options = session.options();
  const QueueFunctions calls;
  const std::vector<std::string> names = {"send", "recv", "start", "wait"};
  session.begin({names, {}});
  DeviceModule &module = *session.module();
  ProgramStream stream(module);
  Queue queue(calls, stream);
  const Buffer sent = Buffer::program_memory(&module, SLUICE_MEMORY_DEVICE, 8);
  const Buffer received = Buffer::program_memory(&module, SLUICE_MEMORY_DEVICE, 8);
  const int peer = 1 - session.world().rank();
  Row row;
  for (const std::string &name : names) row.series.push_back({name, {}});
  const Loop loop = chosen_loop(options, {.warmup = 100, .iterations = 1000});
  row.stopped = repeat_blocks_together(options, row.series, [&](std::uint64_t) {
    std::vector<std::vector<double>> times_us(names.size());
    session.world().barrier();
    for (std::uint64_t i = 0; i < loop.warmup + loop.iterations; ++i) {
      using Clock = std::chrono::steady_clock;
      std::array<MPI_Request, 2> requests;
      std::array<Clock::time_point, 5> at;
      at[0] = Clock::now();
      requests[0] = queue.enqueue_send(sent, peer);
      at[1] = Clock::now();
      requests[1] = queue.enqueue_recv(received, peer);
      at[2] = Clock::now();
      queue.enqueue_start();
      at[3] = Clock::now();
      queue.enqueue_wait();
      at[4] = Clock::now();
      stream.synchronize();
      complete(requests);
      for (std::size_t k = 0; k < names.size() && i >= loop.warmup; ++k) {
        times_us[k].push_back(std::chrono::duration<double, std::micro>(at[k + 1] - at[k]).count());
      }
    }
    for (std::size_t k = 0; k < names.size(); ++k) {
      row.series[k].blocks.push_back(summarise(largest_of_ranks(std::move(times_us[k]), true), options.percentiles));
    }
  });
  session.add(std::move(row));
}

TestInfo queue_test(const char *name, const char *title, bool has_sizes, std::function<void(Session &)> run) {
  return {.name = name,
          .title = title,
          .has_sizes = has_sizes,
          .min_size = 1,
          .max_size = kLargestQueueCount,
          .default_range = "1:1M",
          .has_placement = false,
          .needs_device = true,
          .needs_threads = true,
          .run = std::move(run)};
}

const Registration latency_of_queues(
    queue_test("queue_latency", "stream command, message, stream command: the host in between, and by MPIX_Queue", true,
               run_latency));
const Registration enqueue_of_queues(
    queue_test("queue_enqueue", "what the host spends in each call of MPIX_Queue, of one exchange of 8 bytes", false,
               run_enqueue));

}  // namespace
}  // namespace sluice::bench
