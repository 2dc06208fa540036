// SPDX-License-Identifier: BSD-3-Clause
// What all point-to-point tests share: for each size, first the checked iterations, then the timed blocks. A test is a
// class derived from PairTest (latency.cpp is the shortest), which states what differs.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "bench/catalogue.hpp"
#include "bench/measure/chosen_loop.hpp"
#include "bench/measure/sampling.hpp"
#include "bench/memory/message_buffer.hpp"
#include "bench/mpi/rank_samples.hpp"
#include "bench/p2p/calls.hpp"
#include "bench/p2p/staged.hpp"
#include "bench/p2p/traffic.hpp"
#include "bench/session.hpp"

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

// One side's memory at one size: buffers for what it sends and what it receives; either may be empty.
struct MessageBuffers {
  std::vector<MessageBuffer> send;
  std::vector<MessageBuffer> recv;
};

// At least one buffer for each direction that has messages; n_most: not more. Throws DeviceError.
MessageBuffers make_buffers(Session &session, std::uint64_t size_bytes, const Traffic &traffic, std::size_t n_most);
// The pointers of the traffic's messages, spread over the buffers one after the other.
Slots make_slots(const MessageBuffers &buffers, const Traffic &traffic);

// The memory and the routes of this rank at one size.
template <class Way>
struct SizeSetup {
  // n_most: buffers for each direction. Throws DeviceError and MpiError.
  SizeSetup(Session &session, std::uint64_t size_bytes, const Traffic &traffic, std::size_t n_most) : type(size_bytes) {
    const Options &options = session.options();
    if (options.route != Route::naive) {
      buffers = make_buffers(session, size_bytes, traffic, n_most);
      direct = std::make_unique<Way>(make_slots(buffers, traffic), type, options.family);
    }
    if (options.route != Route::direct) {
      naive_buffers = make_buffers(session, size_bytes, traffic, n_most);
      const StagingPlace place{session.module(), session.memory(), options.naive_staging};
      naive = std::make_unique<Staged<Way>>(place, make_slots(naive_buffers, traffic), type, options.family);
    }
  }

  MessageType type;
  MessageBuffers buffers;
  // Memory that no MPI has ever seen: a GPU-aware one may change how the vendor's copies treat memory passed to it.
  MessageBuffers naive_buffers;
  std::unique_ptr<Way> direct;  // null when only the other is asked for
  std::unique_ptr<Staged<Way>> naive;
};

// Writes what iteration `iteration` sends, and poisons what it receives. Each slot has its own buffer.
void prepare_check(MessageBuffers &buffers, const Traffic &traffic, int rank, std::uint64_t iteration,
                   std::vector<std::byte> &scratch);
// The first byte that is wrong afterwards, in what was received and in what was sent; "" when all are right.
std::string verify_check(const MessageBuffers &buffers, const Traffic &traffic, int rank, std::uint64_t iteration,
                         std::vector<std::byte> &scratch);
// "size 8: what happened", and the same with iteration and route; "" for "".
std::string text_with_size(std::uint64_t size_bytes, const std::string &error);
std::string text_with_iteration(std::uint64_t size_bytes, std::uint64_t iteration, const std::string &failure,
                                const char *route);
// Window of a checked iteration: the whole, or less so that its buffers stay within a fixed budget.
std::size_t checked_window(std::size_t window, std::uint64_t size_bytes);

template <class Test>
class Sweep {
 public:
  explicit Sweep(Session &session) : session_(session), party_{session.world().rank(), session.world().n_ranks()} {}

  // Collective. Throws AgreedError for what all ranks know, other exceptions for what only this one does.
  void run() {
    const Options &options = session_.options();
    session_.begin({options.route == Route::compare ? std::vector<std::string>{"direct", "naive"}
                                                    : std::vector<std::string>{"direct"},
                    Test::extra_columns()});
    for (const std::uint64_t size : options.sizes) {
      Row row;
      row.size_bytes = size;
      const Loop loop = chosen_loop(options, Test::default_loop(size));
      row.check.n_iterations = checked_iterations(options.check, loop.iterations);
      row.check.failure = agreed_failure(row.check.n_iterations, size);
      if (row.check.failure.empty()) {
        row.series = measure(loop, size);
        row.extras = Test::extras(row.series.front().blocks.front(), size);
      }
      session_.add(std::move(row));
    }
  }

