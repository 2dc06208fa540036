// SPDX-License-Identifier: BSD-3-Clause
#include "ops/coll/node_call.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <optional>
#include <utility>

#include "base/log.hpp"
#include "base/trace.hpp"
#include "device/ipc_imports.hpp"
#include "ops/coll/node_group.hpp"
#include "ops/coll/node_offer.hpp"
#include "ops/request/collective.hpp"
#include "plan/joint.hpp"
#include "progress/host_turns.hpp"
#include "transfer/chunked_copy.hpp"
#include "wire/channel.hpp"

namespace sluice::ops::coll {
namespace {

using progress::turn_beside_host_until;
using transfer::Ending;
using transfer::Published;
using transfer::Region;
using transfer::StridedBlock;

// How this rank's part ended, and why so.
struct Moved {
  Ending ending = Ending::kGood;
  Status why;
};

Moved refused(Status why) {
  return {Ending::kRefused, std::move(why)};
}

Moved failed(Status why) {
  return {Ending::kFailed, std::move(why)};
}

// Memory ran out on this rank: no reason to leave the others waiting.
template <typename Body>
Moved contained(Body body) {
  try {
    return body();
  } catch (const std::exception &error) {
    return failed(
        Status::error(ErrorKind::kOutOfMemory, std::string("out of memory inside Sluice (") + error.what() + ")"));
  }
}

class NodeCall {
 public:
  NodeCall(const Call &call, const Member &member, const Sides &sides, NodeGroup *group)
      : call_(call), member_(member), sides_(sides), group_(*group), board_(group->board()) {}

  [[nodiscard]] bool carry_out(const Status &classified, int *result);

 private:
  // Plan.
  [[nodiscard]] plan::JointPlan agree() const;
  // Execute.
  [[nodiscard]] Moved pull();
  [[nodiscard]] Moved pull_in_chain();
  [[nodiscard]] Moved copy_in_chain(int before, const sluice_copy_t &copy);
  [[nodiscard]] Status reach(int source, const Published &published, const std::byte **base);
  // Complete.
  [[nodiscard]] bool settle(const Moved &own, statistics::Stopwatch watch, int *result);
  [[nodiscard]] int raise_failure(const Status &own, int rank) const;

  [[nodiscard]] bool is_broadcast() const noexcept { return call_.operation == Operation::kBcast; }
  // Where all that is wanted goes.
  [[nodiscard]] const device::Place &place_of_wanted() const noexcept { return sides_.recv.place(); }

