// SPDX-License-Identifier: BSD-3-Clause
// The driver of all point-to-point tests.
#include "bench/p2p/sweep.hpp"

#include <algorithm>
#include <optional>

#include "bench/measure/chosen_loop.hpp"
#include "bench/measure/in_turns.hpp"
#include "bench/memory/process_memory.hpp"
#include "bench/mpi/agreed_stop.hpp"
#include "bench/mpi/memory_growth.hpp"
#include "bench/mpi/rank_samples.hpp"
#include "bench/p2p/size_setup.hpp"
#include "bench/report/failure_text.hpp"
#include "bench/session.hpp"

namespace sluice::bench {
namespace {

constexpr std::uint64_t kCheckBudgetBytes = std::uint64_t{64} << 20;

// Window of a checked iteration: the whole, or less so that its buffers stay within a fixed budget.
std::size_t checked_window(std::size_t window, std::uint64_t size_bytes) {
  const std::uint64_t fitting = kCheckBudgetBytes / std::max<std::uint64_t>(size_bytes, 1);
  return std::min<std::size_t>(window, std::max<std::uint64_t>(fitting, 1));
}

// What the messages of one set of buffers hold.
std::uint64_t set_bytes(const SetupPlan &plan) {
  const std::uint64_t n_buffers =
      std::min(plan.n_most, plan.traffic.send.size()) + std::min(plan.n_most, plan.traffic.recv.size());
  return plan.size_bytes * n_buffers;
}

class Sweep {
 public:
  Sweep(Session &session, const PairSweep &test)
      : session_(session),
        options_(session.options()),
        test_(test),
        party_{session.world().rank(), session.world().n_ranks()} {
    if (options_.is_cold) growth_.emplace(session.module());
  }

