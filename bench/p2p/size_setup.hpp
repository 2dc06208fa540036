// SPDX-License-Identifier: BSD-3-Clause
// The memory and the calls of one route of a point-to-point test at one size.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "bench/memory/message_buffer.hpp"
#include "bench/memory/packer.hpp"
#include "bench/mpi/message_type.hpp"
#include "bench/p2p/sweep.hpp"
#include "bench/session.hpp"

namespace sluice::bench {

// What is set up: the messages, and whether they are handed to MPI or moved by hand.
struct SetupPlan {
  std::uint64_t size_bytes = 0;
  Traffic traffic;
  std::size_t n_most = 1;  // buffers for each direction
  bool is_by_hand = false;
};

class SizeSetup {
 public:
  // session and test outlive it. Throws DeviceError and MpiError.
  SizeSetup(Session &session, const PairSweep &test, const Party &party, const SetupPlan &plan);
  SizeSetup(const SizeSetup &) = delete;
  SizeSetup &operator=(const SizeSetup &) = delete;

  RouteRun &route() { return *route_; }
  // Who packs messages by hand, as Packer::way(); "" when nobody does.
  std::string packed_by() const { return packer_ ? packer_->way() : ""; }

  // Writes what iteration `iteration` sends, and poisons what it receives; touches all memory. Throws DeviceError.
  void prepare(std::uint64_t iteration, std::vector<std::byte> &scratch);
  // What is wrong afterwards: statuses, then the first byte of what was received and of what was sent; "". Each message
  // has a buffer of its own.
  std::string verify(std::uint64_t iteration, std::vector<std::byte> &scratch) const;

 private:
  Traffic traffic_;
  int rank_;
  MessageType type_;
  std::vector<MessageBuffer> send_;
  std::vector<MessageBuffer> recv_;
  std::optional<Packer> packer_;
  std::unique_ptr<RouteRun> route_;
};

// Setups that iterations take in turn.
using SetupRing = std::vector<std::unique_ptr<SizeSetup>>;

}  // namespace sluice::bench
