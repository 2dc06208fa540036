// SPDX-License-Identifier: BSD-3-Clause
// queue_overlap: how much of an exchange between commands of a stream hides behind what the host computes meanwhile,
// started by the host (plain) and by the stream (MPIX_Queue). Overlap as OSU defines it for non-blocking collectives.
#include <mpi.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <numeric>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "bench/catalogue.hpp"
#include "bench/measure/chosen_loop.hpp"
#include "bench/measure/host_work.hpp"
#include "bench/measure/statistics.hpp"
#include "bench/mpi/agreed_stop.hpp"
#include "bench/mpi/rank_samples.hpp"
#include "bench/p2p/queue_parts.hpp"
#include "bench/report/failure_text.hpp"
#include "bench/session.hpp"

namespace sluice::bench {
namespace {

// Both ranks send and receive: stream command, exchange, stream command. Of one size.
class TwoWay : public QueueExchange {
 public:
  TwoWay(Session &session, const QueueFunctions &calls, std::uint64_t size) : QueueExchange(session, calls, size) {}

  // compute(): between the start of the exchange and the wait for its end. The host comes to MPI when the stream has
  // made the data, and to the stream again when the exchange is complete.
  template <typename Compute>
  void plain(Compute compute) {
    std::array<MPI_Request, 2> requests;
    stream_.copy(sent(), source());
    stream_.synchronize();
    check_mpi(MPI_Irecv(received().data(), count(), MPI_BYTE, peer(), kQueueTag, MPI_COMM_WORLD, &requests[0]),
              "MPI_Irecv");
    check_mpi(MPI_Isend(sent().data(), count(), MPI_BYTE, peer(), kQueueTag, MPI_COMM_WORLD, &requests[1]),
              "MPI_Isend");
    compute();
    complete(requests);
    stream_.copy(result(), received());
    stream_.synchronize();
  }
  template <typename Compute>
  void triggered(Compute compute) {
    stream_.copy(sent(), source());
    const std::array<MPI_Request, 2> requests = {queue_.enqueue_recv(received(), peer()),
                                                 queue_.enqueue_send(sent(), peer())};
    queue_.enqueue_start();
    queue_.enqueue_wait();
    stream_.copy(result(), received());
    compute();
    stream_.synchronize();
    complete(requests);
  }

  void prepare(std::uint64_t iteration) { fill(senders(), iteration); }
  std::string verify(std::uint64_t iteration) { return find_error(senders(), iteration); }