  void run() {
    session_.begin(columns());
    for (const std::uint64_t size : options_.sizes) {
      Row row;
      row.size_bytes = size;
      const Loop usual = test_.default_loop(size);
      const Loop loop = chosen_loop(options_, options_.is_cold ? cold_loop(usual) : usual);
      row.check.n_iterations = checked_iterations(options_.check, loop.iterations);
      session_.begin_routes();
      row.check.failure = agreed_failure(row.check.n_iterations, size);
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
    if (has_route(false)) columns.series.emplace_back(name_of(false));
    if (has_route(true)) columns.series.emplace_back(name_of(true));
    columns.extras = test_.extra_columns();
    columns.has_packing = is_packed();
    if (growth_) growth_->add_columns(columns);
    return columns;
  }

  bool has_route(bool is_by_hand) const { return options_.route != (is_by_hand ? Route::direct : Route::naive); }
  bool is_packed() const { return has_route(true) && options_.by_hand == ByHand::packing; }
  const char *name_of(bool is_by_hand) const { return is_by_hand ? by_hand_name(options_) : "direct"; }

  // Built on every rank, or AgreedError on every rank. Each setup has memory of its own: a GPU-aware MPI may change how
  // the vendor's copies treat memory passed to it.
  SetupRing make_ring(const SetupPlan &plan, std::uint64_t n_sets) {
    SetupRing ring;
    const std::string error = error_of([&] {
      for (std::uint64_t i = 0; i < n_sets; ++i) {
        ring.push_back(std::make_unique<SizeSetup>(session_, test_, party_, plan));
      }
    });
    session_.world().agree(text_with_size(plan.size_bytes, error));
    return ring;
  }

  // The text of the lowest rank that saw wrong data, on all ranks.
  std::string agreed_failure(std::uint64_t n_iterations, std::uint64_t size) {
    if (n_iterations == 0) {
      return "";
    }
    SetupPlan plan{size, test_.traffic(party_, checked_window(test_.window(options_), size)), 1, false};
    plan.n_most = std::max(plan.traffic.send.size(), plan.traffic.recv.size());
    std::string failure;
    for (const bool is_by_hand : {false, true}) {
      if (has_route(is_by_hand) && failure.empty()) {
        plan.is_by_hand = is_by_hand;
        failure = check(plan, n_iterations);
      }
    }
    return failure;
  }

  std::string check(const SetupPlan &plan, std::uint64_t n_iterations) {
    SetupRing ring = make_ring(plan, options_.is_cold ? 1 : std::min(n_iterations, n_sets(plan)));
    std::string failure;
    for (std::uint64_t iteration = 0; iteration < n_iterations; ++iteration) {
      if (options_.is_cold) {
        ring = make_ring(plan, 1);
      }
      SizeSetup &setup = *ring[iteration % ring.size()];
      setup.prepare(iteration, scratch_);
      setup.route().iterate();
      if (failure.empty()) {
        failure = text_with_iteration(plan.size_bytes, iteration, setup.verify(iteration, scratch_),
                                      name_of(plan.is_by_hand));
      }
    }
    return session_.world().first_error(failure);
  }

  // The same on all ranks: partitioned messages match in the order in which they were set up.
  std::uint64_t n_sets(const SetupPlan &plan) const {
    if (options_.rotate != 0) {
      return options_.rotate;
    }
    const auto mine = static_cast<double>(sets_beyond_caches(set_bytes(plan)));
    return static_cast<std::uint64_t>(largest_of_ranks({mine}, true).front());
  }

  void measure(Row &row, const Loop &loop) {
    SetupPlan plan{row.size_bytes, test_.traffic(party_, test_.window(options_)), 1, false};
    plan.n_most = options_.has_multiple_buffers ? std::max(plan.traffic.send.size(), plan.traffic.recv.size())
                                                : test_.n_single_buffers;
    if (growth_) growth_->clear();
    SetupRing rings[2];
    for (const bool is_by_hand : {false, true}) {
      if (has_route(is_by_hand)) {
        plan.is_by_hand = is_by_hand;
        rings[is_by_hand ? 1 : 0] = make_ring(plan, options_.is_cold ? 1 : n_sets(plan));
        for (const auto &setup : rings[is_by_hand ? 1 : 0]) setup->prepare(0, scratch_);
        row.series.push_back({name_of(is_by_hand), {}});
      }
    }
    const auto time_route = [&](bool is_by_hand) {
      if (has_route(is_by_hand)) {
        plan.is_by_hand = is_by_hand;
        Series &series = is_by_hand ? row.series.back() : row.series.front();
        series.blocks.push_back(time(rings[is_by_hand ? 1 : 0], plan, loop));
      }
    };
    row.stopped =
        repeat_blocks_together(options_, row.series, [&](std::uint64_t block) { in_turns(block, time_route); });
    row.extras = test_.extras(row.series.front().blocks.front(), row.size_bytes);
    if (is_packed()) {
      row.packed_by = distinct(session_.world().gather(rings[1].front()->packed_by()));
    }
    if (growth_) {
      growth_->add_to(row);
    }
  }

  Summary time(SetupRing &ring, const SetupPlan &plan, const Loop &loop) {
    session_.world().barrier();
    std::vector<double> samples = options_.is_cold ? cold_samples(ring, plan, loop) : samples_of(ring, loop);
    const bool has_several_leaders = party_.n_ranks > 2 || test_.leads({1, 2});
    samples = largest_of_ranks(std::move(samples), test_.leads(party_), has_several_leaders);
    return test_.result(summarise(std::move(samples), options_.percentiles), plan.size_bytes, test_.window(options_),
                        party_.n_ranks);
  }

  static std::vector<double> samples_of(const SetupRing &ring, const Loop &loop) {
    std::vector<RouteRun *> turns;
    turns.reserve(ring.size());
    for (const auto &setup : ring) {
      turns.push_back(&setup->route());
    }
    return turns.front()->sample(loop, turns);
  }

  // One iteration in each of many setups. The next one is made before the last is given back, so that an allocator that
  // hands out what it got last does not give the same memory again; a barrier keeps the making out of the time.
  std::vector<double> cold_samples(SetupRing &ring, const SetupPlan &plan, const Loop &loop) {
    std::vector<double> samples(loop.iterations);
    for (std::uint64_t i = 0; i < loop.warmup + loop.iterations; ++i) {
      ring = make_ring(plan, 1);
      ring.front()->prepare(i, scratch_);
      if (i == loop.warmup) {
        if (growth_.has_value()) growth_->begin();
      }
      session_.world().barrier();
      const double time_us = samples_of(ring, {.warmup = 0, .iterations = 1}).front();
      if (i >= loop.warmup) {
        samples[i - loop.warmup] = time_us;
      }
    }
    if (growth_.has_value()) growth_->end();
    return samples;
  }

  Session &session_;
  const Options &options_;
  const PairSweep &test_;
  Party party_;
  std::vector<std::byte> scratch_;
  std::optional<MemoryGrowth> growth_;  // with --cold
};

}  // namespace

void run_pair_sweep(Session &session, const PairSweep &test) {
  Sweep(session, test).run();
}

}  // namespace sluice::bench
