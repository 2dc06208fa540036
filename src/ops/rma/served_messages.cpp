// SPDX-License-Identifier: BSD-3-Clause
// What this rank does for others that ask.
#include <algorithm>
#include <exception>
#include <iterator>
#include <string>
#include <utility>

#include "base/bad_peer.hpp"
#include "base/log.hpp"
#include "ops/rma/answer.hpp"
#include "ops/rma/messages.hpp"
#include "wire/channel.hpp"
#include "wire/host.hpp"
#include "wire/status.hpp"

namespace sluice::ops::rma {
namespace {

using transfer::WindowAction;

// Messages that have come and are not served yet, of all ranks.
constexpr std::size_t kMostIncoming = 32;

}  // namespace

bool Messages::advance() {
  const std::unique_lock lock(mutex_, std::try_to_lock);
  if (!lock.owns_lock()) return false;  // a thread of the program is at it; the next turn comes soon
  if (is_over_) return true;
  try {
    receive();
    serve();
    serve_waiting();
    settle_answers();
    settle();
  } catch (const std::exception &error) {
    log::warn_once("window_memory", "ops", std::string("a window's messages wait for memory: ") + error.what());
  }
  return false;
}

// A message is received without blocking: its sender may need this process meanwhile.
void Messages::receive() {
  const wire::Host &host = wire::host();
  while (incoming_.size() < kMostIncoming) {
    int is_there = 0;
    MPI_Message message = MPI_MESSAGE_NULL;
    MPI_Status status;
    if (host.MPI_Improbe(MPI_ANY_SOURCE, kRequestTag, comm_, &is_there, &message, &status) != MPI_SUCCESS ||
        is_there == 0) {
      return;
    }
    Incoming &one = incoming_.emplace_back();
    one.source = status.MPI_SOURCE;
    // A longer one is none of ours: what is received of it is an error, which drops it.
    one.bytes.resize(std::min<std::uint64_t>(wire::announced_bytes(status), transfer::kMostWindowMessageBytes));
    if (host.MPI_Imrecv(one.bytes.data(), static_cast<int>(one.bytes.size()), MPI_BYTE, &message, &one.received) !=
        MPI_SUCCESS) {
      log::warn_once("window_receive", "ops", "the host MPI could not receive a message of a window");
      incoming_.pop_back();
      return;
    }
  }
}

// In the order in which they came: MPI orders the accumulates of a rank.
void Messages::serve() {
  while (!incoming_.empty()) {
    Incoming &first = incoming_.front();
    int is_there = 1;
    if (!first.is_there && wire::host().MPI_Test(&first.received, &is_there, MPI_STATUS_IGNORE) != MPI_SUCCESS) {
      first.bytes.clear();
    }
    if (is_there == 0) return;
    first.is_there = true;
    if (!serve(first)) return;
    incoming_.pop_front();
  }
}

bool Messages::serve(const Incoming &incoming) {
  transfer::WindowMessage message;
  const std::uint64_t nonce = wire::Channel::process().nonce();
  const bool is_sound = transfer::decode(incoming.bytes, nonce, &message);
  const transfer::WindowHeader &header = message.header;
  if (header.nonce != nonce || header.reply == 0 || header.reply > kMostReply) {
    // Whom an answer would go to it does not say.
    log::warn_once("window_message", "ops", "a message of a window makes no sense, and was dropped");
    return true;
  }
  if (!is_sound) {
    answer(incoming.source, header.reply, bad_peer("a message of a window makes no sense"), {});
    return true;
  }
  std::vector<std::byte> data;
  Status status;
  bool is_answered = true;
  if (header.action >= WindowAction::kLock) {
    status = serve_synchronisation(header, incoming.source, &is_answered);
  } else if (!memory_->serve(message, locks_->of(rank_), &data, &status)) {
    return false;
  }
  if (is_answered) answer(incoming.source, header.reply, status, data);
  return true;
}

Status Messages::serve_synchronisation(const transfer::WindowHeader &header, int source, bool *is_answered) {
  Peer &peer = peers_[static_cast<std::size_t>(source)];
  switch (header.action) {
    case WindowAction::kPost:
      ++peer.n_posts;
      return {};
    case WindowAction::kComplete:
      ++peer.n_completes;
      return {};
    case WindowAction::kLock:
      if (peer.is_locked) break;
      peer.is_locked = true;
      peer.is_alone = header.flag != 0;
      waiting_.push_back({source, header.reply, LockHold(locks_->of(rank_), peer.is_alone)});
      *is_answered = false;
      return {};
    default:  // kUnlock
      if (!peer.is_locked || !peer.has_lock) break;
      peer.is_locked = peer.has_lock = false;
      LockHold(locks_->of(rank_), peer.is_alone).give_back();
      return {};
  }
  return bad_peer("a rank asked for a lock that it has, or gave back one that it has not");
}

void Messages::serve_waiting() {
  for (auto one = waiting_.begin(); one != waiting_.end();) {
    if (!one->hold.try_take()) {
      ++one;
      continue;
    }
    peers_[static_cast<std::size_t>(one->source)].has_lock = true;
    answer(one->source, one->reply, {}, {});
    one = waiting_.erase(one);
  }
}

void Messages::answer(int source, std::uint32_t reply, const Status &status, std::span<const std::byte> data) {
  Answer &one = answers_.emplace_back();
  one.bytes = make_answer(status, data);
  if (wire::host().MPI_Isend(one.bytes.data(), static_cast<int>(one.bytes.size()), MPI_BYTE, source, answer_tag(reply),
                             comm_, &one.sent) != MPI_SUCCESS) {
    log::warn_once("window_answer", "ops", "the host MPI could not send an answer of a window");
    answers_.pop_back();
  }
}

void Messages::settle_answers() {
  for (auto one = answers_.begin(); one != answers_.end();) {
    int is_sent = 0;
    const int code = wire::host().MPI_Test(&one->sent, &is_sent, MPI_STATUS_IGNORE);
    one = code == MPI_SUCCESS && is_sent == 0 ? std::next(one) : answers_.erase(one);
  }
}

}  // namespace sluice::ops::rma
