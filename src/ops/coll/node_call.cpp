// SPDX-License-Identifier: BSD-3-Clause
#include "ops/coll/node_call.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <utility>

#include "base/log.hpp"
#include "wire/channel.hpp"

namespace sluice::ops::coll {

using transfer::Board;
using transfer::Ending;
using transfer::Published;
using transfer::Region;
using transfer::StridedBlock;

template <typename Body>
NodeCall::Moved NodeCall::contained(Body body) {
  try {
    return body();
  } catch (const std::exception &error) {
    return failed(
        Status::error(ErrorKind::kOutOfMemory, std::string("out of memory inside Sluice (") + error.what() + ")"));
  }
}

void NodeCall::describe(const Status &classified) {
  own_ = contained([&]() -> Moved {
    Status status = offer_.fill(call_, member_, sides_, classified);
    return status.is_ok() ? Moved() : failed(std::move(status));
  });
  if (own_.ending != Ending::kGood) offer_.published.state = Published::State::kFailed;
}

void NodeCall::publish() noexcept {
  board_.publish(number_, offer_.published, offer_.described);
  phase_ = Phase::kPublished;
}

void NodeCall::advance() {
  Step step;
  if (phase_ == Phase::kPublished && board_.have_all_published(number_)) decide();
  if (phase_ == Phase::kPulling || phase_ == Phase::kInChain) {
    const Moved moved = contained([&]() -> Moved {
      step = phase_ == Phase::kPulling ? go_on_pulling() : go_on_in_chain();
      return step.value_or(Moved());
    });
    if (step || moved.ending != Ending::kGood) end(moved);
  }
  if (phase_ == Phase::kEnding && board_.have_all_ended(number_)) settle();
}

void NodeCall::decide() {
  plan::JointPlan plan;
  const Moved planned = contained([&]() -> Moved {
    plan = agree();
    if (log::level() >= log::Level::kDebug) {
      log::debug("plan",
                 fmt::format("{}: {}", name(call_.operation), explain(static_cast<std::size_t>(member_.size), plan)));
    }
    return {};
  });
  if (planned.ending != Ending::kGood) return end(planned);
  if (plan.joint == plan::Joint::kStaged || plan.joint == plan::Joint::kFail) {
    int rank = 0;
    if (plan.joint == plan::Joint::kFail) {
      while (rank + 1 < member_.size && board_.published(number_, rank).state != Published::State::kFailed) ++rank;
      failure_ = failure_of(own_.why, rank);
    }
    board_.end(number_, Ending::kGood);  // nobody waits for it, but the slot is to be used again
    return settle_as(plan.joint == plan::Joint::kFail ? Outcome::kFailed : Outcome::kStaged);
  }
  Step step;
  const Moved begun = contained([&]() -> Moved {
    step = plan.joint == plan::Joint::kChain ? begin_chain() : begin_pull();
    return step.value_or(Moved());
  });
  if (step || begun.ending != Ending::kGood) return end(begun);
  phase_ = plan.joint == plan::Joint::kChain ? Phase::kInChain : Phase::kPulling;
}

plan::JointPlan NodeCall::agree() const {
  std::vector<Published> all;
  std::vector<plan::Offer> offers;
  all.reserve(static_cast<std::size_t>(member_.size));  // the names in the offers lie in there
  for (int rank = 0; rank < member_.size; ++rank) {
    const Published &said = all.emplace_back(board_.published(number_, rank));
    offers.push_back({said.state == Published::State::kFailed, said.state == Published::State::kTakesPart, said.feeds,
                      said.backend_name(), said.largest_bytes, said.broadcast_bytes});
  }
  const bool is_broadcast = call_.pattern == Pattern::kBroadcast;
  plan::JointQuery query{is_broadcast, wire::Channel::process().terms().threshold_bytes, 0};
  if (is_broadcast && call_.root >= 0 && call_.root < member_.size) {
    query.chunk_bytes = all[static_cast<std::size_t>(call_.root)].chunk_bytes;
  }
  return choose_joint(offers, query);
}

// The first byte of the allocation that `source` published, for queues of the device that is copied to.
Status NodeCall::reach(int source, const Published &published, const std::byte **base) {
  if (source == member_.rank) {
    *base = reinterpret_cast<const std::byte *>(static_cast<std::uintptr_t>(offer_.published.base_address));
    return {};
  }
  const device::Place &place = place_of_wanted();
  const device::ExportOrigin origin{static_cast<std::uint64_t>(group_.world_rank(source)), published.base_address,
                                    published.allocation_bytes};
  device::ImportedPtr imported;
  Status status =
      device::IpcImports::process().open(place.backend, std::max(place.device, 0), published.handle, origin, &imported);
  if (!status.is_ok()) return status;
  *base = imported->base();
  imported_.push_back(std::move(imported));
  return {};
}

NodeCall::Step NodeCall::begin_pull() {
  std::vector<sluice_copy_t> copies;
  for (const NodeBlocks::Wanted &wanted : offer_.blocks.wanted) {
    const Published source = board_.published(number_, wanted.source);
    const StridedBlock block = board_.block_for_me(number_, wanted.source);
    if (!block.is_within(source.allocation_bytes) || block.size_bytes() != size_of(wanted.region)) {
      return refused(
          Status::error(ErrorKind::kInvalidArgument,
                        "what a rank sends in a collective operation is not as long as what another expects"));
    }
    if (block.n_runs == 0) continue;
    const std::byte *base = nullptr;
    if (Status status = reach(wanted.source, source, &base); !status.is_ok()) return refused(std::move(status));
    add_copies(block, base, wanted.region, &copies);
    bytes_ += block.size_bytes();
  }
  if (copies.empty()) return Moved();
  span_.begin();
  if (Status status = queue_.acquire(place_of_wanted()); !status.is_ok()) return failed(std::move(status));
  if (Status status = copy_.begin(&queue_, copies); !status.is_ok()) return failed(std::move(status));
  return {};
}

NodeCall::Step NodeCall::go_on_pulling() {
  bool is_done = false;
  Status status = copy_.poll(&is_done);
  if (!is_done) return {};
  if (!status.is_ok()) return failed(std::move(status));
  span_.end(trace::Lane::kD2d, {call_.operation}, {bytes_});
  return Moved();
}

// A broadcast: ranks in a row, the root first; each reads from the one before it.
NodeCall::Step NodeCall::begin_chain() {
  const Region &region = offer_.blocks.offered.front();
  if (call_.root == member_.rank) {
    board_.set_chunks(
        number_, static_cast<std::uint32_t>(transfer::count_chunks(region.size_bytes(), offer_.published.chunk_bytes)));
    return Moved();
  }
  const Published source = board_.published(number_, rank_before());
  const StridedBlock block = board_.block_for_me(number_, rank_before());
  if (!block.is_within(source.allocation_bytes) || block.n_runs != 1 || block.size_bytes() != region.size_bytes()) {
    return refused(Status::error(ErrorKind::kInternal, "a rank of a broadcast said where no data is"));
  }
  const std::byte *base = nullptr;
  if (Status status = reach(rank_before(), source, &base); !status.is_ok()) return refused(std::move(status));
  bytes_ = region.size_bytes();
  span_.begin();
  chunks_ = std::make_unique<transfer::ChunkedCopy>(sluice_copy_t{region.origin, base + block.offset_bytes, bytes_},
                                                    board_.published(number_, call_.root).chunk_bytes);
  if (Status status = chunks_->open(place_of_wanted()); !status.is_ok()) return failed(std::move(status));
  return {};
}

NodeCall::Step NodeCall::go_on_in_chain() {
  const std::uint32_t n_there = board_.chunks_of(number_, rank_before());
  // The one before it has its reason, and all will hear of it.
  if (n_there == Board::kNoMore) {
    return refused(Status::error(ErrorKind::kBackend, "the rank before this one gave up"));
  }
  if (Status status = chunks_->advance(n_there); !status.is_ok()) return failed(std::move(status));
  board_.set_chunks(number_, static_cast<std::uint32_t>(chunks_->n_copied()));
  if (!chunks_->is_done()) return {};
  span_.end(trace::Lane::kD2d, {call_.operation, rank_before()}, {bytes_});
  return Moved();
}

void NodeCall::end(Moved moved) {
  own_ = std::move(moved);
  // Copies that are under way when it gives up end before the others hear of it.
  chunks_.reset();
  copy_ = device::PendingCopy();
  if (own_.ending != Ending::kGood) board_.set_chunks(number_, Board::kNoMore);
  board_.end(number_, own_.ending);
  phase_ = Phase::kEnding;
}

void NodeCall::settle() {
  imported_.clear();
  int rank = 0;
  switch (board_.outcome(number_, &rank)) {
    case Ending::kGood:
      sides_.send.record(call_.operation, Route::kIpc, watch_.elapsed());
      sides_.recv.record(call_.operation, Route::kIpc, watch_.elapsed());
      return settle_as(Outcome::kDone);
    case Ending::kRefused:
      // What was copied is copied again: nothing that is sent has changed.
      if (own_.ending == Ending::kRefused) {
        log::warn_once("coll_ipc", "ops", own_.why.message() + "; such collective operations are staged instead");
      }
      statistics::record_fallback("coll_ipc");
      return settle_as(Outcome::kStaged);
    case Ending::kFailed:
      break;
  }
  failure_ = failure_of(own_.ending == Ending::kFailed ? own_.why : Status(), rank);
  settle_as(Outcome::kFailed);
}

void NodeCall::settle_as(Outcome outcome) noexcept {
  outcome_ = outcome;
  phase_ = Phase::kSettled;
}

Status NodeCall::failure_of(const Status &own, int rank) const {
  if (!own.is_ok()) return own;
  return Status::error(ErrorKind::kBackend, fmt::format("rank {} of the communicator could not do its part of {}; its "
                                                        "own error says why",
                                                        rank, name(call_.operation)));
}

}  // namespace sluice::ops::coll
