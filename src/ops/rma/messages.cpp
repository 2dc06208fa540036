// SPDX-License-Identifier: BSD-3-Clause
// What this rank asks others, and what it makes of their answers. What it does for others: served_messages.cpp.
#include "ops/rma/messages.hpp"

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

#include "ops/rma/answer.hpp"
#include "ops/rma/side.hpp"
#include "wire/channel.hpp"
#include "wire/host.hpp"
#include "wire/host_failure.hpp"
#include "wire/status.hpp"

namespace sluice::ops::rma {
namespace {

using transfer::WindowAction;

// Messages of this rank that may be unanswered; each holds up to two blocks of memory.
constexpr std::uint32_t kMostUnanswered = 64;

std::uint64_t answer_bytes_of(const transfer::WindowHeader &header) noexcept {
  const bool is_answered = header.action == WindowAction::kGet || header.action == WindowAction::kSwap ||
                           (header.action == WindowAction::kUpdate && header.flag != 0);
  return is_answered ? header.payload_bytes : 0;
}

}  // namespace

Messages::Messages(MPI_Comm comm, int rank, int n_ranks, OwnMemory *memory, Locks *locks)
    : comm_(comm), rank_(rank), memory_(memory), locks_(locks), peers_(static_cast<std::size_t>(n_ranks)) {
  for (std::uint32_t reply = kMostUnanswered; reply != 0; --reply) free_replies_.push_back(reply);
}

Status Messages::ask(int target, transfer::WindowHeader header, std::span<const transfer::Block> runs,
                     std::span<const std::byte> operand, const AskedPtr &asked, std::uint64_t position) {
  Status status;
  progress::turn_until([&] { return try_ask(target, header, runs, operand, asked, position, &status); });
  return status;
}

bool Messages::has_room() {
  const std::scoped_lock lock(mutex_);
  return !free_replies_.empty();
}

bool Messages::try_ask(int target, transfer::WindowHeader header, std::span<const transfer::Block> runs,
                       std::span<const std::byte> operand, const AskedPtr &asked, std::uint64_t position,
                       Status *status) {
  const std::scoped_lock lock(mutex_);
  if (free_replies_.empty()) return false;
  header.nonce = wire::Channel::process().nonce();
  header.operand_bytes = operand.size();
  Unanswered one;
  one.target = target;
  one.position = position;
  one.asked = asked;
  one.answer_bytes = answer_bytes_of(header);
  one.answer.resize(sizeof(AnswerHeader) + std::max<std::uint64_t>(one.answer_bytes, kMostAnswerText));
  one.reply = free_replies_.back();
  header.reply = one.reply;
  one.message = transfer::encode(header, runs);
  if (!operand.empty()) {
    std::memcpy(one.message.data() + one.message.size() - operand.size(), operand.data(), operand.size());
  }
  unanswered_.push_back(std::move(one));
  *status = send(&unanswered_.back());
  if (!status->is_ok()) {
    unanswered_.pop_back();
    return true;
  }
  free_replies_.pop_back();
  ++peers_[static_cast<std::size_t>(target)].n_unanswered;
  ++asked->n_unanswered;
  return true;
}

Status Messages::send(Unanswered *one) {
  const wire::Host &host = wire::host();
  int code = host.MPI_Irecv(one->answer.data(), static_cast<int>(one->answer.size()), MPI_BYTE, one->target,
                            answer_tag(one->reply), comm_, &one->received);
  if (code != MPI_SUCCESS) return wire::host_failure(code, "post the receive of an answer for a window");
  code = host.MPI_Isend(one->message.data(), static_cast<int>(one->message.size()), MPI_BYTE, one->target, kRequestTag,
                        comm_, &one->sent);
  if (code == MPI_SUCCESS) return {};
  if (host.MPI_Cancel(&one->received) == MPI_SUCCESS) {
    static_cast<void>(host.MPI_Wait(&one->received, MPI_STATUS_IGNORE));
  }
  return wire::host_failure(code, "send a message of a window");
}

void Messages::close(const AskedPtr &asked, const Status &why) {
  const std::scoped_lock lock(mutex_);
  asked->is_all_asked = true;
  if (!why.is_ok() && asked->outcome.is_ok()) asked->outcome = why;
  if (asked->n_unanswered == 0) finish(asked);
}

bool Messages::is_quiet(int target) {
  const std::scoped_lock lock(mutex_);
  return target < 0 ? unanswered_.empty() : peers_[static_cast<std::size_t>(target)].n_unanswered == 0;
}

Status Messages::take_failure() {
  const std::scoped_lock lock(mutex_);
  return std::exchange(failure_, Status());
}

void Messages::note_failure(const Status &failure) {
  const std::scoped_lock lock(mutex_);
  if (failure_.is_ok()) failure_ = failure;
}

bool Messages::take_post(int rank) {
  const std::scoped_lock lock(mutex_);
  std::uint32_t &n_posts = peers_[static_cast<std::size_t>(rank)].n_posts;
  if (n_posts == 0) return false;
  --n_posts;
  return true;
}

bool Messages::take_completes(std::span<const int> ranks) {
  const std::scoped_lock lock(mutex_);
  const auto completes = [this](int rank) -> std::uint32_t & {
    return peers_[static_cast<std::size_t>(rank)].n_completes;
  };
  if (!std::all_of(ranks.begin(), ranks.end(), [&](int rank) { return completes(rank) != 0; })) return false;
  for (const int rank : ranks) --completes(rank);
  return true;
}

bool Messages::has_answered_all() {
  const std::scoped_lock lock(mutex_);
  return answers_.empty();
}

void Messages::end() {
  const std::scoped_lock lock(mutex_);
  is_over_ = true;
}

// Looks at the answers that have come.
void Messages::settle() {
  for (auto one = unanswered_.begin(); one != unanswered_.end();) {
    int is_sent = 1;
    int is_received = 0;
    MPI_Status status;
    int code = MPI_SUCCESS;
    if (one->received != MPI_REQUEST_NULL) {
      code = wire::host().MPI_Test(&one->received, &is_received, &status);
      if (code == MPI_SUCCESS && is_received == 0) {
        ++one;
        continue;
      }
      if (code == MPI_SUCCESS) one->answer.resize(wire::received_bytes(status));
      take_answer(&*one, code);
      one->received = MPI_REQUEST_NULL;
    }
    // Who has answered has read it.
    if (wire::host().MPI_Test(&one->sent, &is_sent, MPI_STATUS_IGNORE) == MPI_SUCCESS && is_sent == 0) {
      ++one;
      continue;
    }
    --peers_[static_cast<std::size_t>(one->target)].n_unanswered;
    free_replies_.push_back(one->reply);
    const AskedPtr asked = std::move(one->asked);
    one = unanswered_.erase(one);
    if (--asked->n_unanswered == 0 && asked->is_all_asked) finish(asked);
  }
}

// Nothing of an answer is believed: it is as long as it was asked for, or an error with a text.
void Messages::take_answer(Unanswered *one, int code) {
  Asked &asked = *one->asked;
  std::span<const std::byte> data;
  Status status = code == MPI_SUCCESS ? read_answer(one->answer, one->answer_bytes, &data)
                                      : wire::host_failure(code, "bring the answer to a message of a window");
  if (status.is_ok() && !data.empty() && asked.result.layout != nullptr) {
    if (asked.result.layout->is_contiguous) {
      transfer::Region part = asked.result;
      part.origin += one->position;
      part.count = 1;
      part.layout = std::make_shared<transfer::Layout>(transfer::Layout::basic(data.size()));
      status = write_payload(part, data.size(), data.data());
    } else {
      std::memcpy(asked.packed.data() + one->position, data.data(), data.size());
    }
  }
  if (!status.is_ok() && asked.outcome.is_ok()) asked.outcome = std::move(status);
}

void Messages::finish(const AskedPtr &asked) {
  if (asked->outcome.is_ok() && !asked->packed.empty()) {
    asked->outcome = write_payload(asked->result, asked->packed.size(), asked->packed.data());
  }
  if (asked->outcome.is_ok()) asked->span.end(trace::Lane::kWire, asked->message, {asked->size_bytes});
  if (asked->request != nullptr) {
    asked->request->complete(asked->outcome);
  } else if (!asked->has_owner && !asked->outcome.is_ok() && failure_.is_ok()) {
    failure_ = asked->outcome;
  }
  asked->is_done.store(true, std::memory_order_release);
}

}  // namespace sluice::ops::rma
