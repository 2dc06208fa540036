// SPDX-License-Identifier: BSD-3-Clause
// What all one-sided tests share: for each size, first the checked iterations, then the timed blocks.
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "bench/catalogue.hpp"
#include "bench/measure/chosen_loop.hpp"
#include "bench/mpi/agreed_stop.hpp"
#include "bench/mpi/memory_growth.hpp"
#include "bench/mpi/rank_samples.hpp"
#include "bench/report/failure_text.hpp"
#include "bench/rma/exchange.hpp"
#include "bench/rma/one_sided.hpp"

namespace sluice::bench {
namespace {

constexpr std::uint64_t kMemoryBudgetBytes = std::uint64_t{64} << 20;
constexpr std::uint64_t kOneElementBytes = 8;

// OSU's numbers of iterations.
Loop one_sided_loop(bool is_bandwidth, std::uint64_t size_bytes) {
  constexpr std::uint64_t kLargeMessage = 8192;
  if (is_bandwidth) {
    return size_bytes > kLargeMessage ? Loop{.warmup = 2, .iterations = 20} : Loop{.warmup = 10, .iterations = 100};
  }
  return size_bytes > kLargeMessage ? Loop{.warmup = 10, .iterations = 1000} : Loop{.warmup = 100, .iterations = 10000};
}

using ExchangePointer = std::unique_ptr<OneSidedExchange>;

class OneSidedSweep {
 public:
  OneSidedSweep(Session &session, const OneSided &test)
      : session_(session),
        test_(test),
        n_accesses_(test.is_bandwidth ? session.options().window : 1),
        is_origin_(session.world().rank() == kOrigin) {
    if (session.options().is_cold) growth_.emplace(session.module());
  }

  void run() {
    const Options &options = session_.options();
    if (options.family.window == WindowKind::shared && session_.world().n_local_ranks() < session_.world().n_ranks()) {
      throw AgreedError("-w shared: the ranks do not share a host's memory: start both on one host");
    }
    session_.add_note(fmt::format("window memory: {}, synchronisation: {}", word_of(options.family.window),
                                  word_of(options.family.epoch)));
    Columns columns{{"direct"}, {}};
    if (growth_) growth_->add_columns(columns);
    session_.begin(std::move(columns));
    for (const std::uint64_t size : options.sizes) {
      Row row;
      row.size_bytes = test_.is_one_element ? kOneElementBytes : size;
      const Loop usual = one_sided_loop(test_.is_bandwidth, row.size_bytes);
      const Loop loop = chosen_loop(options, options.is_cold ? cold_loop(usual) : usual);
      row.check.n_iterations = checked_iterations(options.check, loop.iterations);
      auto exchange = agree_on_exchange(row.size_bytes);
      session_.begin_routes();
      row.check.failure = session_.world().first_error(check(exchange, row.check.n_iterations, row.size_bytes));
      row.routes = session_.end_routes();
      if (row.check.failure.empty()) {
        row.series.push_back({"direct", {}});
        if (growth_) growth_->clear();
        row.stopped = repeat_blocks_together(options, row.series, [&](std::uint64_t) {
          row.series.front().blocks.push_back(time(exchange, loop, row.size_bytes));
        });
        if (growth_) growth_->add_to(row);
      }
      session_.add(std::move(row));
    }
  }

 private:
  // Accesses of one iteration that do not share memory: two that write one place at once leave nobody knows what.
  std::uint64_t n_slots(std::uint64_t size) const {
    return std::clamp<std::uint64_t>(kMemoryBudgetBytes / std::max<std::uint64_t>(size, 1), 1, n_accesses_);
  }

  // On every rank, or AgreedError on every rank. The limits that throw are the same everywhere; a rank whose window
  // cannot be made ends the run by itself.
  ExchangePointer agree_on_exchange(std::uint64_t size) {
    ExchangePointer exchange;
    const std::string error =
        error_of([&] { exchange = std::make_unique<OneSidedExchange>(session_, test_, size, n_slots(size)); });
    session_.world().agree(text_with_size(size, error));
    return exchange;
  }

  std::string check(ExchangePointer &exchange, std::uint64_t n_iterations, std::uint64_t size) {
    std::string failure;
    for (std::uint64_t iteration = 0; iteration < n_iterations; ++iteration) {
      if (growth_) exchange = agree_on_exchange(size);
      exchange->prepare(iteration, scratch_);
      session_.world().barrier();
      exchange->epoch().open();
      exchange->run(n_slots(size));
      exchange->epoch().close();
      session_.world().barrier();
      const std::string wrong = exchange->verify(iteration, scratch_);
      if (failure.empty()) {
        failure = text_with_iteration(size, iteration, wrong);
      }
    }
    return failure;
  }

  Summary time(ExchangePointer &exchange, const Loop &loop, std::uint64_t size) {
    std::vector<double> samples;
    if (growth_) {
      samples = cold_samples(exchange, loop, size, *growth_);
    } else {
      exchange->prepare(0, scratch_);
      session_.world().barrier();
      exchange->epoch().open();
      samples = sample_us(loop, [&] { exchange->run(n_accesses_); });
      exchange->epoch().close();
    }
    samples = largest_of_ranks(std::move(samples), is_origin_);
    const Summary times = summarise(std::move(samples), session_.options().percentiles);
    return test_.is_bandwidth ? rate_of(times, static_cast<double>(size) * static_cast<double>(n_accesses_)) : times;
  }

  // One iteration in each of many windows and memories. The next ones are made before the last are given back, so that
  // an allocator that hands out what it got last does not give the same again; a barrier keeps the making out of the
  // time, and so the access epoch's beginning, as far as the MPI does not put it off to the first access.
  std::vector<double> cold_samples(ExchangePointer &exchange, const Loop &loop, std::uint64_t size,
                                   MemoryGrowth &growth) {
    std::vector<double> samples;
    for (std::uint64_t i = 0; i < loop.warmup + loop.iterations; ++i) {
      exchange = agree_on_exchange(size);
      exchange->prepare(i, scratch_);
      if (i == loop.warmup) growth.begin();
      session_.world().barrier();
      exchange->epoch().open();
      const double time_us = sample_us({.warmup = 0, .iterations = 1}, [&] { exchange->run(n_accesses_); }).front();
      exchange->epoch().close();
      if (i >= loop.warmup) samples.push_back(time_us);
    }
    growth.end();
    return samples;
  }

  Session &session_;
  const OneSided &test_;
  std::uint64_t n_accesses_;
  bool is_origin_;
  std::vector<std::byte> scratch_;
  std::optional<MemoryGrowth> growth_;  // with --cold
};

}  // namespace

OneSidedRegistration::OneSidedRegistration(OneSided test) {
  const auto shared = std::make_shared<const OneSided>(std::move(test));
  Registration({.name = shared->name,
                .title = shared->title + " by rank 0 to memory of rank 1",
                .family = Family::rma,
                .metric = shared->is_bandwidth ? Metric::bandwidth_mbps : Metric::latency_us,
                .has_sizes = !shared->is_one_element,
                .min_size = shared->is_bandwidth ? std::uint64_t{1} : std::uint64_t{0},
                .has_fresh_memory = true,
                .has_rotation = false,
                .has_element_type = shared->has_numbers && !shared->is_one_element,
                .has_operation = shared->has_numbers && !shared->is_comparing,
                .has_requests = static_cast<bool>(shared->requested_access),
                .run = [shared](Session &session) { OneSidedSweep(session, *shared).run(); }});
}

}  // namespace sluice::bench
