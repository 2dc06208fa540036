// SPDX-License-Identifier: BSD-3-Clause
#include "ops/p2p/partitioned_match.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <exception>
#include <mutex>
#include <string>
#include <utility>

#include "base/bad_peer.hpp"
#include "base/log.hpp"
#include "ops/comm/comm_state.hpp"
#include "ops/p2p/partitioned_request.hpp"
#include "plan/partitioned.hpp"
#include "plan/policy.hpp"
#include "wire/channel.hpp"
#include "wire/host.hpp"
#include "wire/status.hpp"

namespace sluice::ops {
namespace {

std::mutex order;
std::atomic<std::int64_t> gives_up_at{0};  // by the steady clock, in nanoseconds; 0: never

std::int64_t now_ns() noexcept {
  return std::chrono::steady_clock::now().time_since_epoch() / std::chrono::nanoseconds(1);
}

plan::PartitionedSide side_of(const transfer::Region &region) {
  const device::Place &place = region.place;
  const bool is_device = place.kind == MemoryKind::kDevice && place.backend != nullptr;
  return {place.kind, region.layout->is_contiguous,
          is_device && plan::policy_of(place.backend, place.device).allows_ipc, region.size_bytes()};
}

void log_choice(const plan::PartitionedReason reason) {
  log::debug("plan", [&] { return std::string("a partitioned message goes ") + plan::explain(reason); });
}

int answer_tag(std::int64_t number) noexcept {
  return wire::Channel::tag(wire::PrivateKind::kAcknowledgement, static_cast<int>(number));
}

}  // namespace

PartitionedMatch::InOrder::InOrder() : is_locked_(wire::Channel::process().has_threads()) {
  if (is_locked_) order.lock();
}

PartitionedMatch::InOrder::~InOrder() {
  if (is_locked_) order.unlock();
}

PartitionedMatch::~PartitionedMatch() {
  if (!is_sender_ || offer_.number == 0) return;
  wire::SharedSegment::remove_name(offer_.words);
  wire::Channel::process().give_number(static_cast<int>(offer_.number));
}

bool PartitionedMatch::is_wanted(Route *route) {
  return peer_of(route->comm, route->peer, &route->world_peer) == plan::Peer::kLocal;
}

void PartitionedMatch::give_up_soon() noexcept {
  constexpr std::int64_t kPatienceNs = 1'000'000'000;
  gives_up_at.store(now_ns() + kPatienceNs, std::memory_order_relaxed);
}

int PartitionedMatch::begin(const std::shared_ptr<PartitionedRequest> &request, const transfer::Region &region,
                            int n_partitions) {
  request_ = request;
  has_request_ = request != nullptr;
  if (has_request_) region_ = region;
  if (is_sender_) fill(request.get(), region, n_partitions);
  const wire::Host &host = wire::host();
  const auto [peer, world_peer, tag, comm] = route_;
  const auto length = static_cast<MPI_Count>(sizeof offer_);
  int code = is_sender_ ? host.MPI_Psend_init(&offer_, 1, length, MPI_BYTE, peer, tag, comm, MPI_INFO_NULL, &exchange_)
                        : host.MPI_Precv_init(&offer_, 1, length, MPI_BYTE, peer, tag, comm, MPI_INFO_NULL, &exchange_);
  if (code == MPI_SUCCESS) code = host.MPI_Start(&exchange_);
  if (code == MPI_SUCCESS && is_sender_) code = host.MPI_Pready(0, exchange_);
  if (code == MPI_SUCCESS) progress::Engine::process().watch(shared_from_this());
  return code;
}

// What cannot be had makes the message staged.
void PartitionedMatch::fill(PartitionedRequest *request, const transfer::Region &region, int n_partitions) {
  offer_.nonce = wire::Channel::process().nonce();
  if (!has_request_) return;
  const plan::PartitionedReason reason = plan::judge_side(side_of(region));
  log_choice(reason);
  if (reason != plan::PartitionedReason::kDirect) return;
  const Status status = fill_offer(request, region, n_partitions);
  if (status.is_ok()) {
    offer_.can_go_directly = 1;
    return;
  }
  log::warn_once("partitions", "p2p", status.message() + "; such partitioned messages are staged instead");
  statistics::record_fallback("partitions");
}

Status PartitionedMatch::fill_offer(PartitionedRequest *request, const transfer::Region &region, int n_partitions) {
  if (Status status = PartitionMemory::export_from(region, &offer_.memory); !status.is_ok()) return status;
  offer_.n_partitions = static_cast<std::uint64_t>(n_partitions);
  offer_.size_bytes = region.size_bytes();
  const std::size_t length = std::min(std::strlen(region.place.backend->name()), offer_.backend.size() - 1);
  std::memcpy(offer_.backend.data(), region.place.backend->name(), length);
  if (Status status = request->make_words(&offer_.words); !status.is_ok()) return status;
  int number = 0;
  Status status = wire::Channel::process().take_number(&number);
  if (!status.is_ok()) wire::SharedSegment::remove_name(offer_.words);
  offer_.number = number;
  return status;
}

bool PartitionedMatch::advance() {
  const std::int64_t end = gives_up_at.load(std::memory_order_relaxed);
  if (end != 0 && now_ns() > end) {
    log::warn_once("partitions_unmatched", "p2p", "the other side of a partitioned operation never came");
    return true;
  }
  try {
    return go_on();
  } catch (const std::exception &error) {
    log::warn_once("partitions_memory", "p2p", std::string("a partitioned message is staged: ") + error.what());
    tell(false, nullptr);
    return true;
  }
}

bool PartitionedMatch::go_on() {
  if (state_ == State::kAwaitingAnswer) return look_for_answer();
  int is_done = 0;
  const int code = wire::host().MPI_Test(&exchange_, &is_done, MPI_STATUS_IGNORE);
  if (code == MPI_SUCCESS && is_done == 0) return false;
  if (state_ == State::kAnswering) return true;
  if (wire::host().MPI_Request_free(&exchange_) != MPI_SUCCESS) {
    log::warn_once("partitions_free", "p2p", "the host MPI could not free a partitioned request");
  }
  if (code != MPI_SUCCESS) {
    tell(false, nullptr);
    return true;
  }
  if (!is_sender_) return take_offer();
  state_ = State::kAwaitingAnswer;
  if (offer_.can_go_directly == 0) tell(false, nullptr);
  return offer_.can_go_directly == 0;
}

// True when nothing has to be answered.
bool PartitionedMatch::take_offer() {
  const wire::Channel &channel = wire::Channel::process();
  std::unique_ptr<PartitionTaker> taker;
  const bool is_answerable = offer_.nonce == channel.nonce() && offer_.can_go_directly == 1 && offer_.number > 0 &&
                             offer_.number <= channel.most_number();
  if (is_answerable) {
    if (!request_.expired()) {
      if (const Status status = judge_offer(&taker); !status.is_ok()) {
        log::warn_once("partitions", "p2p", status.message() + "; such partitioned messages are staged instead");
        statistics::record_fallback("partitions");
      }
    }
    answer_ = {channel.nonce(), taker != nullptr ? 1U : 0U, {}};
    if (taker != nullptr) say_where();
    state_ = State::kAnswering;
    if (wire::host().MPI_Isend(&answer_, sizeof answer_, MPI_BYTE, route_.world_peer, answer_tag(offer_.number),
                               channel.comm(), &exchange_) != MPI_SUCCESS) {
      log::warn_once("partitions_answer", "p2p", "the host MPI could not answer the sender of a partitioned message");
      taker.reset();
    }
  }
  const bool is_direct = taker != nullptr;
  tell(is_direct, std::move(taker));
  return !is_answerable;
}

// *taker is left null where the message is to be staged. Errors: why it has to be, though it need not.
Status PartitionedMatch::judge_offer(std::unique_ptr<PartitionTaker> *taker) const {
  const device::Place &place = region_.place;
  const bool is_named = place.backend != nullptr && offer_.backend.back() == '\0' &&
                        std::strcmp(offer_.backend.data(), place.backend->name()) == 0;
  const plan::PartitionedReason reason = plan::decide_partitioned(side_of(region_), true, is_named, offer_.size_bytes);
  log_choice(reason);
  if (reason != plan::PartitionedReason::kDirect) return {};
  if (offer_.n_partitions == 0 || offer_.size_bytes % offer_.n_partitions != 0 || offer_.words.back() != '\0') {
    return bad_peer("the offer of a partitioned message makes no sense");
  }
  device::ImportedPtr imported;
  std::byte *source = nullptr;
  Status status = offer_.memory.import_for(place, route_.world_peer, offer_.size_bytes, &imported, &source);
  if (!status.is_ok()) return status;
  PartitionWords words;
  if (status = words.open(offer_.n_partitions, offer_.words); !status.is_ok()) return status;
  *taker =
      std::make_unique<PartitionTaker>(std::move(words), offer_.n_partitions, std::move(imported), source, region_);
  return {};
}

// What the sender's streams need to copy here by themselves; without it they make partitions ready, and no more.
void PartitionedMatch::say_where() {
  if (region_.place.backend->table().host_register == nullptr) return;
  if (const Status status = PartitionMemory::export_from(region_, &answer_.memory); !status.is_ok()) {
    log::debug("p2p", "the sender's streams do not put partitions here: " + status.message());
  }
}

// Probed for, not received ahead of time, as messages to ControlListener are, and for the same reason.
bool PartitionedMatch::look_for_answer() {
  const wire::Host &host = wire::host();
  const wire::Channel &channel = wire::Channel::process();
  int is_there = 0;
  MPI_Message message = MPI_MESSAGE_NULL;
  MPI_Status status;
  int code =
      host.MPI_Improbe(route_.world_peer, answer_tag(offer_.number), channel.comm(), &is_there, &message, &status);
  if (code == MPI_SUCCESS && is_there == 0) return false;
  if (code == MPI_SUCCESS) code = host.MPI_Mrecv(&answer_, sizeof answer_, MPI_BYTE, &message, &status);
  const bool is_heard = code == MPI_SUCCESS && wire::received_bytes(status) == sizeof answer_;
  tell(is_heard && answer_.nonce == channel.nonce() && answer_.is_direct == 1, nullptr);
  return true;
}

void PartitionedMatch::tell(bool is_direct, std::unique_ptr<PartitionTaker> taker) {
  const auto request = request_.lock();
  if (request == nullptr) return;
  if (!is_direct) return request->go_staged();
  if (is_sender_) {
    request->go_directly(answer_.memory, route_.world_peer);
  } else {
    request->go_directly(std::move(taker));
  }
}

}  // namespace sluice::ops
