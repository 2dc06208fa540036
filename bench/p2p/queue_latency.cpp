// SPDX-License-Identifier: BSD-3-Clause
// queue_latency and queue_enqueue: messages between commands of a stream, as kernels would be, started and awaited by
// the stream itself (MPIX_Queue: sluice/queue.h), beside the same with a host that synchronises and then calls MPI; and
// all of that captured into a graph, where messages can be.
#include <mpi.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "bench/catalogue.hpp"
#include "bench/measure/chosen_loop.hpp"
#include "bench/mpi/agreed_stop.hpp"
#include "bench/mpi/rank_samples.hpp"
#include "bench/p2p/queue_graph.hpp"
#include "bench/p2p/queue_parts.hpp"
#include "bench/report/failure_text.hpp"
#include "bench/session.hpp"

namespace sluice::bench {
namespace {

// A ping-pong of one size: kernel, message, kernel, and the same back.
class PingPong : public QueueExchange {
 public:
  PingPong(Session &session, const QueueFunctions &calls, std::uint64_t size) : QueueExchange(session, calls, size) {}

  void plain() {
    if (rank_ == 0) {
      stream_.copy(sent(), source());
      stream_.synchronize();
      check_mpi(MPI_Send(sent().data(), count(), MPI_BYTE, peer(), kQueueTag, MPI_COMM_WORLD), "MPI_Send");
    }
    check_mpi(MPI_Recv(received().data(), count(), MPI_BYTE, peer(), kQueueTag, MPI_COMM_WORLD, MPI_STATUS_IGNORE),
              "MPI_Recv");
    stream_.copy(rank_ == 0 ? result() : sent(), received());
    stream_.synchronize();
    if (rank_ == 1)
      check_mpi(MPI_Send(sent().data(), count(), MPI_BYTE, peer(), kQueueTag, MPI_COMM_WORLD), "MPI_Send");
  }

  // The host enqueues all of it, then waits once.
  void triggered() {
    const std::array<MPI_Request, 2> requests = enqueue();
    stream_.synchronize();
    complete(requests);
  }

  // The host launches all of it as one. Collective the first time, when both sides capture it.
  void captured() {
    launch(&graph_, [&] { return enqueue(); });
  }

  // The same by puts into the other's memory, and signals. Collective the first time.
  void put() {
    make_window();
    const std::array<MPI_Request, 3> requests = enqueue_puts();
    stream_.synchronize();
    complete(requests);
  }
  void put_captured() {
    make_window();
    launch(&puts_, [&] { return enqueue_puts(); });
  }

  void prepare(std::uint64_t iteration) { fill(senders(), iteration); }
  std::string verify(std::uint64_t iteration) { return find_error(senders(), iteration); }

 private:
  std::array<MPI_Request, 2> enqueue() {
    std::array<MPI_Request, 2> requests;
    if (rank_ == 0) {
      stream_.copy(sent(), source());
      requests = {queue_.enqueue_recv(received(), peer()), queue_.enqueue_send(sent(), peer())};
      queue_.enqueue_start();
      queue_.enqueue_wait();
      stream_.copy(result(), received());
    } else {
      requests[0] = queue_.enqueue_recv(received(), peer());
      queue_.enqueue_start();
      queue_.enqueue_wait();
      stream_.copy(sent(), received());
      requests[1] = queue_.enqueue_send(sent(), peer());
      queue_.enqueue_start();
    }
    return requests;
  }

  std::array<MPI_Request, 3> enqueue_puts() {
    std::array<MPI_Request, 3> requests;
    if (rank_ == 0) {
      stream_.copy(sent(), source());
      requests = {queue_.enqueue_put(sent(), peer(), window_->get()), queue_.enqueue_signal(peer(), window_->get()),
                  queue_.enqueue_wait_signal(peer(), window_->get())};
      queue_.enqueue_start();
      queue_.enqueue_wait();
      stream_.copy(result(), received());
    } else {
      requests[0] = queue_.enqueue_wait_signal(peer(), window_->get());
      queue_.enqueue_start();
      queue_.enqueue_wait();
      stream_.copy(sent(), received());
      requests[1] = queue_.enqueue_put(sent(), peer(), window_->get());
      requests[2] = queue_.enqueue_signal(peer(), window_->get());
      queue_.enqueue_start();
    }
    return requests;
  }
  void make_window() {
    if (window_ == nullptr) window_ = std::make_unique<QueueWindow>(received());
  }
  // `enqueue` is captured the first time.
  template <typename Enqueue>
  void launch(std::unique_ptr<StreamGraph> *graph, Enqueue enqueue) {
    if (*graph == nullptr) {
      decltype(enqueue()) requests;
      *graph = std::make_unique<StreamGraph>(*find_graphs(session_), module_, stream_.native(),
                                             [&] { requests = enqueue(); });
      complete(requests);
    }
    (*graph)->launch();
    stream_.synchronize();
  }

