// SPDX-License-Identifier: BSD-3-Clause
// What all point-to-point tests share: for each size, first the checked iterations, then the timed blocks. A test is a
// class derived from PairTest (latency.cpp is the shortest), which states what differs; the driver itself is compiled
// once (sweep.cpp) and sees a test through PairSweep.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "bench/catalogue.hpp"
#include "bench/measure/sampling.hpp"
#include "bench/p2p/calls.hpp"
#include "bench/p2p/large_calls.hpp"
#include "bench/p2p/staged.hpp"
#include "bench/p2p/traffic.hpp"
#include "bench/report/row.hpp"

namespace sluice::bench {

// Where a rank stands among all.
struct Party {
  int rank = 0;
  int n_ranks = 2;
};

// What a test may leave as it is: pairs of ranks, plain calls, one message at a time, no further columns.
// A test adds:
//   static Traffic traffic(const Party &, std::size_t window)   its messages
//   static Loop default_loop(std::uint64_t size)                OSU's numbers of iterations
//   static void iterate(Route &, const Party &)                 one iteration; Route is Calls or Staged<Calls>
//   static Summary result(const Summary &times_us, std::uint64_t size, std::size_t window, int n_ranks)
struct PairTest {
  using Way = PlainCalls;
  static std::size_t window(const Options &) { return 1; }
  // The ranks whose times count; of several, the largest of each iteration.
  static bool leads(const Party &party) { return is_lower(party.rank, party.n_ranks); }
  static std::vector<ExtraColumn> extra_columns() { return {}; }
  static std::vector<double> extras(const Summary & /*result*/, std::uint64_t /*size*/) { return {}; }
};

// One route of a test at one size, as the driver sees it. The hot loop is inside sample().
class RouteRun {
 public:
  virtual ~RouteRun() = default;
  // One iteration. Blocks; throws MpiError and DeviceError, as sample() does.
  virtual void iterate() = 0;
  // The timed loop: us of each sample. turns: routes of the same test and kind, of which each iteration takes the next;
  // this one is the first of them.
  virtual std::vector<double> sample(const Loop &loop, std::span<RouteRun *const> turns) = 0;
  // As Calls::verify_statuses().
  virtual std::string verify_statuses() const = 0;
};

template <class Test, class Route>
class RouteRunOf : public RouteRun {
 public:
  template <class... Arguments>
  explicit RouteRunOf(const Party &party, Arguments &&...arguments)
      : party_(party), route_(std::forward<Arguments>(arguments)...) {}
  void iterate() override { Test::iterate(route_, party_); }
  std::vector<double> sample(const Loop &loop, std::span<RouteRun *const> turns) override {
    std::vector<Route *> routes;
    routes.reserve(turns.size());
    for (RouteRun *const turn : turns) {
      routes.push_back(&static_cast<RouteRunOf *>(turn)->route_);
    }
    return Test::sample(loop, routes, party_);
  }
  std::string verify_statuses() const override { return route_.verify_statuses(); }

 private:
  Party party_;
  Route route_;
};

// A test, as the driver sees it: the functions of PairTest, and how its two routes are made. Making a route throws
// DeviceError and MpiError; the type outlives it.
struct PairSweep {
  std::size_t (*window)(const Options &);
  std::size_t n_single_buffers;  // buffers for each direction without -b multiple, at most
  bool (*leads)(const Party &);
  Traffic (*traffic)(const Party &, std::size_t window);
  Loop (*default_loop)(std::uint64_t size);
  Summary (*result)(const Summary &times_us, std::uint64_t size, std::size_t window, int n_ranks);
  std::vector<ExtraColumn> (*extra_columns)();
  std::vector<double> (*extras)(const Summary &result, std::uint64_t size);
  std::unique_ptr<RouteRun> (*make_direct)(const Party &, Slots, const MessageType &, const FamilyOptions &);
  std::unique_ptr<RouteRun> (*make_naive)(const Party &, const StagingPlace &, Slots, const MessageType &,
                                          const FamilyOptions &);
  // With --large-count, which tests of other than plain calls do not take.
  std::unique_ptr<RouteRun> (*make_large)(const Party &, Slots, const MessageType &, const FamilyOptions &);
};

// Collective. Throws AgreedError for what all ranks know, other exceptions for what only this one does.
void run_pair_sweep(Session &session, const PairSweep &test);

template <class Test, class Calls>
std::unique_ptr<RouteRun> make_route(const Party &party, Slots slots, const MessageType &type,
                                     const FamilyOptions &options) {
  return std::make_unique<RouteRunOf<Test, Calls>>(party, std::move(slots), type, options);
}

template <class Test>
void sweep(Session &session) {
  using Way = typename Test::Way;
  run_pair_sweep(
      session, {.window = Test::window,
                .n_single_buffers = Test::kSingleBuffers,
                .leads = Test::leads,
                .traffic = Test::traffic,
                .default_loop = Test::default_loop,
                .result = Test::result,
                .extra_columns = Test::extra_columns,
                .extras = Test::extras,
                .make_direct = make_route<Test, Way>,
                .make_naive = [](const Party &party, const StagingPlace &place, Slots slots, const MessageType &type,
                                 const FamilyOptions &options) -> std::unique_ptr<RouteRun> {
                  return std::make_unique<RouteRunOf<Test, Staged<Way>>>(party, place, std::move(slots), type, options);
                },
                .make_large = make_route<Test, std::conditional_t<Way::kHasLargeCounts, LargeCalls, Way>>});
}

// The test as it registers itself: `info`, and what follows from the class.
template <class Test>
TestInfo pair_test(TestInfo info) {
  info.has_derived_types = Test::Way::kHasDerivedTypes;
  info.has_large_counts = Test::Way::kHasLargeCounts;
  info.has_fresh_memory = Test::kHasFreshMemory;
  if (!info.run) {
    info.run = sweep<Test>;
  }
  return info;
}

// The usual timed loop; `Test` is the test itself, so that a test with threads can have its own.
template <class Test>
struct TimedByOneThread {
  static constexpr std::size_t kSingleBuffers = 1;
  static constexpr bool kHasFreshMemory = true;
  template <class SomeRoute>
  static std::vector<double> sample(const Loop &loop, const std::vector<SomeRoute *> &routes, const Party &party) {
    std::size_t turn = 0;
    return sample_us(loop, [&] {
      Test::iterate(*routes[turn], party);
      turn = turn + 1 == routes.size() ? 0 : turn + 1;
    });
  }

 private:
  TimedByOneThread() = default;
  friend Test;
};

}  // namespace sluice::bench
