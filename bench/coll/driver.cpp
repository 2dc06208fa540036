// SPDX-License-Identifier: BSD-3-Clause
// What all collectives share.
#include "bench/coll/driver.hpp"

#include <algorithm>
#include <memory>
#include <numeric>
#include <optional>
#include <utility>

#include "bench/catalogue.hpp"
#include "bench/coll/barrier_check.hpp"
#include "bench/coll/neighborhood.hpp"
#include "bench/coll/rank_group.hpp"
#include "bench/measure/chosen_loop.hpp"
#include "bench/measure/host_work.hpp"
#include "bench/measure/in_turns.hpp"
#include "bench/mpi/agreed_stop.hpp"
#include "bench/mpi/rank_samples.hpp"
#include "bench/mpi/start_line.hpp"
#include "bench/report/failure_text.hpp"

namespace sluice::bench {
namespace {

Loop collective_loop(std::uint64_t size_bytes) {
  constexpr std::uint64_t kLargeMessage = 8192;  // OSU: from above this size on, fewer iterations
  return size_bytes > kLargeMessage ? Loop{.warmup = 10, .iterations = 100} : Loop{.warmup = 100, .iterations = 1000};
}

double mean_of(const std::vector<double> &values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

// Times of one block, the last rank's of each iteration; the same on all ranks.
struct Times {
  std::vector<double> whole_us;
  double compute_us = 0;  // mean; 0 without computing
};

class CollectiveSweep {
 public:
  CollectiveSweep(Session &session, const Collective &collective, Form form)
      : session_(session),
        options_(session.options()),
        collective_(collective),
        form_(form),
        group_(session.world(), session.options().family.n_groups),
        start_line_(session.world(), session.options().family.start) {
    circle_.group = group_.number();
    circle_.rank = group_.rank();
    circle_.n_ranks = group_.n_ranks();
    if (options_.family.n_groups > 1) {
      session_.add_note(std::to_string(options_.family.n_groups) + " groups of " + std::to_string(group_.n_ranks()) +
                        " ranks at the same time; a figure is the slowest group's");
    }
    if (collective.is_neighborhood) {
      neighborhood_.emplace(session.world(), options_.family.topology);
      neighborhood_->describe(circle_);
    }
  }

  void run() {
    session_.begin(columns());
    for (const std::uint64_t size : options_.sizes) {
      Row row;
      row.size_bytes = size;
      const Loop loop = chosen_loop(options_, collective_loop(size));
      row.check.n_iterations = checked_iterations(options_.check, loop.iterations);
      session_.begin_routes();
      row.check.failure = row.check.n_iterations > 0 ? agreed_failure(row.check.n_iterations, size) : "";
      row.routes = session_.end_routes();
      if (row.check.failure.empty()) {
        measure(row, loop);
      }
      session_.add(std::move(row));
    }
  }

 private:
  Columns columns() const {
    Columns columns;
    if (options_.route != Route::naive) columns.series.emplace_back("direct");
    if (options_.route != Route::direct) columns.series.emplace_back("naive");
    if (form_ == Form::nonblocking) {
      columns.extras = {
          {"compute_us", "Compute(us)"}, {"pure_us", "Pure Comm.(us)"}, {"overlap_percent", "Overlap(%)"}};
    } else if (collective_.has_data) {
      columns.extras = {{"algorithm_mbps", "AlgBW MB/s"}, {"bus_mbps", "BusBW MB/s"}};
    }
    return columns;
  }

  // On every rank, or AgreedError on every rank.
  std::unique_ptr<Exchange> agree_on_exchange(std::uint64_t size, bool is_naive) {
    std::unique_ptr<Exchange> exchange;
    const std::string error = error_of([&] {
      exchange = std::make_unique<Exchange>(session_, collective_, form_, circle_, communicator(), size, is_naive);
    });
    session_.world().agree(text_with_size(size, error));
    return exchange;
  }

  MPI_Comm communicator() const { return neighborhood_ ? neighborhood_->communicator() : group_.communicator(); }

  std::string agreed_failure(std::uint64_t n_iterations, std::uint64_t size) {
    std::string failure;
    for (const bool is_naive : {false, true}) {
      if (failure.empty() && options_.route != (is_naive ? Route::direct : Route::naive)) {
        const auto exchange = agree_on_exchange(size, is_naive);
        failure = session_.world().first_error(check(*exchange, n_iterations, size, is_naive));
      }
    }
    return failure;
  }

  std::string check(Exchange &exchange, std::uint64_t n_iterations, std::uint64_t size, bool is_naive) {
    std::string failure;
    for (std::uint64_t iteration = 0; iteration < n_iterations; ++iteration) {
      exchange.prepare(iteration, scratch_);
      std::string wrong;
      if (collective_.has_data) {
        exchange.run();
        wrong = exchange.verify(iteration, scratch_);
      } else {
        wrong = check_barrier(session_.world(), start_line_.clock(), iteration, [&] { exchange.run(); });
      }
      if (failure.empty()) {
        failure = text_with_iteration(size, iteration, wrong, is_naive ? "naive" : "direct");
      }
    }
    return failure;
  }

  void measure(Row &row, const Loop &loop) {
    const auto direct = options_.route != Route::naive ? agree_on_exchange(row.size_bytes, false) : nullptr;
    const auto naive = options_.route != Route::direct ? agree_on_exchange(row.size_bytes, true) : nullptr;
    for (Exchange *const exchange : {direct.get(), naive.get()}) {
      if (exchange != nullptr) {
        exchange->prepare(0, scratch_);
        row.series.push_back({exchange == naive.get() ? "naive" : "direct", {}});
      }
    }
    const BlockBudget budget(options_.time_cap_s, options_.precision_percent);
    const auto time_block = [&](bool is_naive) {
      Exchange *const exchange = is_naive ? naive.get() : direct.get();
      if (exchange != nullptr) {
        Series &series = is_naive ? row.series.back() : row.series.front();
        const std::vector<double> extras = measure_block(*exchange, series, loop, row.size_bytes);
        // The further columns are those of the first series' first block.
        if (row.extras.empty() && &series == &row.series.front()) row.extras = extras;
      }
    };
    in_turns(options_.repeat, time_block, [&] {
      row.stopped = agreed_stop(budget, row.series);
      return row.stopped != Stop::none;
    });
  }

  std::vector<double> measure_block(Exchange &exchange, Series &series, const Loop &loop, std::uint64_t size) {
    Times times = time(exchange, loop, std::nullopt);
    std::vector<double> extras;
    if (form_ == Form::nonblocking) {
      const double pure_us = mean_of(times.whole_us);
      // The work is the median: one disturbed iteration would make it many times as long.
      times = time(exchange, loop, spread_of(times.whole_us).median);
      // OSU's definition: the part of the pure time that hides behind the computation.
      const double exposed = pure_us > 0 ? (mean_of(times.whole_us) - times.compute_us) / pure_us : 1;
      extras = {times.compute_us, pure_us, std::clamp(100 * (1 - exposed), 0.0, 100.0)};
    } else if (collective_.has_data) {
      const double mean_us = mean_of(times.whole_us);
      const double mbps = mean_us > 0 ? static_cast<double>(size) * collective_.moved_sizes(circle_) / mean_us : 0;
      extras = {mbps, mbps * collective_.bus_factor(circle_)};
    }
    series.blocks.push_back(summarise(std::move(times.whole_us), options_.percentiles));
    return extras;
  }

  // compute_us: the host computes so long between start and end of each operation.
  Times time(Exchange &exchange, const Loop &loop, std::optional<double> compute_us) {
    std::vector<double> whole;
    std::vector<double> computed;
    whole.reserve(loop.iterations);
    computed.reserve(loop.iterations);
    const std::uint64_t work = compute_us ? work_.amount_of(*compute_us) : 0;
    session_.world().barrier();
    for (std::uint64_t i = 0; i < loop.warmup + loop.iterations; ++i) {
      const double start_us = start_line_.wait();
      double compute = 0;
      if (compute_us) {
        exchange.start();
        compute = this->compute(exchange, work);
        exchange.finish();
      } else {
        exchange.run();
      }
      const double end_us = start_line_.clock().now_us();
      if (i >= loop.warmup) {
        whole.push_back(end_us - start_us);
        computed.push_back(compute);
      }
    }
    Times times{largest_of_ranks(std::move(whole), true), 0};
    times.compute_us = mean_of(largest_of_ranks(std::move(computed), true));
    return times;
  }

  // Computes, with the calls of MPI_Test that the user asked for spread over it; returns the µs that passed.
  double compute(Exchange &exchange, std::uint64_t work) {
    const double begin = start_line_.clock().now_us();
    const auto n_parts = static_cast<std::uint64_t>(options_.family.n_progress_calls) + 1;
    for (std::uint64_t part = 0; part < n_parts; ++part) {
      if (part > 0) exchange.test();
      work_.run(work / n_parts);
    }
    return start_line_.clock().now_us() - begin;
  }

  Session &session_;
  const Options &options_;
  const Collective &collective_;
  Form form_;
  RankGroup group_;
  Circle circle_;
  std::optional<Neighborhood> neighborhood_;
  StartLine start_line_;
  HostWork work_;
  std::vector<std::byte> scratch_;
};

}  // namespace

void run_collective(Session &session, const Collective &collective, Form form) {
  if (session.options().batch != 1) {
    throw AgreedError(collective.name + " times every iteration by itself: --batch is for point to point");
  }
  if (session.options().family.n_groups > 1 && (collective.is_neighborhood || !collective.has_data)) {
    throw AgreedError(collective.name + " takes no --groups: its ranks are neighbours, or wait, across all");
  }
  CollectiveSweep(session, collective, form).run();
}

CollectiveRegistration::CollectiveRegistration(Collective collective) {
  const auto shared = std::make_shared<const Collective>(std::move(collective));
  const auto add = [&shared](const std::string &name, const char *how, Form form) {
    Registration({.name = name,
                  .title = shared->title + how,
                  .family = Family::coll,
                  .max_ranks = 0,
                  .has_sizes = shared->has_data,
                  .default_range = "1M",
                  .has_element_type = shared->has_data,
                  .has_operation = shared->is_reduction,
                  .run = [shared, form](Session &session) { run_collective(session, *shared, form); }});
  };
  add(shared->name, "", Form::blocking);
  add("i" + shared->name, "; non-blocking, with overlap", Form::nonblocking);
  add(shared->name + "_persistent", "; persistent", Form::persistent);
}

}  // namespace sluice::bench