  // All data are rank 0's: rank 1's stream command has what it received sent back.
  Senders senders() const { return {.of_sent = 0, .of_received = 0, .has_result = rank_ == 0}; }

  std::unique_ptr<QueueWindow> window_;
  std::unique_ptr<StreamGraph> graph_;
  std::unique_ptr<StreamGraph> puts_;
};

struct Way {
  const char *name;
  void (PingPong::*iterate)();
};

std::vector<Way> ways_of(Session &session) {
  std::vector<Way> ways{{"plain", &PingPong::plain}, {"queue", &PingPong::triggered}};
  if (find_graphs(session) != nullptr) ways.push_back({"graph", &PingPong::captured});
  // A window keeps its memory.
  if (session.options().is_cold || !makes_windows()) return ways;
  ways.push_back({"put", &PingPong::put});
  if (find_graphs(session) != nullptr) ways.push_back({"put graph", &PingPong::put_captured});
  return ways;
}

// Each way is checked before either is timed, with --cold in memory that is new in each iteration. Collective.
std::string check(Session &session, PingPong &test, const std::vector<Way> &ways, std::uint64_t size,
                  std::uint64_t n_iterations) {
  std::string failure;
  for (const Way &way : ways) {
    for (std::uint64_t iteration = 0; iteration < n_iterations; ++iteration) {
      if (session.options().is_cold) test.renew();
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

// Halves of round trips. growth: null without --cold. Collective.
std::vector<double> time(Session &session, PingPong &test, const Way &way, const Loop &loop, MemoryGrowth *growth) {
  session.world().barrier();
  std::vector<double> samples;
  if (growth != nullptr) {
    run_cold(session, test, loop, *growth, [&](bool counts) {
      const double time_us = sample_us({.warmup = 0, .iterations = 1}, [&] { (test.*way.iterate)(); }).front();
      if (counts) samples.push_back(time_us);
    });
  } else {
    samples = sample_us(loop, [&] { (test.*way.iterate)(); });
  }
  for (double &sample : samples) sample /= 2;
  return largest_of_ranks(std::move(samples), session.world().is_root());
}

void run_latency(Session &session) {
  const Options &options = session.options();
  const QueueFunctions calls;
  session.add_note("half of a round trip: stream command, message, stream command; copies stand in kernels' place");
  const std::vector<Way> ways = ways_of(session);
  Columns columns;
  for (const Way &way : ways) columns.series.push_back(way.name);
  std::optional<MemoryGrowth> growth = growth_with(session, columns);
  session.begin(std::move(columns));
  for (const std::uint64_t size : options.sizes) {
    PingPong test(session, calls, size);
    const Loop loop = queue_loop_of(options, queue_loop(size));
    Row row;
    row.size_bytes = size;
    row.check.n_iterations = checked_iterations(options.check, loop.iterations);
    session.begin_routes();
    row.check.failure = check(session, test, ways, size, row.check.n_iterations);
    row.routes = session.end_routes();
    if (row.check.failure.empty()) {
      for (const Way &way : ways) row.series.push_back({way.name, {}});
      if (growth) growth->clear();
      row.stopped = repeat_blocks_together(options, row.series, [&](std::uint64_t) {
        for (std::size_t i = 0; i < ways.size(); ++i) {
          row.series[i].blocks.push_back(
              summarise(time(session, test, ways[i], loop, growth ? &*growth : nullptr), options.percentiles));
        }
      });
      if (growth) growth->add_to(row);
    }
    session.add(std::move(row));
  }
}

// The four calls of an exchange of 8 bytes both ways, and the launch of a graph of them. Of one rank's.
class HostCalls : public QueueExchange {
 public:
  HostCalls(Session &session, const QueueFunctions &calls)
      : QueueExchange(session, calls, kBytes), graphs_(find_graphs(session)) {
    if (graphs_ != nullptr) names_.emplace_back("graph");
  }
  static constexpr std::uint64_t kBytes = 8;

  // Of what exchange() measures, in its order.
  const std::vector<std::string> &names() const { return names_; }

  // The time in each call, in µs, until it returns. All of it is completed afterwards, untimed. has_commands: stream
  // commands make the data and take them, so that a start or a wait out of its turn is seen.
  std::vector<double> exchange(bool has_commands) {
    std::vector<double> times_us = by_calls(has_commands);
    if (graphs_ != nullptr) times_us.push_back(by_graph());
    return times_us;
  }
  std::vector<double> by_calls(bool has_commands) {
    std::array<MPI_Request, 2> requests;
    std::array<Clock::time_point, kCalls.size() + 1> at;
    if (has_commands) stream_.copy(sent(), source());
    at[0] = Clock::now();
    requests[0] = queue_.enqueue_send(sent(), peer());
    at[1] = Clock::now();
    requests[1] = queue_.enqueue_recv(received(), peer());
    at[2] = Clock::now();
    queue_.enqueue_start();
    at[3] = Clock::now();
    queue_.enqueue_wait();
    at[4] = Clock::now();
    if (has_commands) stream_.copy(result(), received());
    stream_.synchronize();
    complete(requests);
    std::vector<double> times_us(kCalls.size());
    for (std::size_t k = 0; k < kCalls.size(); ++k) times_us[k] = us_between(at[k], at[k + 1]);
    return times_us;
  }
  // The same of one launch: of the exchange, and of the stream commands around it.
  double by_graph() {
    if (graph_ == nullptr) capture();
    const Clock::time_point begin = Clock::now();
    graph_->launch();
    const Clock::time_point end = Clock::now();
    stream_.synchronize();
    return us_between(begin, end);
  }

  void prepare(std::uint64_t iteration) { fill(senders(), iteration); }
  std::string verify(std::uint64_t iteration) { return find_error(senders(), iteration); }

 private:
  using Clock = std::chrono::steady_clock;
  static constexpr std::array kCalls = {"send", "recv", "start", "wait"};

  static double us_between(Clock::time_point begin, Clock::time_point end) {
    return std::chrono::duration<double, std::micro>(end - begin).count();
  }
  // Collective.
  void capture() {
    std::array<MPI_Request, 2> requests;
    graph_ = std::make_unique<StreamGraph>(*graphs_, module_, stream_.native(), [&] {
      stream_.copy(sent(), source());
      requests = {queue_.enqueue_send(sent(), peer()), queue_.enqueue_recv(received(), peer())};
      queue_.enqueue_start();
      queue_.enqueue_wait();
      stream_.copy(result(), received());
    });
    complete(requests);
  }
  Senders senders() const { return {.of_sent = rank_, .of_received = peer()}; }

  const sluice_program_kernels_t *graphs_;
  std::vector<std::string> names_{kCalls.begin(), kCalls.end()};
  std::unique_ptr<StreamGraph> graph_;
};

std::string check(Session &session, HostCalls &test, std::uint64_t n_iterations) {
  std::string failure;
  const auto look = [&](std::uint64_t iteration, const char *way, auto exchange) {
    test.prepare(iteration);
    session.world().barrier();
    exchange();
    if (failure.empty()) failure = text_with_iteration(HostCalls::kBytes, iteration, test.verify(iteration), way);
  };
  for (std::uint64_t iteration = 0; iteration < n_iterations; ++iteration) {
    if (session.options().is_cold) test.renew();
    look(iteration, "queue", [&] { test.by_calls(true); });
    if (find_graphs(session) != nullptr) look(iteration, "graph", [&] { test.by_graph(); });
  }
  return session.world().first_error(failure);
}

void time(Session &session, HostCalls &test, const Loop &loop, MemoryGrowth *growth, Row &row) {
  std::vector<std::vector<double>> samples(test.names().size());
  const auto exchange = [&](bool counts) {
    const std::vector<double> times_us = test.exchange(false);
    for (std::size_t k = 0; k < times_us.size() && counts; ++k) samples[k].push_back(times_us[k]);
  };
  session.world().barrier();
  if (growth != nullptr) {
    run_cold(session, test, loop, *growth, exchange);
  } else {
    for (std::uint64_t i = 0; i < loop.warmup + loop.iterations; ++i) exchange(i >= loop.warmup);
  }
  for (std::size_t k = 0; k < samples.size(); ++k) {
    row.series[k].blocks.push_back(
        summarise(largest_of_ranks(std::move(samples[k]), true), session.options().percentiles));
  }
}

// What the host spends in the four calls of an exchange until they return.
void run_enqueue(Session &session) {
  const Options &options = session.options();
  const QueueFunctions calls;
  HostCalls test(session, calls);
  Columns columns{test.names(), {}};
  std::optional<MemoryGrowth> growth = growth_with(session, columns);
  session.begin(std::move(columns));
  const Loop loop = queue_loop_of(options, {.warmup = 100, .iterations = 1000});
  Row row;
  row.check.n_iterations = checked_iterations(options.check, loop.iterations);
  session.begin_routes();
  row.check.failure = check(session, test, row.check.n_iterations);
  row.routes = session.end_routes();
  if (row.check.failure.empty()) {
    for (const std::string &name : test.names()) row.series.push_back({name, {}});
    if (growth) growth->clear();
    row.stopped = repeat_blocks_together(
        options, row.series, [&](std::uint64_t) { time(session, test, loop, growth ? &*growth : nullptr, row); });
    if (growth) growth->add_to(row);
  }
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
          .has_fresh_memory = true,
          .has_rotation = false,
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
