// SPDX-License-Identifier: BSD-3-Clause
// The driver of all point-to-point tests.
#include "bench/p2p/sweep.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "bench/measure/chosen_loop.hpp"
#include "bench/measure/in_turns.hpp"
#include "bench/memory/message_buffer.hpp"
#include "bench/memory/message_layout.hpp"
#include "bench/memory/packer.hpp"
#include "bench/mpi/agreed_stop.hpp"
#include "bench/mpi/rank_samples.hpp"
#include "bench/report/failure_text.hpp"
#include "bench/session.hpp"

namespace sluice::bench {
namespace {

constexpr std::uint64_t kCheckBudgetBytes = std::uint64_t{64} << 20;

std::vector<MessageBuffer> some_buffers(Session &session, const MessageLayout &layout, std::size_t n) {
  std::vector<MessageBuffer> buffers;
  buffers.reserve(n);
  for (std::size_t i = 0; i < n; ++i) {
    buffers.emplace_back(session.module(), session.memory(), layout);
  }
  return buffers;
}

std::vector<void *> pointers_of(const std::vector<MessageBuffer> &buffers, std::size_t n_slots) {
  std::vector<void *> pointers;
  pointers.reserve(n_slots);
  for (std::size_t slot = 0; slot < n_slots; ++slot) {
    pointers.push_back(buffers[slot % buffers.size()].data());
  }
  return pointers;
}

Pattern sent_by(int rank, std::uint64_t iteration, const Lane &lane) {
  return {static_cast<std::uint32_t>(rank), iteration, lane.message};
}

// One side's memory at one size: buffers for what it sends and what it receives; either may be empty.
struct MessageBuffers {
  std::vector<MessageBuffer> send;
  std::vector<MessageBuffer> recv;
};

// At least one buffer for each direction that has messages; n_most: not more. Throws DeviceError.
MessageBuffers make_buffers(Session &session, const MessageLayout &layout, const Traffic &traffic, std::size_t n_most) {
  return {some_buffers(session, layout, std::min(n_most, traffic.send.size())),
          some_buffers(session, layout, std::min(n_most, traffic.recv.size()))};
}

// The pointers of the traffic's messages, spread over the buffers one after the other.
Slots make_slots(const MessageBuffers &buffers, const Traffic &traffic) {
  return {traffic, pointers_of(buffers.send, traffic.send.size()), pointers_of(buffers.recv, traffic.recv.size())};
}

// The memory and the routes of this rank at one size.
struct SizeSetup {
  // n_most: buffers for each direction. Throws DeviceError and MpiError.
  SizeSetup(Session &session, const PairSweep &test, const Party &party, std::uint64_t size_bytes,
            const Traffic &traffic, std::size_t n_most)
      : type(size_bytes, session.options().family.message, session.options().family.has_large_counts),
        bytes(size_bytes) {
    const Options &options = session.options();
    const MessageLayout layout = layout_of(options.family.message, size_bytes);
    if (options.route != Route::naive) {
      buffers = make_buffers(session, layout, traffic, n_most);
      const auto make = options.family.has_large_counts ? test.make_large : test.make_direct;
      direct = make(party, make_slots(buffers, traffic), type, options.family);
    }
    if (options.route != Route::direct) {
      naive_buffers = make_buffers(session, layout, traffic, n_most);
      if (options.by_hand == ByHand::packing) {
        packer.emplace(session.module(), session.memory(), layout);
      }
      const StagingPlace place{session.module(), session.memory(), options.naive_staging, packer ? &*packer : nullptr};
      naive = test.make_naive(party, place, make_slots(naive_buffers, traffic), bytes, options.family);
    }
  }

  MessageType type;
  MessageType bytes;  // what is moved by hand has no gaps
  MessageBuffers buffers;
  // Memory that no MPI has ever seen: a GPU-aware one may change how the vendor's copies treat memory passed to it.
  MessageBuffers naive_buffers;
  std::optional<Packer> packer;
  std::unique_ptr<RouteRun> direct;  // null when only the other is asked for
  std::unique_ptr<RouteRun> naive;
};

// Writes what iteration `iteration` sends, and poisons what it receives. Each slot has its own buffer.
void prepare_check(MessageBuffers &buffers, const Traffic &traffic, int rank, std::uint64_t iteration,
                   std::vector<std::byte> &scratch) {
  for (std::size_t slot = 0; slot < buffers.send.size(); ++slot) {
    buffers.send[slot].fill(sent_by(rank, iteration, traffic.send[slot]), scratch);
  }
  for (std::size_t slot = 0; slot < buffers.recv.size(); ++slot) {
    buffers.recv[slot].poison(sent_by(traffic.recv[slot].peer, iteration, traffic.recv[slot]), scratch);
  }
}

// The first byte that is wrong afterwards, in what was received and in what was sent; "" when all are right.
std::string verify_check(const MessageBuffers &buffers, const Traffic &traffic, int rank, std::uint64_t iteration,
                         std::vector<std::byte> &scratch) {
  for (std::size_t slot = 0; slot < buffers.recv.size(); ++slot) {
    const MessageBuffer &buffer = buffers.recv[slot];
    const Lane &lane = traffic.recv[slot];
    if (const auto wrong = buffer.verify(sent_by(lane.peer, iteration, lane), scratch)) {
      return fmt::format("received message {}, {}", slot, describe(*wrong, buffer.extent_bytes()));
    }
  }
  for (std::size_t slot = 0; slot < buffers.send.size(); ++slot) {
    const MessageBuffer &buffer = buffers.send[slot];
    if (const auto wrong = buffer.verify(sent_by(rank, iteration, traffic.send[slot]), scratch)) {
      return fmt::format("sent message {} was changed, {}", slot, describe(*wrong, buffer.extent_bytes()));
    }
  }
  return "";
}

// Window of a checked iteration: the whole, or less so that its buffers stay within a fixed budget.
std::size_t checked_window(std::size_t window, std::uint64_t size_bytes) {
  const std::uint64_t fitting = kCheckBudgetBytes / std::max<std::uint64_t>(size_bytes, 1);
  return std::min<std::size_t>(window, std::max<std::uint64_t>(fitting, 1));
}

class Sweep {
 public:
  Sweep(Session &session, const PairSweep &test)
      : session_(session), test_(test), party_{session.world().rank(), session.world().n_ranks()} {}