  const Call &call_;
  const Member &member_;
  const Sides &sides_;
  NodeGroup &group_;
  transfer::Board &board_;
  NodeOffer offer_;
  std::vector<device::ImportedPtr> imported_;  // in use until the copies are done
};

bool NodeCall::carry_out(const Status &classified, int *result) {
  const statistics::Stopwatch watch;
  // classify
  Status own;
  const Moved described = contained([&]() -> Moved {
    own = offer_.fill(call_, member_, sides_, classified);
    return own.is_ok() ? Moved() : failed(own);
  });
  if (described.ending != Ending::kGood) offer_.published.state = Published::State::kFailed;
  board_.publish(offer_.published, offer_.described);
  turn_beside_host_until([&] { return board_.have_all_published(); });
  // plan
  const plan::JointPlan plan = agree();
  if (log::level() >= log::Level::kDebug) {
    log::debug("plan",
               fmt::format("{}: {}", name(call_.operation), explain(static_cast<std::size_t>(member_.size), plan)));
  }
  if (plan.joint == plan::Joint::kStaged) {
    group_.note_alone();
    return false;
  }
  if (plan.joint == plan::Joint::kFail) {
    int rank = 0;
    while (rank + 1 < member_.size && board_.published(rank).state != Published::State::kFailed) ++rank;
    *result = raise_failure(described.why, rank);
    return true;
  }
  // execute
  const Moved moved = contained([&] { return plan.joint == plan::Joint::kChain ? pull_in_chain() : pull(); });
  if (moved.ending != Ending::kGood) board_.set_chunks(transfer::Board::kNoMore);
  board_.end(moved.ending);
  turn_beside_host_until([&] { return board_.have_all_ended(); });
  // complete
  return settle(moved, watch, result);
}

plan::JointPlan NodeCall::agree() const {
  std::vector<Published> all;
  std::vector<plan::Offer> offers;
  all.reserve(static_cast<std::size_t>(member_.size));  // the names in the offers lie in there
  for (int rank = 0; rank < member_.size; ++rank) {
    const Published &said = all.emplace_back(board_.published(rank));
    offers.push_back({said.state == Published::State::kFailed, said.state == Published::State::kTakesPart, said.feeds,
                      said.backend_name(), said.largest_bytes, said.broadcast_bytes});
  }
  plan::JointQuery query{is_broadcast(), wire::Channel::process().terms().threshold_bytes, 0};
  if (query.is_broadcast && call_.root >= 0 && call_.root < member_.size) {
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

Moved NodeCall::pull() {
  std::vector<sluice_copy_t> copies;
  std::uint64_t bytes = 0;
  for (const NodeBlocks::Wanted &wanted : offer_.blocks.wanted) {
    const Published source = board_.published(wanted.source);
    const StridedBlock block = board_.block_for_me(wanted.source);
    if (!block.is_within(source.allocation_bytes) || block.size_bytes() != size_of(wanted.region)) {
      return refused(
          Status::error(ErrorKind::kInvalidArgument,
                        "what a rank sends in a collective operation is not as long as what another expects"));
    }
    if (block.n_runs == 0) continue;
    const std::byte *base = nullptr;
    if (Status status = reach(wanted.source, source, &base); !status.is_ok()) return refused(std::move(status));
    add_copies(block, base, wanted.region, &copies);
    bytes += block.size_bytes();
  }
  if (copies.empty()) return {};
  trace::Span span;
  span.begin();
  device::Queue queue;
  if (Status status = queue.acquire(place_of_wanted()); !status.is_ok()) return failed(std::move(status));
  device::PendingCopy copy;
  if (Status status = copy.begin(&queue, copies); !status.is_ok()) return failed(std::move(status));
  Status status;
  turn_beside_host_until([&] {
    bool is_done = false;
    status = copy.poll(&is_done);
    return is_done;
  });
  if (!status.is_ok()) return failed(std::move(status));
  span.end(trace::Lane::kD2d, {call_.operation}, {bytes});
  return {};
}

// A broadcast: ranks in a row, the root first; each reads from the one before it.
Moved NodeCall::pull_in_chain() {
  const Region &region = offer_.blocks.offered.front();
  if (call_.root == member_.rank) {
    board_.set_chunks(
        static_cast<std::uint32_t>(transfer::count_chunks(region.size_bytes(), offer_.published.chunk_bytes)));
    return {};
  }
  const int before = (member_.rank + member_.size - 1) % member_.size;
  const Published source = board_.published(before);
  const StridedBlock block = board_.block_for_me(before);
  if (!block.is_within(source.allocation_bytes) || block.n_runs != 1 || block.size_bytes() != region.size_bytes()) {
    return refused(Status::error(ErrorKind::kInternal, "a rank of a broadcast said where no data is"));
  }
  const std::byte *base = nullptr;
  if (Status status = reach(before, source, &base); !status.is_ok()) return refused(std::move(status));
  return copy_in_chain(before, {region.origin, base + block.offset_bytes, region.size_bytes()});
}

Moved NodeCall::copy_in_chain(int before, const sluice_copy_t &copy) {
  const std::uint64_t chunk = board_.published(call_.root).chunk_bytes;
  trace::Span span;
  span.begin();
  transfer::ChunkedCopy chunks(copy, chunk);
  if (Status status = chunks.open(place_of_wanted()); !status.is_ok()) return failed(std::move(status));
  Status status;
  bool is_cut_off = false;
  turn_beside_host_until([&] {
    const std::uint32_t n_there = board_.chunks_of(before);
    is_cut_off = n_there == transfer::Board::kNoMore;
    if (is_cut_off) return true;
    status = chunks.advance(n_there);
    if (!status.is_ok()) return true;
    board_.set_chunks(static_cast<std::uint32_t>(chunks.n_copied()));
    return chunks.is_done();
  });
  if (!status.is_ok()) return failed(std::move(status));
  // The one before it has its reason, and all will hear of it.
  if (is_cut_off) return refused(Status::error(ErrorKind::kBackend, "the rank before this one gave up"));
  span.end(trace::Lane::kD2d, {call_.operation, before}, {copy.size_bytes});
  return {};
}

bool NodeCall::settle(const Moved &own, statistics::Stopwatch watch, int *result) {
  imported_.clear();
  int rank = 0;
  switch (board_.outcome(&rank)) {
    case Ending::kGood:
      group_.note_together();
      sides_.send.record(call_.operation, Route::kIpc, watch.elapsed());
      sides_.recv.record(call_.operation, Route::kIpc, watch.elapsed());
      *result = reap(MPI_SUCCESS);
      return true;
    case Ending::kRefused:
      // What was copied is copied again: nothing that is sent has changed.
      group_.note_alone();
      if (own.ending == Ending::kRefused) {
        log::warn_once("coll_ipc", "ops", own.why.message() + "; such collective operations are staged instead");
      }
      statistics::record_fallback("coll_ipc");
      return false;
    case Ending::kFailed:
      break;
  }
  *result = raise_failure(own.ending == Ending::kFailed ? own.why : Status(), rank);
  return true;
}

int NodeCall::raise_failure(const Status &own, int rank) const {
  if (!own.is_ok()) return raise(call_.comm, own);
  return raise(call_.comm, Status::error(ErrorKind::kBackend,
                                         fmt::format("rank {} of the communicator could not do its part of {}; its own "
                                                     "error says why",
                                                     rank, name(call_.operation))));
}

// By arguments that mean the same on all ranks, and by what they agreed on before.
bool is_looked_at_together(const Call &call, const Member &member) {
  const std::uint64_t threshold_bytes = wire::Channel::process().terms().threshold_bytes;
  if (call.form != Form::kBlocking || !moves_data(call) || !wire::Channel::process().is_open() ||
      threshold_bytes == wire::CollectiveTerms::kNever) {
    return false;
  }
  const std::optional<std::uint64_t> bytes = common_bytes(call, member);
  return bytes && *bytes >= threshold_bytes;
}

}  // namespace

bool carry_out_on_node(const Call &call, const Member &member, const Sides &sides, const Status &classified,
                       int *result) {
  if (!is_looked_at_together(call, member)) return false;
  NodeGroupPtr group;
  if (Status status = NodeGroup::of(call.comm, member, &group); !status.is_ok()) {
    *result = raise(call.comm, status);
    return true;
  }
  if (group == nullptr || (wire::Channel::process().terms().may_leave_out && !group->is_due())) return false;
  return NodeCall(call, member, sides, group.get()).carry_out(classified, result);
}

}  // namespace sluice::ops::coll