 private:
  Senders senders() const { return {.of_sent = rank_, .of_received = peer()}; }
};

template <typename Compute>
void run_way(TwoWay &test, bool is_queue, Compute compute) {
  if (is_queue) {
    test.triggered(compute);
  } else {
    test.plain(compute);
  }
}
constexpr std::array kNames = {"plain", "queue"};

// Each way is checked before either is timed, once with work and once without; with --cold in memory that is new in
// each iteration. Collective.
std::string check(Session &session, TwoWay &test, HostWork &work, std::uint64_t size, std::uint64_t n_iterations) {
  std::string failure;
  const std::uint64_t amount = work.amount_of(20);
  for (std::size_t way = 0; way < kNames.size(); ++way) {
    for (std::uint64_t iteration = 0; iteration < n_iterations; ++iteration) {
      if (session.options().is_cold) test.renew();
      test.prepare(iteration);
      session.world().barrier();
      run_way(test, way == 1, [&] {
        if (iteration % 2 == 1) work.run(amount);
      });
      if (failure.empty()) failure = text_with_iteration(size, iteration, test.verify(iteration), kNames[way]);
    }
  }
  return session.world().first_error(failure);
}

double mean(const std::vector<double> &values) {
  return values.empty() ? 0 : std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

struct Times {
  std::vector<double> whole_us;  // each the larger of the two ranks'
  double compute_us = 0;
};

// What a block is measured with. growth: null without --cold.
struct Setting {
  Session &session;
  TwoWay &test;
  HostWork &work;
  const Loop &loop;
  MemoryGrowth *growth;
};

Times time(const Setting &setting, bool is_queue, double work_us) {
  using Clock = std::chrono::steady_clock;
  const auto us_since = [](Clock::time_point begin) {
    return std::chrono::duration<double, std::micro>(Clock::now() - begin).count();
  };
  const std::uint64_t amount = work_us > 0 ? setting.work.amount_of(work_us) : 0;
  std::vector<double> whole;
  std::vector<double> computed;
  const auto iterate = [&](bool counts) {
    double compute_us = 0;
    const Clock::time_point begin = Clock::now();
    run_way(setting.test, is_queue, [&] {
      if (amount == 0) return;
      const Clock::time_point computing = Clock::now();
      setting.work.run(amount);
      compute_us = us_since(computing);
    });
    const double whole_us = us_since(begin);
    if (!counts) return;
    whole.push_back(whole_us);
    computed.push_back(compute_us);
  };
  if (setting.growth != nullptr) {
    run_cold(setting.session, setting.test, setting.loop, *setting.growth, iterate);
  } else {
    for (std::uint64_t i = 0; i < setting.loop.warmup + setting.loop.iterations; ++i) {
      setting.session.world().barrier();
      iterate(i >= setting.loop.warmup);
    }
  }
  Times times{largest_of_ranks(std::move(whole), true), 0};
  times.compute_us = mean(largest_of_ranks(std::move(computed), true));
  return times;
}

// The exchange alone, and with as much work as that takes; the figures are those with work.
Row measure(const Setting &setting) {
  const Options &options = setting.session.options();
  Row row;
  if (setting.growth != nullptr) setting.growth->clear();
  for (const char *name : kNames) row.series.push_back({name, {}});
  row.stopped = repeat_blocks_together(options, row.series, [&](std::uint64_t) {
    row.extras.clear();
    for (std::size_t way = 0; way < kNames.size(); ++way) {
      const Times alone = time(setting, way == 1, 0);
      Times with = time(setting, way == 1, spread_of(alone.whole_us).median);
      const double pure_us = mean(alone.whole_us);
      const double exposed = pure_us > 0 ? (mean(with.whole_us) - with.compute_us) / pure_us : 1;
      row.extras.insert(row.extras.end(), {pure_us, std::clamp(100 * (1 - exposed), 0.0, 100.0)});
      row.series[way].blocks.push_back(summarise(std::move(with.whole_us), options.percentiles));
    }
  });
  if (setting.growth != nullptr) setting.growth->add_to(row);
  return row;
}

void run_overlap(Session &session) {
  const Options &options = session.options();
  const QueueFunctions calls;
  HostWork work;
  session.add_note(
      "both ranks: stream command, exchange, stream command, while the host computes for as long as it takes alone");
  Columns columns{{kNames.begin(), kNames.end()},
                  {{"plain_pure_us", "Plain alone(us)"},
                   {"plain_overlap_percent", "Overlap(%)"},
                   {"queue_pure_us", "Queue alone(us)"},
                   {"queue_overlap_percent", "Overlap(%)"}}};
  std::optional<MemoryGrowth> growth = growth_with(session, columns);
  session.begin(std::move(columns));
  constexpr std::uint64_t kLargeMessage = 8192;
  for (const std::uint64_t size : options.sizes) {
    TwoWay test(session, calls, size);
    const Loop usual =
        size > kLargeMessage ? Loop{.warmup = 10, .iterations = 100} : Loop{.warmup = 50, .iterations = 500};
    const Loop loop = queue_loop_of(options, usual);
    const std::uint64_t n_checked = checked_iterations(options.check, loop.iterations);
    session.begin_routes();
    std::string failure = check(session, test, work, size, n_checked);
    std::vector<RankRoute> routes = session.end_routes();
    const Setting setting{session, test, work, loop, growth ? &*growth : nullptr};
    Row row = failure.empty() ? measure(setting) : Row();
    row.size_bytes = size;
    row.check.n_iterations = n_checked;
    row.check.failure = std::move(failure);
    row.routes = std::move(routes);
    session.add(std::move(row));
  }
}

const Registration overlap_of_queues(
    {.name = "queue_overlap",
     .title = "an exchange between stream commands while the host computes: started by the "
              "host, and by MPIX_Queue",
     .has_sizes = true,
     .min_size = 1,
     .max_size = kLargestQueueCount,
     .default_range = "1:1M",
     .has_placement = false,
     .needs_device = true,
     .needs_threads = true,
     .has_fresh_memory = true,
     .has_rotation = false,
     .run = run_overlap});

}  // namespace
}  // namespace sluice::bench