  void run() {
    const Options &options = session_.options();
    session_.begin({options.route == Route::compare ? std::vector<std::string>{"direct", by_hand_name(options)}
                                                    : std::vector<std::string>{"direct"},
                    test_.extra_columns()});
    for (const std::uint64_t size : options.sizes) {
      Row row;
      row.size_bytes = size;
      const Loop loop = chosen_loop(options, test_.default_loop(size));
      row.check.n_iterations = checked_iterations(options.check, loop.iterations);
      row.check.failure = agreed_failure(row.check.n_iterations, size);
      if (row.check.failure.empty()) {
        measure(row, loop);
        row.extras = test_.extras(row.series.front().blocks.front(), size);
      }
      session_.add(std::move(row));
    }
  }

 private:
  // Builds the setup on every rank or throws AgreedError on every rank.
  std::unique_ptr<SizeSetup> agree_on_setup(std::uint64_t size, const Traffic &traffic, std::size_t n_most) {
    std::unique_ptr<SizeSetup> setup;
    const std::string error =
        error_of([&] { setup = std::make_unique<SizeSetup>(session_, test_, party_, size, traffic, n_most); });
    session_.world().agree(text_with_size(size, error));
    return setup;
  }

  // The text of the lowest rank that saw wrong data, on all ranks.
  std::string agreed_failure(std::uint64_t n_iterations, std::uint64_t size) {
    if (n_iterations == 0) {
      return "";
    }
    const Traffic traffic = test_.traffic(party_, checked_window(test_.window(session_.options()), size));
    const auto setup = agree_on_setup(size, traffic, std::max(traffic.send.size(), traffic.recv.size()));
    std::string failure;
    if (setup->direct) {
      failure = check(*setup->direct, "direct", setup->buffers, traffic, n_iterations, size);
    }
    if (setup->naive && failure.empty()) {
      failure =
          check(*setup->naive, by_hand_name(session_.options()), setup->naive_buffers, traffic, n_iterations, size);
    }
    return failure;
  }

  std::string check(RouteRun &route, const char *name, MessageBuffers &buffers, const Traffic &traffic,
                    std::uint64_t n_iterations, std::uint64_t size) {
    std::string failure;
    for (std::uint64_t iteration = 0; iteration < n_iterations; ++iteration) {
      prepare_check(buffers, traffic, party_.rank, iteration, scratch_);
      route.iterate();
      if (failure.empty()) {
        failure = route.verify_statuses();
        failure = failure.empty() ? verify_check(buffers, traffic, party_.rank, iteration, scratch_) : failure;
        failure = text_with_iteration(size, iteration, failure, name);
      }
    }
    return session_.world().first_error(failure);
  }

  void measure(Row &row, const Loop &loop) {
    const Options &options = session_.options();
    const std::uint64_t size = row.size_bytes;
    const Traffic traffic = test_.traffic(party_, test_.window(options));
    const std::size_t n_most =
        options.has_multiple_buffers ? std::max(traffic.send.size(), traffic.recv.size()) : test_.n_single_buffers;
    const auto setup = agree_on_setup(size, traffic, n_most);
    prepare_check(setup->buffers, traffic, party_.rank, 0, scratch_);
    prepare_check(setup->naive_buffers, traffic, party_.rank, 0, scratch_);
    if (setup->direct) row.series.push_back({"direct", {}});
    if (setup->naive) row.series.push_back({by_hand_name(options), {}});
    const BlockBudget budget(options.time_cap_s, options.precision_percent);
    const auto time_block = [&](bool is_naive) {
      if (!is_naive && setup->direct) row.series.front().blocks.push_back(time(*setup->direct, loop, size));
      if (is_naive && setup->naive) row.series.back().blocks.push_back(time(*setup->naive, loop, size));
    };
    in_turns(options.repeat, time_block, [&] {
      row.stopped = agreed_stop(budget, row.series);
      return row.stopped != Stop::none;
    });
  }

  Summary time(RouteRun &route, const Loop &loop, std::uint64_t size) {
    session_.world().barrier();
    const bool has_several_leaders = party_.n_ranks > 2 || test_.leads({1, 2});
    std::vector<double> samples = largest_of_ranks(route.sample(loop), test_.leads(party_), has_several_leaders);
    return test_.result(summarise(std::move(samples), session_.options().percentiles), size,
                        test_.window(session_.options()), party_.n_ranks);
  }

  Session &session_;
  const PairSweep &test_;
  Party party_;
  std::vector<std::byte> scratch_;
};

}  // namespace

void run_pair_sweep(Session &session, const PairSweep &test) {
  Sweep(session, test).run();
}

}  // namespace sluice::bench
