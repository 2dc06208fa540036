// SPDX-License-Identifier: BSD-3-Clause
// What all collectives share.
#include "bench/coll/driver.hpp"

#include <algorithm>
#include <array>
#include <iterator>
#include <memory>
#include <numeric>
#include <optional>
#include <string_view>
#include <utility>

#include "bench/catalogue.hpp"
#include "bench/coll/barrier_check.hpp"
#include "bench/coll/computation.hpp"
#include "bench/coll/neighborhood.hpp"
#include "bench/coll/rank_group.hpp"
#include "bench/measure/chosen_loop.hpp"
#include "bench/measure/in_turns.hpp"
#include "bench/memory/process_memory.hpp"
#include "bench/mpi/agreed_stop.hpp"
#include "bench/mpi/memory_growth.hpp"
#include "bench/mpi/rank_samples.hpp"
#include "bench/mpi/start_line.hpp"
#include "bench/report/failure_text.hpp"

namespace sluice::bench {
namespace {

Loop collective_loop(std::uint64_t size_bytes) {
  constexpr std::uint64_t kLargeMessage = 8192;  // OSU: from above this size on, fewer iterations
  return size_bytes > kLargeMessage ? Loop{.warmup = 10, .iterations = 100} : Loop{.warmup = 100, .iterations = 1000};
}

bool has_root(const Collective &collective) {
  constexpr std::array<std::string_view, 6> kRooted{"bcast", "gather", "gatherv", "reduce", "scatter", "scatterv"};
  return std::find(kRooted.begin(), kRooted.end(), collective.name) != kRooted.end();
}

double mean_of(const std::vector<double> &values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

// Exchanges that iterations take in turn, each with memory of its own.
using ExchangeRing = std::vector<std::unique_ptr<Exchange>>;

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
    circle_.root = options_.root;
    circle_.has_uneven_blocks = options_.family.layout == BlockLayout::uneven;
    if (circle_.root >= circle_.n_ranks) {
      throw AgreedError("-k fixed:" + std::to_string(circle_.root) + ": there are only " +
                        std::to_string(circle_.n_ranks) + " ranks, numbered from 0");
    }
    if (options_.is_cold) growth_.emplace(session.module());
    if (form == Form::nonblocking) {
      const ComputePlace place = options_.family.compute;
      computations_.push_back(
          std::make_unique<Computation>(session, place == ComputePlace::each ? ComputePlace::host : place));
      if (place == ComputePlace::each) {
        computations_.push_back(std::make_unique<Computation>(session, ComputePlace::device));
      }
    }
    if (options_.family.n_groups > 1) {
      session_.add_note(std::to_string(options_.family.n_groups) + " groups of " + std::to_string(group_.n_ranks()) +
                        " ranks at the same time; a figure is the slowest group's");
    }
    if (circle_.has_uneven_blocks) {
      session_.add_note(
          "blocks of none to two sizes, by rank and peer; algorithm bandwidth is what the busiest rank sends");
    }
    if (collective.is_neighborhood) {
      neighborhood_.emplace(group_, options_.family.topology);
      neighborhood_->describe(circle_);
    }
  }

  void run() {
    session_.begin(columns());
    for (const std::uint64_t size : options_.sizes) {
      Row row;
      row.size_bytes = size;
      const Loop usual = collective_loop(size);
      const Loop loop = chosen_loop(options_, options_.is_cold ? cold_loop(usual) : usual);
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
      if (computations_.size() > 1) {
        columns.extras.insert(columns.extras.end(), {{"device_overall_us", "Dev.Overall(us)"},
                                                     {"device_compute_us", "Dev.Compute(us)"},
                                                     {"device_overlap_percent", "Dev.Overlap(%)"}});
      }
    }
    if (collective_.has_data) {
      columns.extras.insert(columns.extras.end(), {{"algorithm_mbps", "AlgBW MB/s"}, {"bus_mbps", "BusBW MB/s"}});
    }
    if (growth_) growth_->add_columns(columns);
    return columns;
  }

