// SPDX-License-Identifier: BSD-3-Clause
// What all point-to-point tests share: for each size, first the checked iterations, then the timed blocks. A test is a
// class with these static members (latency.cpp is the shortest):
//   bool sends(int rank), bool receives(int rank)      which way its messages go
//   std::size_t n_slots(const Options &)               messages of one iteration
//   Loop default_loop(std::uint64_t size)              OSU's numbers of iterations
//   void iterate(Route &, int rank, std::size_t slots) one iteration
//   Summary result(const Summary &times_us, size, slots)  from times of one iteration to the metric
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "bench/measure/sampling.hpp"
#include "bench/p2p/routes.hpp"
#include "bench/session.hpp"

namespace sluice::bench {

// The memory and the routes of this rank at one size.
struct SizeSetup {
  // n_buffers: for each direction that is used. Throws DeviceError and MpiError.
  SizeSetup(Session &session, std::uint64_t size_bytes, std::size_t n_slots, std::size_t n_buffers, bool is_sender,
            bool is_receiver);

  MessageType type;
  MessageBuffers buffers;
  // Memory that no MPI has ever seen: a GPU-aware one may change how the vendor's copies treat memory passed to it.
  MessageBuffers naive_buffers;
  std::unique_ptr<DirectRoute> direct;  // null when only the other is asked for
  std::unique_ptr<NaiveRoute> naive;
};

// Collective. Builds the setup on every rank or throws AgreedError on every rank.
std::unique_ptr<SizeSetup> agree_on_setup(Session &session, std::uint64_t size_bytes, std::size_t n_slots,
                                          std::size_t n_buffers, bool is_sender, bool is_receiver);

// Writes what iteration `iteration` sends, and poisons what it receives. Each slot has its own buffer.
void prepare_check(MessageBuffers &buffers, int rank, std::uint64_t iteration, std::vector<std::byte> &scratch);
// The first byte that is wrong afterwards, in what was received and in what was sent; "" when all are right.
std::string verify_check(const MessageBuffers &buffers, int rank, std::uint64_t iteration,
                         std::vector<std::byte> &scratch);
// Slots of a checked iteration: the window, or fewer so that its buffers stay within a fixed budget.
std::size_t checked_slots(std::size_t n_slots, std::uint64_t size_bytes);
std::uint64_t checked_iterations(CheckMode mode, std::uint64_t timed_iterations);
// The user's numbers, or the test's own.
Loop chosen_loop(const Options &options, const Loop &defaults);

template <class Test>
class Sweep {
 public:
  explicit Sweep(Session &session)
      : session_(session),
        rank_(session.world().rank()),
        is_sender_(Test::sends(rank_)),
        is_receiver_(Test::receives(rank_)) {}

  // Collective. Throws AgreedError for what all ranks know, other exceptions for what only this one does.
  void run() {
    session_.begin(session_.options().route == Route::compare ? std::vector<std::string>{"direct", "naive"}
                                                              : std::vector<std::string>{"direct"});
    for (const std::uint64_t size : session_.options().sizes) {
      Row row;
      row.size_bytes = size;
      const Loop loop = chosen_loop(session_.options(), Test::default_loop(size));
      row.check.n_iterations = checked_iterations(session_.options().check, loop.iterations);
      row.check.failure = agreed_failure(row.check.n_iterations, size);
      if (row.check.failure.empty()) {
        row.series = measure(loop, size);
      }
      session_.add(std::move(row));
    }
  }

 private:
  // The text of the lowest rank that saw wrong data, on all ranks.
  std::string agreed_failure(std::uint64_t n_iterations, std::uint64_t size) {
    if (n_iterations == 0) {
      return "";
    }
    const std::size_t slots = checked_slots(Test::n_slots(session_.options()), size);
    const auto setup = agree_on_setup(session_, size, slots, slots, is_sender_, is_receiver_);
    std::string failure;
    if (setup->direct) {
      failure = check(*setup->direct, "direct", setup->buffers, n_iterations, slots, size);
    }
    if (setup->naive && failure.empty()) {
      failure = check(*setup->naive, "naive", setup->naive_buffers, n_iterations, slots, size);
    }
    return failure;
  }

  template <class SomeRoute>
  std::string check(SomeRoute &route, const char *name, MessageBuffers &buffers, std::uint64_t n_iterations,
                    std::size_t slots, std::uint64_t size) {
    std::string failure;
    for (std::uint64_t iteration = 0; iteration < n_iterations; ++iteration) {
      prepare_check(buffers, rank_, iteration, scratch_);
      Test::iterate(route, rank_, slots);
      if (failure.empty()) {
        failure = route.verify_statuses();
        failure = failure.empty() ? verify_check(buffers, rank_, iteration, scratch_) : failure;
        failure = failure.empty() ? "" : fmt::format("size {}, iteration {}, {} ({})", size, iteration, failure, name);
      }
    }
    return session_.world().first_error(failure);
  }

  std::vector<Series> measure(const Loop &loop, std::uint64_t size) {
    const Options &options = session_.options();
    const std::size_t slots = Test::n_slots(options);
    const auto setup =
        agree_on_setup(session_, size, slots, options.has_multiple_buffers ? slots : 1, is_sender_, is_receiver_);
    prepare_check(setup->buffers, rank_, 0, scratch_);
    prepare_check(setup->naive_buffers, rank_, 0, scratch_);
    std::vector<Series> series;
    if (setup->direct) series.push_back({"direct", {}});
    if (setup->naive) series.push_back({"naive", {}});
    for (std::uint64_t block = 0; block < options.repeat; ++block) {
      // Every other block in the opposite order, so that neither route always follows the other.
      for (const bool is_naive : {block % 2 == 1, block % 2 == 0}) {
        if (!is_naive && setup->direct) series.front().blocks.push_back(time(*setup->direct, loop, slots, size));
        if (is_naive && setup->naive) series.back().blocks.push_back(time(*setup->naive, loop, slots, size));
      }
    }
    return series;
  }

  template <class SomeRoute>
  Summary time(SomeRoute &route, const Loop &loop, std::size_t slots, std::uint64_t size) {
    session_.world().barrier();
    auto samples = sample_us(loop, [&] { Test::iterate(route, rank_, slots); });
    return Test::result(summarise(std::move(samples), session_.options().percentiles), size, slots);
  }

  Session &session_;
  int rank_;
  bool is_sender_;
  bool is_receiver_;
  std::vector<std::byte> scratch_;
};

}  // namespace sluice::bench
