// SPDX-License-Identifier: BSD-3-Clause
#include "ops/rma/enqueued_access.hpp"

#include <utility>

#include "base/log.hpp"
#include "ops/rma/side.hpp"
#include "transfer/window_message.hpp"

namespace sluice::ops::rma {

Status EnqueuedAccess::make(const WindowPtr &window, const Call &call, const device::Stream &stream, bool can_copy,
                            std::unique_ptr<EnqueuedAccess> *made) {
  std::unique_ptr<EnqueuedAccess> one(new EnqueuedAccess(window, call));
  one->call_.request = nullptr;  // the queue's, not MPI_Rput's
  Access &access = one->access_;
  access.may_map_later = true;
  // classify
  bool is_nobody = false;
  Status status = classify_target(window.get(), one->call_, &access, &is_nobody);
  if (status.is_ok() && !is_nobody) status = classify_move(&access, one->is_get_, &one->size_bytes_);
  if (!status.is_ok()) return status;
  // plan
  if (!one->is_nothing()) status = plan_route(&access, stream.place());
  if (!status.is_ok()) return status;
  one->is_by_stream_ = can_copy && !one->is_nothing() && one->suits_stream(stream);
  window->n_enqueued.fetch_add(1);
  one->is_counted_ = true;
  *made = std::move(one);
  return {};
}

void EnqueuedAccess::map_all(Window *window, const device::Stream &stream) {
  for (int rank = 0; rank < window->size; ++rank) {
    const auto at = static_cast<std::size_t>(rank);
    if (find_reason(*window, rank) != plan::OneSidedReason::kMapped) continue;
    Reached reached;
    const Status status =
        window->direct->map(rank, window->world_ranks[at], window->exposures[at], stream.place(), &reached);
    if (!status.is_ok()) log::debug("ops", status.message());
  }
}

// One run on each side, the stream's device's own memory here, and there its own or what is mapped for it.
bool EnqueuedAccess::suits_stream(const device::Stream &stream) const noexcept {
  const auto is_run = [&](const transfer::Region &region) {
    return region.place.kind == MemoryKind::kDevice && region.place.backend == &stream.backend() &&
           region.place.device == stream.device() && region.origin != nullptr && region.layout->is_contiguous;
  };
  return access_.route == Route::kIpc && is_run(access_.origin) && is_run(access_.target);
}

sluice_copy_t EnqueuedAccess::copy() const noexcept {
  std::byte *own = access_.origin.origin;
  std::byte *other = access_.target.origin;
  return is_get_ ? sluice_copy_t{own, other, size_bytes_} : sluice_copy_t{other, own, size_bytes_};
}

Status EnqueuedAccess::move_directly() {
  DirectAccess &direct = *window_->direct;
  const transfer::Region &from = is_get_ ? access_.target : access_.origin;
  const transfer::Region &to = is_get_ ? access_.origin : access_.target;
  Status status = direct.copy(from, to, size_bytes_, message_of(access_));
  return status.is_ok() ? direct.flush() : status;
}

void EnqueuedAccess::begin_messages() {
  asked_ = make_asked(access_, size_bytes_, is_get_ ? &access_.origin : nullptr);
  asked_->has_owner = true;
  if (!is_get_) operand_ = std::make_unique<OperandReader>(access_.origin);
  transfer::for_each_message(access_.target, size_bytes_, 1,
                             [&](std::span<const transfer::Block> runs, std::uint64_t position, std::uint64_t length) {
                               parts_.push_back({{runs.begin(), runs.end()}, position, length});
                               return true;
                             });
}

// As many as may be unanswered.
Status EnqueuedAccess::send_messages() {
  Messages &messages = *window_->messages;
  std::vector<std::byte> bytes;
  while (n_sent_ != parts_.size() && messages.has_room()) {
    const Part &part = parts_[n_sent_];
    transfer::WindowHeader header;
    header.action = is_get_ ? transfer::WindowAction::kGet : transfer::WindowAction::kPut;
    header.payload_bytes = part.size_bytes;
    bytes.resize(is_get_ ? 0 : part.size_bytes);
    Status status = is_get_ ? Status() : operand_->read(part.position, bytes);
    if (!status.is_ok()) return status;
    if (!messages.try_ask(call_.target_rank, header, part.runs, bytes, asked_, part.position, &status)) return {};
    if (!status.is_ok()) return status;
    ++n_sent_;
  }
  return {};
}

bool EnqueuedAccess::advance(Status *outcome) {
  if (is_nothing()) return true;
  if (access_.route == Route::kIpc) {
    *outcome = move_directly();
    return true;
  }
  if (asked_ == nullptr) begin_messages();
  if (n_sent_ != parts_.size()) {
    const Status status = send_messages();
    if (!status.is_ok()) n_sent_ = parts_.size();  // no more of them
    if (n_sent_ == parts_.size()) window_->messages->close(asked_, status);
  }
  if (!asked_->is_done.load(std::memory_order_acquire)) return false;
  *outcome = asked_->outcome;
  return true;
}

void EnqueuedAccess::note_complete() noexcept {
  if (is_counted_) window_->n_enqueued.fetch_sub(1);
  is_counted_ = false;
}

}  // namespace sluice::ops::rma