  // On every rank, or AgreedError on every rank.
  ExchangeRing agree_on_ring(std::uint64_t size, bool is_naive, std::uint64_t n) {
    ExchangeRing ring;
    const std::string error = error_of([&] {
      while (ring.size() < n) {
        ring.push_back(
            std::make_unique<Exchange>(session_, collective_, form_, circle_, communicator(), size, is_naive));
      }
    });
    session_.world().agree(text_with_size(size, error));
    return ring;
  }

  // As many as --rotate says; the same on all ranks, for making a persistent operation is collective.
  ExchangeRing agree_on_rotation(std::uint64_t size, bool is_naive, std::uint64_t n_most) {
    ExchangeRing ring = agree_on_ring(size, is_naive, 1);
    std::uint64_t n = options_.rotate;
    if (n == 0) {
      const auto mine = static_cast<double>(sets_beyond_caches(ring.front()->size_bytes()));
      n = static_cast<std::uint64_t>(largest_of_ranks({mine}, true).front());
    }
    ExchangeRing others = agree_on_ring(size, is_naive, std::min(n, n_most) - 1);
    std::move(others.begin(), others.end(), std::back_inserter(ring));
    return ring;
  }

  // The exchange of an iteration. --cold: one that is made for it, before the last is given back, so that an allocator
  // that hands out what it got last does not give the same memory again.
  Exchange &turn(ExchangeRing &ring, std::uint64_t iteration, std::uint64_t size, bool is_naive) {
    if (!options_.is_cold) {
      return *ring[iteration % ring.size()];
    }
    ring = agree_on_ring(size, is_naive, 1);
    ring.front()->prepare(iteration, scratch_);
    return *ring.front();
  }

  MPI_Comm communicator() const { return neighborhood_ ? neighborhood_->communicator() : group_.communicator(); }

  std::string agreed_failure(std::uint64_t n_iterations, std::uint64_t size) {
    std::string failure;
    for (const bool is_naive : {false, true}) {
      if (failure.empty() && options_.route != (is_naive ? Route::direct : Route::naive)) {
        ExchangeRing ring = agree_on_rotation(size, is_naive, n_iterations);
        failure = session_.world().first_error(check(ring, n_iterations, size, is_naive));
      }
    }
    return failure;
  }

  std::string check(ExchangeRing &ring, std::uint64_t n_iterations, std::uint64_t size, bool is_naive) {
    std::string failure;
    for (std::uint64_t iteration = 0; iteration < n_iterations; ++iteration) {
      Exchange &exchange = turn(ring, iteration, size, is_naive);
      exchange.prepare(iteration, scratch_);
      std::string wrong;
      if (collective_.has_data) {
        exchange.run();
        wrong = exchange.verify(iteration, scratch_);
      } else {
        wrong = check_barrier(group_, start_line_.clock(), iteration, [&] { exchange.run(); });
      }
      if (failure.empty()) {
        failure = text_with_iteration(size, iteration, wrong, is_naive ? "naive" : "direct");
      }
    }
    return failure;
  }

  void measure(Row &row, const Loop &loop) {
    constexpr std::uint64_t kAny = UINT64_MAX;
    ExchangeRing rings[2];
    if (growth_) growth_->clear();
    for (const bool is_naive : {false, true}) {
      if (options_.route == (is_naive ? Route::direct : Route::naive)) continue;
      ExchangeRing &ring = rings[is_naive ? 1 : 0];
      ring = agree_on_rotation(row.size_bytes, is_naive, kAny);
      for (const auto &exchange : ring) exchange->prepare(0, scratch_);
      row.series.push_back({is_naive ? "naive" : "direct", {}});
    }
    const auto time_route = [&](bool is_naive) {
      ExchangeRing &ring = rings[is_naive ? 1 : 0];
      if (!ring.empty()) {
        Series &series = is_naive ? row.series.back() : row.series.front();
        const std::vector<double> extras = measure_block({ring, row.size_bytes, is_naive}, series, loop);
        // The further columns are those of the first series' first block.
        if (row.extras.empty() && &series == &row.series.front()) row.extras = extras;
      }
    };
    row.stopped =
        repeat_blocks_together(options_, row.series, [&](std::uint64_t block) { in_turns(block, time_route); });
    if (growth_) growth_->add_to(row);
  }

