// SPDX-License-Identifier: BSD-3-Clause
// The two ends of a message that a network library carries from one node to another (docs/protocol.md, "Direct"): the
// receiver has its receive posted before it asks the sender to send, and tells it where.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.hpp"
#include "base/trace.hpp"
#include "network/provider.hpp"
#include "ops/p2p/block_stream.hpp"
#include "ops/p2p/control.hpp"
#include "ops/p2p/descriptor.hpp"
#include "wire/mpi.hpp"

namespace sluice::ops {

// The longest control message: one with an address behind it.
inline constexpr std::size_t kMostControlBytes = sizeof(Control) + network::kMostAddressBytes;

// The tag of a message in the network library: messages that are under way at one time have different ones.
[[nodiscard]] constexpr std::uint64_t network_tag(const trace::Message &message) noexcept {
  return std::uint64_t{static_cast<std::uint32_t>(message.sender)} << 32 | (message.number & 0xffffffffU);
}

// Tells the other side of a message what has become of it (transfer/descriptor.hpp, Control). Any thread. Blocks for a
// short message of the host MPI's.
void say(Control::Kind kind, int peer, int number, std::uint64_t operation);

// The sender's end. One thread at a time.
class OutgoingDirect {
 public:
  // Sends `memory`, which stays until advance() is done, to the receiver at `address`. Errors show in advance().
  void begin(const network::Memory &memory, const BlockRoute &route, std::string_view address);
  // True when nobody needs the memory any more; the library is then gone on with until the receiver has it.
  // is_unwanted: the receiver has asked for the message in another way; then what the library does not end within 2
  // seconds is left to it. Never blocks.
  [[nodiscard]] bool advance(bool is_unwanted);

 private:
  enum class State : std::uint8_t { kOffering, kSending, kGivenUp };
  void offer();
  [[nodiscard]] bool is_left(bool is_unwanted);
  void give_up(const Status &why);

  State state_ = State::kGivenUp;
  network::Memory memory_;
  BlockRoute route_;
  std::string address_;
  std::chrono::steady_clock::time_point begin_;
  std::unique_ptr<network::Transfer> transfer_;
  std::shared_ptr<Awaited> awaited_;
  trace::Span span_;
};

// The receiver's end. One thread at a time.
class IncomingDirect {
 public:
  IncomingDirect() noexcept = default;
  ~IncomingDirect();
  IncomingDirect(const IncomingDirect &) = delete;
  IncomingDirect &operator=(const IncomingDirect &) = delete;
  IncomingDirect(IncomingDirect &&) = delete;
  IncomingDirect &operator=(IncomingDirect &&) = delete;

  // Receives the whole message that `descriptor` tells of into `memory`, which stays until advance() is done, and asks
  // for it. Errors: the library refuses; nothing was begun and nothing asked for. kBackend of the host MPI: the same.
  [[nodiscard]] Status begin(network::Provider *provider, const network::Memory &memory, const Descriptor &descriptor,
                             const BlockRoute &route);
  // True when the message is there, or will not come: then it can be had in blocks. Never blocks.
  [[nodiscard]] bool advance();
  // Why it did not come, once advance() is done.
  [[nodiscard]] const Status &outcome() const noexcept { return outcome_; }
  // Once advance() is done: the host MPI needs nothing more of this either.
  [[nodiscard]] bool is_over();

 private:
  [[nodiscard]] Status ask(std::string_view address, const Descriptor &descriptor);

  std::uint64_t size_bytes_ = 0;
  BlockRoute route_;
  std::unique_ptr<network::Transfer> transfer_;
  std::shared_ptr<Awaited> awaited_;
  bool is_cancelled_ = false;
  std::vector<std::byte> question_;
  MPI_Request request_ = MPI_REQUEST_NULL;
  trace::Span span_;
  Status outcome_;
};

}  // namespace sluice::ops
