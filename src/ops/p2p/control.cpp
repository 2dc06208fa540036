// SPDX-License-Identifier: BSD-3-Clause
#include "ops/p2p/control.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "base/log.hpp"
#include "ops/p2p/block_stream.hpp"
#include "ops/p2p/direct.hpp"
#include "ops/p2p/outgoing.hpp"
#include "ops/p2p/permissions.hpp"
#include "wire/channel.hpp"
#include "wire/host.hpp"
#include "wire/status.hpp"

namespace sluice::ops {
namespace {

// What one side of a message by the network library says of its end.
bool is_of_the_end(Control::Kind kind) noexcept {
  return kind == Control::Kind::kNotDirect || kind == Control::Kind::kDirectSent || kind == Control::Kind::kDirectCame;
}

}  // namespace

ControlListener &ControlListener::process() {
  return progress::process_task<ControlListener>();
}

void ControlListener::add(int number, std::shared_ptr<Outgoing> outgoing, bool expects_go) {
  std::shared_ptr<Outgoing> removed;  // goes behind the lock
  const std::scoped_lock lock(mutex_);
  const auto slot = static_cast<std::size_t>(number);
  if (slot >= sends_.size()) sends_.resize(slot + 1);
  // One that the host MPI ended with an error has left its place behind.
  removed = take(slot);
  sends_[slot] = {std::move(outgoing), expects_go};
  ++n_sends_;
  if (expects_go) n_expecting_.fetch_add(1, std::memory_order_relaxed);
  come();
}

void ControlListener::remove(int number) noexcept {
  std::shared_ptr<Outgoing> removed;  // goes behind the lock
  const std::scoped_lock lock(mutex_);
  removed = take(static_cast<std::size_t>(number));
}

std::shared_ptr<Outgoing> ControlListener::take(std::size_t slot) noexcept {
  if (slot >= sends_.size() || sends_[slot].outgoing == nullptr) return nullptr;
  if (sends_[slot].expects_go) n_expecting_.fetch_sub(1, std::memory_order_relaxed);
  --n_sends_;
  return std::exchange(sends_[slot].outgoing, nullptr);
}

void ControlListener::await(std::shared_ptr<Awaited> awaited) {
  const std::scoped_lock lock(mutex_);
  awaited_.push_back(std::move(awaited));
  come();
}

void ControlListener::forget(const Awaited *awaited) noexcept {
  const std::scoped_lock lock(mutex_);
  std::erase_if(awaited_, [=](const std::shared_ptr<Awaited> &known) { return known.get() == awaited; });
}

void ControlListener::note_said(const Control &control, int from) noexcept {
  const std::scoped_lock lock(mutex_);
  const bool is_refusal = control.kind == Control::Kind::kNotDirect;
  for (const std::shared_ptr<Awaited> &known : awaited_) {
    const bool is_meant = known->kind == (is_refusal ? Control::Kind::kDirectSent : control.kind);
    if (is_meant && known->peer == from && known->number == control.number && known->operation == control.operation) {
      known->said.store(is_refusal ? Said::kNotDirect : Said::kEnded, std::memory_order_release);
    }
  }
}

// Probed for, not received ahead of time: a receive that stayed posted between operations would be the only one of ours
// that is there while the program does other things, and partitioned communication of Intel MPI 2021.18 stops for good
// when any receive is pending on any communicator (docs/protocol.md, "Messages").
int ControlListener::look(bool *has_heard) {
  const wire::Host &host = wire::host();
  const wire::Channel &channel = wire::Channel::process();
  int is_there = 0;
  MPI_Message message = MPI_MESSAGE_NULL;
  // Room for an address behind the words; what is longer is none of ours, and the host MPI cuts it.
  std::array<char, kMostControlBytes> words;  // NOLINT(cppcoreguidelines-pro-type-member-init): received into
  MPI_Status status;
  int code = host.MPI_Improbe(MPI_ANY_SOURCE, wire::Channel::tag(wire::PrivateKind::kControl, 0), channel.comm(),
                              &is_there, &message, &status);
  if (code == MPI_SUCCESS && is_there != 0) {
    code = host.MPI_Mrecv(words.data(), static_cast<int>(words.size()), MPI_BYTE, &message, &status);
    const std::uint64_t came_bytes = code == MPI_SUCCESS ? wire::received_bytes(status) : 0;
    Control control;
    if (came_bytes >= sizeof control && came_bytes <= words.size()) {
      std::memcpy(&control, words.data(), sizeof control);
      dispatch(control, status.MPI_SOURCE, {words.data() + sizeof control, came_bytes - sizeof control});
    }
  }
  if (code != MPI_SUCCESS) log::warn_once("control", "p2p", "the host MPI could not receive a control message");
  *has_heard = code == MPI_SUCCESS && is_there != 0;
  return code;
}

bool ControlListener::advance() {
  if (n_expecting_.load(std::memory_order_relaxed) > 0 || ++n_turns_ % kSeldom == 0) {
    bool has_heard = true;
    for (unsigned n = 0; n < kMostInTurn && has_heard; ++n) look(&has_heard);
  }
  const std::scoped_lock lock(mutex_);
  return may_go(n_sends_ == 0 && awaited_.empty());
}

// `from` is a rank of MPI_COMM_WORLD: the channel has its order. Of what else a control message says nothing is used
// before the send that it is about has compared it with its own.
void ControlListener::dispatch(const Control &control, int from, std::string_view address) {
  if (control.kind == Control::Kind::kMayDescribe) return Permissions::process().note_granted(from);
  if (is_of_the_end(control.kind)) return note_said(control, from);
  std::shared_ptr<Outgoing> outgoing;
  {
    const std::scoped_lock lock(mutex_);
    const auto slot = static_cast<std::size_t>(control.number);  // a negative one is beyond all
    if (slot < sends_.size()) outgoing = sends_[slot].outgoing;
  }
  switch (control.kind) {
    case Control::Kind::kTaken:
      if (outgoing != nullptr) outgoing->note_taken(control, from);
      return;
    case Control::Kind::kGo:
    case Control::Kind::kRelay:
      if (outgoing == nullptr || !outgoing->go(control, from)) refuse(control.number, from);
      return;
    case Control::Kind::kDirect:
      // Who asks so for a message that is not there hears that, and asks for blocks.
      if (outgoing == nullptr || !outgoing->go_directly(control, from, address)) {
        say(Control::Kind::kNotDirect, from, control.number, control.operation);
      }
      return;
    case Control::Kind::kMayDescribe:
    case Control::Kind::kNotDirect:
    case Control::Kind::kDirectSent:
    case Control::Kind::kDirectCame:
      break;
  }
}

// A receiver that asks for a message which is not there would wait for its blocks for ever. An empty one ends that.
void ControlListener::refuse(int number, int from) {
  const wire::Channel &channel = wire::Channel::process();
  log::warn_once("control", "p2p", "another rank asks for a message that was not sent to it");
  if (number <= 0 || number > channel.most_number()) return;
  send_no_block(from, number);
}

}  // namespace sluice::ops
