// SPDX-License-Identifier: BSD-3-Clause
#include "ops/coll/fold/fold_group.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>

#include "ops/comm/comm_state.hpp"
#include "wire/channel.hpp"
#include "wire/host.hpp"
#include "wire/host_failure.hpp"

namespace sluice::ops::coll {
namespace {

struct FoldsOfComm {
  static constexpr CommPart kPart = CommPart::kFolds;
  FoldGroupPtr group;
};

}  // namespace

Status FoldGroup::of(MPI_Comm comm, FoldGroupPtr *group) {
  group->reset();
  if (!is_within_channel(comm)) return {};
  const CommStatePtr state = state_of(comm);
  if (state == nullptr) {
    return Status::error(ErrorKind::kOutOfMemory,
                         "no memory for what belongs to a communicator; lower the program's own use of memory");
  }
  FoldGroupPtr &known = state->part<FoldsOfComm>().group;
  if (known == nullptr) {
    const auto made = std::make_shared<FoldGroup>(state->world_ranks);
    if (Status status = made->begin(comm); !status.is_ok()) return status;
    progress::Engine::process().watch(made);
    known = made;
  }
  *group = known;
  return {};
}

// The first member gives the tag: from its own share of all tags, one after the other, so that no two communicators
// have the same. (Shares are used again from the beginning when they are used up: after 2^28 communicators over all
// ranks, with the tags of the host MPIs that we know.)
Status FoldGroup::begin(MPI_Comm comm) {
  static std::atomic<unsigned> n_given{0};
  const wire::Channel &channel = wire::Channel::process();
  const int share = std::max(channel.largest_tag() / channel.size(), 1);
  const bool gives = world_ranks_.front() == channel.rank();
  if (gives) tag_ = channel.rank() * share + static_cast<int>(n_given.fetch_add(1) % static_cast<unsigned>(share));
  const int code = wire::host().MPI_Ibcast(&tag_, 1, MPI_INT, 0, comm, &asking_);
  return wire::host_status(code, "give the reductions of a communicator in rank order their tag");
}

bool FoldGroup::advance() {
  const std::scoped_lock lock(mutex_);
  int is_done = 0;
  failure_ = wire::host().MPI_Test(&asking_, &is_done, MPI_STATUS_IGNORE);
  if (failure_ != MPI_SUCCESS) asking_ = MPI_REQUEST_NULL;
  return asking_ == MPI_REQUEST_NULL;
}

bool FoldGroup::is_turn_of(const void *call, int *code) {
  const std::scoped_lock lock(mutex_);
  if (asking_ != MPI_REQUEST_NULL) return false;
  *code = failure_;
  return failure_ != MPI_SUCCESS || order_.is_turn(call);
}

PendingFold::PendingFold(FoldGroupPtr group, const void *name, const Call &call, const Member &member)
    : group_(std::move(group)), name_(name), rank_(static_cast<std::size_t>(member.rank)), fold_(call, member) {}

// A message that fails here does not end the call: the others wait in the next exchange. What has no elements is no
// message, on both sides.
void PendingFold::exchange(const FoldExchange &wanted) {
  const wire::Host &host = wire::host();
  const MPI_Comm comm = wire::Channel::process().rank_order_comm();
  const auto *const from = static_cast<const std::byte *>(wanted.from);
  auto *const to = static_cast<std::byte *>(wanted.to);
  requests_.clear();
  requests_.reserve(2 * wanted.n_ranks);
  const auto keep = [&](int code, MPI_Request request) {
    note(code);
    if (code == MPI_SUCCESS) requests_.push_back(request);
  };
  for (std::size_t rank = 0; rank < wanted.n_ranks; ++rank) {
    if (rank == rank_ || wanted.received[rank] == 0) continue;
    MPI_Request request = MPI_REQUEST_NULL;
    const int code = host.MPI_Irecv(to + wanted.bytes(wanted.places[rank]), wanted.received[rank], wanted.type,
                                    group_->world_rank(rank), group_->tag(), comm, &request);
    keep(code, request);
  }
  for (std::size_t rank = 0; rank < wanted.n_ranks; ++rank) {
    if (rank == rank_ || wanted.sent[rank] == 0) continue;
    MPI_Request request = MPI_REQUEST_NULL;
    const int code = host.MPI_Isend(from + wanted.bytes(wanted.sent_places[rank]), wanted.sent[rank], wanted.type,
                                    group_->world_rank(rank), group_->tag(), comm, &request);
    keep(code, request);
  }
  if (wanted.sent[rank_] != 0) {
    std::memcpy(to + wanted.bytes(wanted.places[rank_]), from + wanted.bytes(wanted.sent_places[rank_]),
                wanted.bytes(wanted.sent[rank_]));
  }
}

bool PendingFold::is_exchanged() {
  int is_done = 0;
  const int code =
      wire::host().MPI_Testall(static_cast<int>(requests_.size()), requests_.data(), &is_done, MPI_STATUSES_IGNORE);
  note(code);
  return code != MPI_SUCCESS || is_done != 0;
}

bool PendingFold::advance(int *code) {
  if (phase_ == Phase::kWaiting) {
    int failure = MPI_SUCCESS;
    if (!group_->is_turn_of(name_, &failure)) return false;
    note(failure);
    if (failure != MPI_SUCCESS) {
      phase_ = Phase::kDone;
    } else {
      exchange(fold_.gather());
      phase_ = Phase::kGathering;
    }
  }
  while (phase_ != Phase::kDone && is_exchanged()) {
    if (phase_ == Phase::kGathering) {
      note(fold_.fold());
      exchange(fold_.spread());
      phase_ = Phase::kSpreading;
    } else if (fold_.next()) {
      exchange(fold_.gather());
      phase_ = Phase::kGathering;
    } else {
      phase_ = Phase::kDone;
    }
  }
  if (phase_ != Phase::kDone) return false;
  *code = first_error_;
  return true;
}

}  // namespace sluice::ops::coll
