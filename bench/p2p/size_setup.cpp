// SPDX-License-Identifier: BSD-3-Clause
// The memory and the calls of one route of a point-to-point test at one size.
#include "bench/p2p/size_setup.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "bench/memory/message_layout.hpp"

namespace sluice::bench {
namespace {

std::vector<MessageBuffer> some_buffers(Session &session, const MessageLayout &layout, std::size_t n) {
  std::vector<MessageBuffer> buffers;
  buffers.reserve(n);
  for (std::size_t i = 0; i < n; ++i) {
    buffers.emplace_back(session.module(), session.memory(), layout);
  }
  return buffers;
}

// The pointers of the messages, spread over the buffers one after the other.
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

// What is moved by hand has no gaps when MPI gets it.
MessageType type_for(const Options &options, const SetupPlan &plan) {
  return plan.is_by_hand ? MessageType(plan.size_bytes)
                         : MessageType(plan.size_bytes, options.family.message, options.family.has_large_counts);
}

}  // namespace

SizeSetup::SizeSetup(Session &session, const PairSweep &test, const Party &party, const SetupPlan &plan)
    : traffic_(plan.traffic), rank_(party.rank), type_(type_for(session.options(), plan)) {
  const Options &options = session.options();
  const MessageLayout layout = layout_of(options.family.message, plan.size_bytes);
  send_ = some_buffers(session, layout, std::min(plan.n_most, traffic_.send.size()));
  recv_ = some_buffers(session, layout, std::min(plan.n_most, traffic_.recv.size()));
  Slots slots{traffic_, pointers_of(send_, traffic_.send.size()), pointers_of(recv_, traffic_.recv.size())};
  if (!plan.is_by_hand) {
    const auto make = options.family.has_large_counts ? test.make_large : test.make_direct;
    route_ = make(party, std::move(slots), type_, options.family);
    return;
  }
  if (options.by_hand == ByHand::packing) {
    packer_.emplace(session.module(), session.memory(), layout, options.family.pack_way);
  }
  const StagingPlace place{session.module(), session.memory(), options.naive_staging, packer_ ? &*packer_ : nullptr};
  route_ = test.make_naive(party, place, std::move(slots), type_, options.family);
}

void SizeSetup::prepare(std::uint64_t iteration, std::vector<std::byte> &scratch) {
  for (std::size_t slot = 0; slot < send_.size(); ++slot) {
    send_[slot].fill(sent_by(rank_, iteration, traffic_.send[slot]), scratch);
  }
  for (std::size_t slot = 0; slot < recv_.size(); ++slot) {
    recv_[slot].poison(sent_by(traffic_.recv[slot].peer, iteration, traffic_.recv[slot]), scratch);
  }
}

std::string SizeSetup::verify(std::uint64_t iteration, std::vector<std::byte> &scratch) const {
  std::string wrong_status = route_->verify_statuses();
  if (!wrong_status.empty()) {
    return wrong_status;
  }
  for (std::size_t slot = 0; slot < recv_.size(); ++slot) {
    const Lane &lane = traffic_.recv[slot];
    const std::string wrong = recv_[slot].find_error(sent_by(lane.peer, iteration, lane), scratch);
    if (!wrong.empty()) {
      return fmt::format("received message {}, {}", slot, wrong);
    }
  }
  for (std::size_t slot = 0; slot < send_.size(); ++slot) {
    const std::string wrong = send_[slot].find_error(sent_by(rank_, iteration, traffic_.send[slot]), scratch);
    if (!wrong.empty()) {
      return fmt::format("sent message {} was changed, {}", slot, wrong);
    }
  }
  return "";
}

}  // namespace sluice::bench
