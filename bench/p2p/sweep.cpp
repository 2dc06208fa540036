// SPDX-License-Identifier: BSD-3-Clause
// What all point-to-point tests share.
#include "bench/p2p/sweep.hpp"

#include <fmt/format.h>

namespace sluice::bench {
namespace {

constexpr std::uint64_t kCheckBudgetBytes = std::uint64_t{64} << 20;
constexpr std::uint64_t kSomeIterations = 4;

MessageBuffers make_buffers(Session &session, std::uint64_t size_bytes, std::size_t n_buffers, bool is_sender,
                            bool is_receiver) {
  MessageBuffers buffers;
  for (std::size_t i = 0; i < n_buffers; ++i) {
    if (is_sender) buffers.send.emplace_back(session.module(), session.memory(), size_bytes);
    if (is_receiver) buffers.recv.emplace_back(session.module(), session.memory(), size_bytes);
  }
  return buffers;
}

Pattern pattern_of(int rank, std::uint64_t iteration, std::size_t slot) {
  return {static_cast<std::uint32_t>(rank), iteration, slot};
}

}  // namespace

SizeSetup::SizeSetup(Session &session, std::uint64_t size_bytes, std::size_t n_slots, std::size_t n_buffers,
                     bool is_sender, bool is_receiver)
    : type(size_bytes) {
  const Options &options = session.options();
  const int peer = 1 - session.world().rank();
  if (options.route != Route::naive) {
    buffers = make_buffers(session, size_bytes, n_buffers, is_sender, is_receiver);
    direct = std::make_unique<DirectRoute>(slot_pointers(buffers.send, n_slots), slot_pointers(buffers.recv, n_slots),
                                           type, peer);
  }
  if (options.route != Route::direct) {
    naive_buffers = make_buffers(session, size_bytes, n_buffers, is_sender, is_receiver);
    naive = std::make_unique<NaiveRoute>(session.module(), session.memory(), options.naive_staging, naive_buffers,
                                         n_slots, type, peer);
  }
}

std::unique_ptr<SizeSetup> agree_on_setup(Session &session, std::uint64_t size_bytes, std::size_t n_slots,
                                          std::size_t n_buffers, bool is_sender, bool is_receiver) {
  std::unique_ptr<SizeSetup> setup;
  const std::string error = error_of(
      [&] { setup = std::make_unique<SizeSetup>(session, size_bytes, n_slots, n_buffers, is_sender, is_receiver); });
  session.world().agree(error.empty() ? "" : fmt::format("size {}: {}", size_bytes, error));
  return setup;
}

void prepare_check(MessageBuffers &buffers, int rank, std::uint64_t iteration, std::vector<std::byte> &scratch) {
  for (std::size_t slot = 0; slot < buffers.send.size(); ++slot) {
    buffers.send[slot].fill(pattern_of(rank, iteration, slot), scratch);
  }
  for (std::size_t slot = 0; slot < buffers.recv.size(); ++slot) {
    buffers.recv[slot].poison(pattern_of(1 - rank, iteration, slot), scratch);
  }
}

std::string verify_check(const MessageBuffers &buffers, int rank, std::uint64_t iteration,
                         std::vector<std::byte> &scratch) {
  for (std::size_t slot = 0; slot < buffers.recv.size(); ++slot) {
    const MessageBuffer &buffer = buffers.recv[slot];
    if (const auto wrong = buffer.verify(pattern_of(1 - rank, iteration, slot), scratch)) {
      return fmt::format("received message {}, {}", slot, describe(*wrong, buffer.size_bytes()));
    }
  }
  for (std::size_t slot = 0; slot < buffers.send.size(); ++slot) {
    const MessageBuffer &buffer = buffers.send[slot];
    if (const auto wrong = buffer.verify(pattern_of(rank, iteration, slot), scratch)) {
      return fmt::format("sent message {} was changed, {}", slot, describe(*wrong, buffer.size_bytes()));
    }
  }
  return "";
}

std::size_t checked_slots(std::size_t n_slots, std::uint64_t size_bytes) {
  const std::uint64_t fitting = kCheckBudgetBytes / std::max<std::uint64_t>(size_bytes, 1);
  return std::min<std::size_t>(n_slots, std::max<std::uint64_t>(fitting, 1));
}

std::uint64_t checked_iterations(CheckMode mode, std::uint64_t timed_iterations) {
  switch (mode) {
    case CheckMode::none:
      return 0;
    case CheckMode::all:
      return timed_iterations;
    default:
      return std::min(kSomeIterations, timed_iterations);
  }
}

Loop chosen_loop(const Options &options, const Loop &defaults) {
  return {options.warmup.value_or(defaults.warmup), options.iterations.value_or(defaults.iterations), options.batch};
}

}  // namespace sluice::bench