 private:
  using Way = typename Test::Way;
  using Setup = SizeSetup<Way>;

  // Builds the setup on every rank or throws AgreedError on every rank.
  std::unique_ptr<Setup> agree_on_setup(std::uint64_t size, const Traffic &traffic, std::size_t n_most) {
    std::unique_ptr<Setup> setup;
    const std::string error = error_of([&] { setup = std::make_unique<Setup>(session_, size, traffic, n_most); });
    session_.world().agree(text_with_size(size, error));
    return setup;
  }

  // The text of the lowest rank that saw wrong data, on all ranks.
  std::string agreed_failure(std::uint64_t n_iterations, std::uint64_t size) {
    if (n_iterations == 0) {
      return "";
    }
    const Traffic traffic = Test::traffic(party_, checked_window(Test::window(session_.options()), size));
    const auto setup = agree_on_setup(size, traffic, std::max(traffic.send.size(), traffic.recv.size()));
    std::string failure;
    if (setup->direct) {
      failure = check(*setup->direct, "direct", setup->buffers, traffic, n_iterations, size);
    }
    if (setup->naive && failure.empty()) {
      failure = check(*setup->naive, "naive", setup->naive_buffers, traffic, n_iterations, size);
    }
    return failure;
  }

  template <class SomeRoute>
  std::string check(SomeRoute &route, const char *name, MessageBuffers &buffers, const Traffic &traffic,
                    std::uint64_t n_iterations, std::uint64_t size) {
    std::string failure;
    for (std::uint64_t iteration = 0; iteration < n_iterations; ++iteration) {
      prepare_check(buffers, traffic, party_.rank, iteration, scratch_);
      Test::iterate(route, party_);
      if (failure.empty()) {
        failure = route.verify_statuses();
        failure = failure.empty() ? verify_check(buffers, traffic, party_.rank, iteration, scratch_) : failure;
        failure = text_with_iteration(size, iteration, failure, name);
      }
    }
    return session_.world().first_error(failure);
  }

  std::vector<Series> measure(const Loop &loop, std::uint64_t size) {
    const Options &options = session_.options();
    const Traffic traffic = Test::traffic(party_, Test::window(options));
    const std::size_t n_most =
        options.has_multiple_buffers ? std::max(traffic.send.size(), traffic.recv.size()) : Test::kSingleBuffers;
    const auto setup = agree_on_setup(size, traffic, n_most);
    prepare_check(setup->buffers, traffic, party_.rank, 0, scratch_);
    prepare_check(setup->naive_buffers, traffic, party_.rank, 0, scratch_);
    std::vector<Series> series;
    if (setup->direct) series.push_back({"direct", {}});
    if (setup->naive) series.push_back({"naive", {}});
    for (std::uint64_t block = 0; block < options.repeat; ++block) {
      // Every other block in the opposite order, so that neither route always follows the other.
      for (const bool is_naive : {block % 2 == 1, block % 2 == 0}) {
        if (!is_naive && setup->direct) series.front().blocks.push_back(time(*setup->direct, loop, size));
        if (is_naive && setup->naive) series.back().blocks.push_back(time(*setup->naive, loop, size));
      }
    }
    return series;
  }

  template <class SomeRoute>
  Summary time(SomeRoute &route, const Loop &loop, std::uint64_t size) {
    session_.world().barrier();
    std::vector<double> samples = Test::sample(loop, route, party_);
    samples = largest_of_ranks(std::move(samples), Test::leads(party_), party_.n_ranks > 2);
    return Test::result(summarise(std::move(samples), session_.options().percentiles), size,
                        Test::window(session_.options()), party_.n_ranks);
  }

  Session &session_;
  Party party_;
  std::vector<std::byte> scratch_;
};

// The usual timed loop; `Test` is the test itself, so that a test with threads can have its own.
template <class Test>
struct TimedByOneThread {
  static constexpr std::size_t kSingleBuffers = 1;
  template <class SomeRoute>
  static std::vector<double> sample(const Loop &loop, SomeRoute &route, const Party &party) {
    return sample_us(loop, [&] { Test::iterate(route, party); });
  }

 private:
  TimedByOneThread() = default;
  friend Test;
};

}  // namespace sluice::bench
