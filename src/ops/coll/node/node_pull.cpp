// SPDX-License-Identifier: BSD-3-Clause
#include "ops/coll/node/node_pull.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/knobs.hpp"
#include "base/log.hpp"
#include "base/statistics.hpp"
#include "device/kernel_copies.hpp"
#include "plan/block_form.hpp"
#include "plan/policy.hpp"
#include "transfer/laid_out.hpp"
#include "wire/channel.hpp"

namespace sluice::ops::coll {

using transfer::Ending;
using transfer::Published;

namespace {

plan::OwnBlock wanted_of_own_blocks() {
  static const bool is_by_kernels = Knobs::process().text("coll_own_block") == "kernels";
  return is_by_kernels ? plan::OwnBlock::kKernels : plan::OwnBlock::kAuto;
}

plan::OwnBlockLimits own_block_limits(const device::Place &place) {
  const auto traits_of = place.backend->table().device_traits;
  const std::uint32_t traits = traits_of != nullptr ? traits_of(place.device) : 0;
  return {wanted_of_own_blocks(), (traits & SLUICE_DEVICE_CROWDED_ENGINES) != 0, true};
}

// A mistake of the program's, which is for the host MPI to say.
PartEnd of_other_length() {
  return refused(Status::error(ErrorKind::kInvalidArgument,
                               "what a rank sends in a collective operation is not as long as what another expects"));
}

}  // namespace

// Each rank's own choice, and made before the others' parts are known: what blocks while a kernel is made ready holds
// up nothing that has begun.
void NodePull::choose_means() {
  if (is_reduction(call_.pattern) || offer_.blocks.wanted.empty()) return;
  plan::CopyListQuery query;
  plan::OwnBlockQuery own;
  for (const NodeBlocks::Wanted &wanted : offer_.blocks.wanted) {
    query.n_copies += wanted.n_runs;
    query.size_bytes += size_of(wanted.region);
    if (wanted.source == member_.rank) own.own_bytes += size_of(wanted.region);
  }
  if (query.n_copies == 0) return;
  // The root of a scatter gets nothing from others, who pull the rest of what it sends meanwhile.
  own.others_bytes = std::max(query.size_bytes, offer_.published.largest_bytes) - own.own_bytes;
  own.is_blocking = call_.form == Form::kBlocking;
  choose_own_means(own);
  const plan::Policy &policy = plan::policy_of(place().backend, place().device);
  means_ = plan::choose_copy_means_on(place(), query, policy.coll_kernel_copy_bytes, name(call_.operation));
}

void NodePull::choose_own_means(const plan::OwnBlockQuery &query) {
  if (query.own_bytes == 0) return;
  plan::OwnBlockLimits limits = own_block_limits(place());
  own_plan_ = plan::choose_own_means(query, limits);
  if (own_plan_.means == plan::CopyMeans::kKernel && !device::has_copy_kernel(place())) {
    limits.has_kernel = false;
    own_plan_ = plan::choose_own_means(query, limits);
  }
  log_plan(call_, [&] { return explain(query, own_plan_); });
}

// Else it would copy in vain.
bool NodePull::begins_early() const {
  return offer_.published.state == Published::State::kTakesPart && call_.pattern != Pattern::kBroadcast &&
         !is_reduction(call_.pattern) && means_ == plan::CopyMeans::kEngines &&
         offer_.published.largest_bytes >= wire::Channel::process().terms().threshold_bytes;
}

// The rank's own blocks, from its one buffer into the other, while it waits for the others' parts. Nobody else looks at
// either place, and should the call be staged after all, the same bytes come there again.
PartEnd NodePull::begin_own() {
  std::uint64_t size_bytes = 0;
  const auto for_each_own = [&](auto visit) -> PartEnd {
    for (const NodeBlocks::Wanted &wanted : offer_.blocks.wanted) {
      if (wanted.source != member_.rank || size_of(wanted.region) == 0) continue;
      const Source source = find_own(wanted);
      // Lengths that do not fit are for begin() to refuse.
      if (source.size_bytes != size_of(wanted.region)) continue;
      if (PartEnd moved = visit(source, wanted); moved.ending != Ending::kGood) return moved;
    }
    return {};
  };
  static_cast<void>(for_each_own([&](const Source &source, const NodeBlocks::Wanted &) -> PartEnd {
    size_bytes += source.size_bytes;
    return {};
  }));
  if (size_bytes == 0) return {};
  const bool is_by_kernel = own_plan_.means == plan::CopyMeans::kKernel;
  device::Queue *queue = size_bytes < plan::kLongOwnBytes && !is_by_kernel ? &queue_ : &own_queue_;
  if (Status status = queue->acquire(place()); !status.is_ok()) return failed(status);
  std::vector<sluice_copy_t> copies;
  PartEnd moved = for_each_own(
      [&](const Source &source, const NodeBlocks::Wanted &wanted) { return add(source, wanted, queue, &copies); });
  if (moved.ending != Ending::kGood) return moved;
  is_under_way_ = true;
  if (is_by_kernel) {
    bool is_made = false;
    if (Status status = enqueue_as_kernel(queue, &copies, &is_made); !status.is_ok()) return failed(status);
    if (!is_made) own_plan_ = {plan::CopyMeans::kEngines, "no kernel takes them"};
  }
  if (Status status = queue->enqueue(copies); !status.is_ok()) return failed(status);
  has_own_ = true;
  return {};
}

NodePull::Source NodePull::find_own(const NodeBlocks::Wanted &wanted) const {
  Source source;
  source.own = offer_.own_block(wanted);
  if (source.own == nullptr || size_of(*source.own) == 0) return source;
  source.size_bytes = size_of(*source.own);
  source.base = transfer::at(source.own->origin, source.own->first_byte());
  source.is_regular = transfer::describe(*source.own, source.base, &source.block);
  return source;
}

PartEnd NodePull::find(const transfer::Heard &heard, const NodeBlocks::Wanted &wanted, Source *source) {
  if (wanted.source != member_.rank) return find_elsewhere(heard, wanted, source);
  *source = find_own(wanted);
  return source->size_bytes == size_of(wanted.region) ? PartEnd() : of_other_length();
}

// Where the block lies is what another rank says of its own memory: checked before it is believed.
PartEnd NodePull::find_elsewhere(const transfer::Heard &heard, const NodeBlocks::Wanted &wanted, Source *source) {
  const Published &said = heard.of(wanted.source);
  source->block = heard.block(wanted.source, static_cast<std::size_t>(wanted.block));
  if (!source->block.is_within(said.allocation_bytes)) {
    return failed(transfer::nonsense_of(wanted.source, "it sends what does not lie in its memory"));
  }
  source->size_bytes = source->block.size_bytes();
  if (source->size_bytes != size_of(wanted.region)) return of_other_length();
  if (source->size_bytes == 0) return {};
  has_small_pages_ = has_small_pages_ || said.allocation_bytes % SLUICE_LARGE_PAGE_BYTES != 0;
  std::byte *first = nullptr;
  Status status = reach_.open(wanted.source, said.handle, said.base_address, said.allocation_bytes, place(), &first);
  source->base = first;
  return status.is_ok() ? PartEnd() : not_reached(status);
}

MaybePartEnd NodePull::begin(const transfer::Heard &heard) {
  std::vector<sluice_copy_t> copies;
  span_.begin();
  for (const NodeBlocks::Wanted &wanted : offer_.blocks.wanted) {
    Source source;
    if (PartEnd moved = find(heard, wanted, &source); moved.ending != Ending::kGood) return moved;
    if (source.size_bytes == 0) continue;
    bytes_ += source.size_bytes;
    if (has_own_ && wanted.source == member_.rank) continue;
    if (PartEnd moved = add(source, wanted, &queue_, &copies); moved.ending != Ending::kGood) return moved;
  }
  if (copies.empty() && !is_under_way_) return PartEnd();
  Status status;
  if (!own_queue_.is_empty()) status = own_copy_.begin(&own_queue_, {});
  if (status.is_ok() && queue_.is_empty()) status = queue_.acquire(place());
  if (status.is_ok()) status = enqueue_by_means(&copies);
  is_under_way_ = true;
  if (status.is_ok()) status = copy_.begin(&queue_, copies);
  if (!status.is_ok()) return failed(status);
  return {};
}

// By one kernel then and there, or among the copies that are made later.
PartEnd NodePull::add(const Source &source, const NodeBlocks::Wanted &wanted, device::Queue *queue,
                      std::vector<sluice_copy_t> *copies) {
  const plan::BlockQuery query{source.size_bytes, std::max(wanted.n_runs, source.block.n_runs), source.is_regular};
  const plan::BlockPlan plan =
      choose_taken_form(query, {plan::policy_of(place().backend, place().device).pack, transfer::kMostRuns});
  const bool can_copy = query.is_regular && query.n_runs <= transfer::kMostRuns;
  // The one kernel of all copies takes a few runs, too.
  const bool is_short_list = means_ == plan::CopyMeans::kKernel && can_copy && query.n_runs <= SLUICE_KERNEL_MAX_COPIES;
  bool is_refused = true;
  if (plan.form == plan::BlockForm::kKernel && !is_short_list) {
    log_plan(call_, [&] { return fmt::format("a block from rank {}, {}", wanted.source, explain(query, plan)); });
    Status status = enqueue_block(source, wanted, queue, &is_refused);
    if (!status.is_ok()) return failed(status);
  }
  if (!is_refused) return {};
  if (!can_copy) return refused(Status::error(ErrorKind::kUnsupported, "no kernel takes a block of many runs"));
  add_copies(source.block, source.base, wanted.region, copies);
  has_copies_ = true;
  return {};
}

Status NodePull::enqueue_block(const Source &source, const NodeBlocks::Wanted &wanted, device::Queue *queue,
                               bool *is_refused) {
  *is_refused = true;
  transfer::LaidOut to;
  transfer::LaidOut from;
  Status why = transfer::lay_out(wanted.region, &to);
  if (why.is_ok() && source.own != nullptr) why = transfer::lay_out(*source.own, &from);
  if (!why.is_ok()) {
    log::debug("ops", why.message());
    return {};
  }
  if (source.own == nullptr) from = transfer::lay_out(source.block, source.base);
  if (queue->is_empty()) {
    if (Status status = queue->acquire(place()); !status.is_ok()) return status;
  }
  is_under_way_ = true;
  return transfer::enqueue_move(queue, from, to, source.size_bytes, is_refused);
}

// What kernels make of the list goes then and there, and leaves it empty.
Status NodePull::enqueue_by_means(std::vector<sluice_copy_t> *copies) {
  bool is_made = false;
  if (means_ == plan::CopyMeans::kKernel) {
    Status status = enqueue_as_kernel(&queue_, copies, &is_made);
    means_ = is_made ? plan::CopyMeans::kKernel : plan::CopyMeans::kEngines;
    return status;
  }
  if (!has_own_ || own_plan_.means != plan::CopyMeans::kKernel) return {};
  Status status;
  if (!copies->empty()) {
    const plan::CopyPlan plan = choose_pull_means(own_plan_, has_small_pages_, wanted_of_own_blocks());
    log::debug("plan", plan.reason);
    if (plan.means == plan::CopyMeans::kKernel) status = enqueue_as_kernel(&queue_, copies, &is_made);
  }
  if (copies->empty()) means_ = plan::CopyMeans::kKernel;
  return status;
}

// All of them, which leaves the list empty; or nothing, where they are for the copy engines after all.
Status NodePull::enqueue_as_kernel(device::Queue *queue, std::vector<sluice_copy_t> *copies, bool *is_made) {
  *is_made = false;
  // What others send may lie in more pieces than what is received.
  if (copies->empty() || copies->size() > SLUICE_KERNEL_MAX_COPIES) return {};
  bool is_refused = false;
  Status status = device::enqueue_kernel_copies(queue, *copies, &is_refused);
  if (is_refused) {
    log::warn_once("coll_copy_kernel", "ops", status.message() + "; the copy engines copy it instead");
    statistics::record_fallback("coll_copy_kernel");
    return {};
  }
  if (!status.is_ok()) return status;
  *is_made = true;
  has_copies_ = false;
  copies->clear();
  return {};
}

MaybePartEnd NodePull::advance() {
  bool are_done = true;
  for (device::PendingCopy *copy : {&own_copy_, &copy_}) {
    bool is_done = false;
    if (Status status = copy->poll(&is_done); !status.is_ok()) return failed(status);
    are_done &= is_done;
  }
  if (!are_done) return {};
  is_under_way_ = false;
  span_.end(has_copies_ ? trace::Lane::kD2d : trace::Lane::kKernel, {call_.operation}, {bytes_});
  return PartEnd();
}

// Copies that are under way when it gives up end before the others hear of it, and before the same memory is written
// again or given back.
void NodePull::finish() noexcept {
  copy_ = device::PendingCopy();
  own_copy_ = device::PendingCopy();
  if (!std::exchange(is_under_way_, false)) return;
  has_own_ = false;
  for (device::Queue *queue : {&queue_, &own_queue_}) {
    if (queue->is_empty()) continue;  // not used, or given up, which waited
    device::PendingCopy rest;         // waits as it goes
    if (const Status status = rest.begin(queue); !status.is_ok()) log::debug("ops", status.message());
  }
}

}  // namespace sluice::ops::coll
