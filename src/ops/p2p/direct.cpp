// SPDX-License-Identifier: BSD-3-Clause
#include "ops/p2p/direct.hpp"

#include <cstring>
#include <memory>
#include <utility>

#include "base/log.hpp"
#include "base/statistics.hpp"
#include "network/network.hpp"
#include "ops/p2p/control.hpp"
#include "ops/request/turns.hpp"
#include "progress/engine.hpp"
#include "wire/channel.hpp"
#include "wire/host.hpp"
#include "wire/host_failure.hpp"

namespace sluice::ops {
namespace {

// A library that has taken no message for so long is believed to take none, nor to end what nobody receives.
constexpr std::chrono::seconds kPatience{2};

// Slower; said once, and counted.
void fall_back(const Status &why) {
  log::warn_once("network_message", "p2p", why.message() + "; such messages come in blocks instead");
  statistics::record_fallback("network_message");
  network::Network::process().note_failure();
}

// One side has ended. The other may need this process to go on with the library, until it has ended, too, and said so.
// MPI_Finalize waits for all of these.
class Linger final : public progress::Task {
 public:
  Linger(std::unique_ptr<network::Transfer> transfer, std::shared_ptr<Awaited> awaited)
      : transfer_(std::move(transfer)), awaited_(std::move(awaited)) {}

  [[nodiscard]] bool advance() override {
    Status outcome;  // known
    static_cast<void>(transfer_->poll(&outcome));
    if (awaited_->said.load(std::memory_order_acquire) == Said::kNothing) return false;
    ControlListener::process().forget(awaited_.get());
    return true;
  }

 private:
  const std::unique_ptr<network::Transfer> transfer_;
  const std::shared_ptr<Awaited> awaited_;
};

std::shared_ptr<Awaited> await(Control::Kind kind, int peer, int number, std::uint64_t operation) {
  auto awaited = std::make_shared<Awaited>();
  awaited->kind = kind;
  awaited->peer = peer;
  awaited->number = number;
  awaited->operation = operation;
  ControlListener::process().await(awaited);
  return awaited;
}

}  // namespace

void say(Control::Kind kind, int peer, int number, std::uint64_t operation) {
  const Control control{kind, number, operation, 0};
  const int code =
      wire::host().MPI_Send(&control, sizeof control, MPI_BYTE, peer,
                            wire::Channel::tag(wire::PrivateKind::kControl, 0), wire::Channel::process().comm());
  if (code == MPI_SUCCESS) return;
  log::warn_once("direct_end", "p2p",
                 wire::host_failure(code, "tell a rank what became of a message by the network library",
                                    "that rank may wait for ever, so end the job")
                     .message());
}

void OutgoingDirect::begin(const network::Memory &memory, const BlockRoute &route, std::string_view address) {
  memory_ = memory;
  route_ = route;
  address_ = address;
  begin_ = std::chrono::steady_clock::now();
  awaited_ = await(Control::Kind::kDirectCame, route.peer, route.number, route.message.number);
  state_ = State::kOffering;
}

bool OutgoingDirect::advance(bool is_unwanted) {
  if (state_ == State::kOffering) offer();
  if (state_ == State::kSending) {
    Status outcome;
    if (!transfer_->poll(&outcome)) return is_left(is_unwanted);
    if (outcome.is_ok()) {
      span_.end(trace::Lane::kWire, route_.message, {memory_.size_bytes});
      say(Control::Kind::kDirectSent, route_.peer, route_.number, route_.message.number);
      progress::Engine::process().watch(std::make_shared<Linger>(std::move(transfer_), std::move(awaited_)));
      return true;
    }
    give_up(outcome);  // of no interest to a receiver that has it all the same
  }
  return state_ == State::kGivenUp;
}

// The receiver has no use for it any more, so the library may never end it by itself.
bool OutgoingDirect::is_left(bool is_unwanted) {
  if (!is_unwanted || std::chrono::steady_clock::now() - begin_ <= kPatience) return false;
  give_up(Status::error(ErrorKind::kBackend, "the network library has not ended a message; set SLUICE_NETWORK=off"));
  return true;
}

void OutgoingDirect::offer() {
  network::Provider *const provider = network::Network::process().opened();
  if (provider == nullptr) {
    return give_up(Status::error(ErrorKind::kInternal, "the network library is closed; report this"));
  }
  const Status status = provider->send(memory_, route_.peer, address_, network_tag(route_.message), &transfer_);
  if (!status.is_ok()) return give_up(status);
  if (transfer_ != nullptr) {
    span_.begin();
    state_ = State::kSending;
  } else if (std::chrono::steady_clock::now() - begin_ > kPatience) {
    give_up(Status::error(ErrorKind::kBackend,
                          "the network library has taken no message for 2 seconds; set SLUICE_NETWORK=off"));
  }
}

// The receiver then asks for blocks.
void OutgoingDirect::give_up(const Status &why) {
  fall_back(why);
  state_ = State::kGivenUp;
  transfer_.reset();
  ControlListener::process().forget(awaited_.get());
  say(Control::Kind::kNotDirect, route_.peer, route_.number, route_.message.number);
}

IncomingDirect::~IncomingDirect() {
  if (awaited_ != nullptr) ControlListener::process().forget(awaited_.get());
}

Status IncomingDirect::begin(network::Provider *provider, const network::Memory &memory, const Descriptor &descriptor,
                             const BlockRoute &route) {
  size_bytes_ = memory.size_bytes;
  route_ = route;
  Status status = provider->receive(memory, network_tag(route.message), &transfer_);
  if (!status.is_ok()) {
    fall_back(status);
    return status;
  }
  awaited_ = await(Control::Kind::kDirectSent, descriptor.sender, descriptor.number, descriptor.operation);
  span_.begin();
  status = ask(provider->address(), descriptor);
  if (!status.is_ok()) awaited_->said.store(Said::kNotDirect);  // advance() ends the receive
  return {};
}

Status IncomingDirect::ask(std::string_view address, const Descriptor &descriptor) {
  const Control control{Control::Kind::kDirect, descriptor.number, descriptor.operation, 0};
  question_.resize(sizeof control + address.size());
  std::memcpy(question_.data(), &control, sizeof control);
  std::memcpy(question_.data() + sizeof control, address.data(), address.size());
  const int code = wire::host().MPI_Isend(question_.data(), static_cast<int>(question_.size()), MPI_BYTE,
                                          descriptor.sender, wire::Channel::tag(wire::PrivateKind::kControl, 0),
                                          wire::Channel::process().comm(), &request_);
  return code == MPI_SUCCESS ? Status() : wire::host_failure(code, "ask a sender for its message");
}

bool IncomingDirect::advance() {
  const bool is_refused = awaited_->said.load(std::memory_order_acquire) == Said::kNotDirect;
  if (is_refused && !std::exchange(is_cancelled_, true)) transfer_->cancel();
  if (!transfer_->poll(&outcome_)) return false;
  if (outcome_.is_ok()) {
    span_.end(trace::Lane::kWire, route_.message, {size_bytes_});
  } else if (!is_cancelled_) {
    fall_back(outcome_);  // otherwise the sender has said it
  }
  if (is_cancelled_) return true;  // the sender has ended, too
  say(Control::Kind::kDirectCame, route_.peer, route_.number, route_.message.number);
  progress::Engine::process().watch(std::make_shared<Linger>(std::move(transfer_), std::move(awaited_)));
  return true;
}

bool IncomingDirect::is_over() {
  return ops::is_over(&request_);
}

}  // namespace sluice::ops