  // What blocks are measured with.
  struct Lane {
    ExchangeRing &ring;
    std::uint64_t size;
    bool is_naive;
  };

  std::vector<double> measure_block(const Lane &lane, Series &series, const Loop &loop) {
    Times times = time(lane, loop, nullptr);
    std::vector<double> extras;
    const double pure_us = mean_of(times.whole_us);
    if (form_ == Form::nonblocking) {
      // The work is the median: one disturbed iteration would make it many times as long.
      const double work_us = spread_of(times.whole_us).median;
      for (const auto &computation : computations_) {
        computation->set_time(work_us);
        Times with = time(lane, loop, computation.get());
        // OSU's definition: the part of the pure time that hides behind the computation.
        const double overall_us = mean_of(with.whole_us);
        const double exposed = pure_us > 0 ? (overall_us - with.compute_us) / pure_us : 1;
        const double overlap_percent = std::clamp(100 * (1 - exposed), 0.0, 100.0);
        if (extras.empty()) {
          extras = {with.compute_us, pure_us, overlap_percent};
          times = std::move(with);
        } else {
          extras.insert(extras.end(), {overall_us, with.compute_us, overlap_percent});
        }
      }
    }
    if (collective_.has_data) {
      const auto size = static_cast<double>(lane.size);
      const double mbps = pure_us > 0 ? size * collective_.moved_sizes(circle_) / pure_us : 0;
      extras.insert(extras.end(), {mbps, mbps * collective_.bus_factor(circle_)});
    }
    series.blocks.push_back(summarise(std::move(times.whole_us), options_.percentiles));
    return extras;
  }

  // computation: null, or what runs between start and end of each operation.
  Times time(const Lane &lane, const Loop &loop, Computation *computation) {
    std::vector<double> whole;
    std::vector<double> computed;
    whole.reserve(loop.iterations);
    computed.reserve(loop.iterations);
    session_.world().barrier();
    for (std::uint64_t i = 0; i < loop.warmup + loop.iterations; ++i) {
      Exchange &exchange = turn(lane.ring, i, lane.size, lane.is_naive);
      if (growth_ && i == loop.warmup) growth_->begin();
      const double start_us = start_line_.wait();
      double compute = 0;
      if (computation != nullptr) {
        exchange.start();
        compute = this->compute(exchange, *computation);
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
    if (growth_) growth_->end();
    Times times{largest_of_ranks(std::move(whole), true), 0};
    times.compute_us = mean_of(largest_of_ranks(std::move(computed), true));
    return times;
  }

  // Computes, with the calls of MPI_Test that the user asked for spread over it; returns the µs that passed.
  double compute(Exchange &exchange, Computation &computation) {
    const double begin = start_line_.clock().now_us();
    const auto n_parts = static_cast<std::uint64_t>(options_.family.n_progress_calls) + 1;
    for (std::uint64_t part = 0; part < n_parts; ++part) {
      if (part > 0) exchange.test();
      computation.run_part(n_parts);
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
  std::vector<std::unique_ptr<Computation>> computations_;  // of the non-blocking form
  std::optional<MemoryGrowth> growth_;                      // with --cold
  std::vector<std::byte> scratch_;
};

}  // namespace

void run_collective(Session &session, const Collective &collective, Form form) {
  if (session.options().batch != 1) {
    throw AgreedError(collective.name + " times every iteration by itself: --batch is for point to point");
  }
  if (session.options().root != 0 && !has_root(collective)) {
    throw AgreedError(collective.name + " has no root, and takes no -k");
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
                  .has_two_buffers = shared->has_data && shared->has_two_buffers,
                  .has_fresh_memory = shared->has_data,
                  .has_element_type = shared->has_data,
                  .has_operation = shared->is_reduction,
                  .has_block_layouts = shared->has_block_layouts,
                  .has_overlap = form == Form::nonblocking,
                  .run = [shared, form](Session &session) { run_collective(session, *shared, form); }});
  };
  add(shared->name, "", Form::blocking);
  add("i" + shared->name, "; non-blocking, with overlap", Form::nonblocking);
  add(shared->name + "_persistent", "; persistent", Form::persistent);
}

}  // namespace sluice::bench
