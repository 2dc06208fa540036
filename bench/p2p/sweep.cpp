// SPDX-License-Identifier: BSD-3-Clause
// What all point-to-point tests share.
#include "bench/p2p/sweep.hpp"

#include <fmt/format.h>

namespace sluice::bench {
namespace {

constexpr std::uint64_t kCheckBudgetBytes = std::uint64_t{64} << 20;

std::vector<MessageBuffer> some_buffers(Session &session, std::uint64_t size_bytes, std::size_t n) {
  std::vector<MessageBuffer> buffers;
  buffers.reserve(n);
  for (std::size_t i = 0; i < n; ++i) {
    buffers.emplace_back(session.module(), session.memory(), size_bytes);
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

}  // namespace

MessageBuffers make_buffers(Session &session, std::uint64_t size_bytes, const Traffic &traffic, std::size_t n_most) {
  return {some_buffers(session, size_bytes, std::min(n_most, traffic.send.size())),
          some_buffers(session, size_bytes, std::min(n_most, traffic.recv.size()))};
}

Slots make_slots(const MessageBuffers &buffers, const Traffic &traffic) {
  return {traffic, pointers_of(buffers.send, traffic.send.size()), pointers_of(buffers.recv, traffic.recv.size())};
}

void prepare_check(MessageBuffers &buffers, const Traffic &traffic, int rank, std::uint64_t iteration,
                   std::vector<std::byte> &scratch) {
  for (std::size_t slot = 0; slot < buffers.send.size(); ++slot) {
    buffers.send[slot].fill(sent_by(rank, iteration, traffic.send[slot]), scratch);
  }
  for (std::size_t slot = 0; slot < buffers.recv.size(); ++slot) {
    buffers.recv[slot].poison(sent_by(traffic.recv[slot].peer, iteration, traffic.recv[slot]), scratch);
  }
}

std::string verify_check(const MessageBuffers &buffers, const Traffic &traffic, int rank, std::uint64_t iteration,
                         std::vector<std::byte> &scratch) {
  for (std::size_t slot = 0; slot < buffers.recv.size(); ++slot) {
    const MessageBuffer &buffer = buffers.recv[slot];
    const Lane &lane = traffic.recv[slot];
    if (const auto wrong = buffer.verify(sent_by(lane.peer, iteration, lane), scratch)) {
      return fmt::format("received message {}, {}", slot, describe(*wrong, buffer.size_bytes()));
    }
  }
  for (std::size_t slot = 0; slot < buffers.send.size(); ++slot) {
    const MessageBuffer &buffer = buffers.send[slot];
    if (const auto wrong = buffer.verify(sent_by(rank, iteration, traffic.send[slot]), scratch)) {
      return fmt::format("sent message {} was changed, {}", slot, describe(*wrong, buffer.size_bytes()));
    }
  }
  return "";
}

std::string text_with_size(std::uint64_t size_bytes, const std::string &error) {
  return error.empty() ? "" : fmt::format("size {}: {}", size_bytes, error);
}

std::string text_with_iteration(std::uint64_t size_bytes, std::uint64_t iteration, const std::string &failure,
                                const char *route) {
  return failure.empty() ? "" : fmt::format("size {}, iteration {}, {} ({})", size_bytes, iteration, failure, route);
}

std::size_t checked_window(std::size_t window, std::uint64_t size_bytes) {
  const std::uint64_t fitting = kCheckBudgetBytes / std::max<std::uint64_t>(size_bytes, 1);
  return std::min<std::size_t>(window, std::max<std::uint64_t>(fitting, 1));
}

}  // namespace sluice::bench
