// SPDX-License-Identifier: BSD-3-Clause
// FabricTrigger and FabricMessage.
#include <cstdint>
#include <limits>
#include <utility>

#include "wire/fabric_state.hpp"

namespace sluice::wire {
namespace {

// Providers may count in 32 bits.
constexpr std::uint64_t kLargestNumber = std::numeric_limits<std::int32_t>::max();

}  // namespace

Status open_counter(fid_domain *domain, Owned<fid_cntr> *counter) {
  fi_cntr_attr wanted{};
  wanted.events = FI_CNTR_EVENTS_COMP;
  wanted.wait_obj = FI_WAIT_UNSPEC;
  fid_cntr *opened = nullptr;
  if (const int code = fi_cntr_open(domain, &wanted, &opened, nullptr); code != 0) {
    return Status::error(ErrorKind::kBackend,
                         fmt::format("fi_cntr_open: error {}; set SLUICE_QUEUE_ENGINE=thread", code));
  }
  counter->reset(opened);
  return {};
}

FabricTrigger::FabricTrigger() noexcept = default;
FabricTrigger::~FabricTrigger() {
  // Without the fabric its objects are gone.
  if (!Fabric::process().is_open() && state_ != nullptr) {
    [[maybe_unused]] const auto *lost = state_->counter.release();
  }
}

Status FabricTrigger::open() {
  state_ = std::make_unique<State>();
  return open_counter(Fabric::process().state_->domain.get(), &state_->counter);
}

Status FabricTrigger::add(std::uint64_t by) const {
  return Fabric::process().state_->check(fi_cntr_add(state_->counter.get(), by), "fi_cntr_add");
}

FabricMessage::FabricMessage() noexcept = default;

FabricMessage::~FabricMessage() {
  if (state_ == nullptr) return;
  Fabric &fabric = Fabric::process();
  if (!fabric.is_open()) {
    [[maybe_unused]] const auto *lost = state_->counter.release();
    return;
  }
  const std::scoped_lock lock(fabric.state_->mutex);
  if (state_->is_under_way) {
    fabric.state_->orphans.push_back(std::move(state_));
  } else if (state_->counter != nullptr) {
    fabric.state_->idle_counters.push_back(std::move(state_->counter));
  }
}

Status FabricMessage::defer_send(const FabricTrigger &trigger, std::uint64_t number, const void *data,
                                 std::size_t size_bytes, int world_rank, std::uint64_t tag, bool *is_taken) {
  *is_taken = false;
  if (number > kLargestNumber) return {};
  Fabric::State &fabric = *Fabric::process().state_;
  auto made = std::make_unique<State>();
  if (Status status = fabric.take_counter(&made->counter); !status.is_ok()) return status;
  made->counted = fi_cntr_read(made->counter.get());
  made->failed = fi_cntr_readerr(made->counter.get());
  made->name(data, size_bytes, fabric.endpoint.get(), fabric.ranks[static_cast<std::size_t>(world_rank)], tag);
  made->known.work.threshold = number;
  made->known.work.triggering_cntr = trigger.state_->counter.get();
  made->known.work.completion_cntr = made->counter.get();
  made->known.work.op_type = FI_OP_TSEND;
  made->known.work.op.tagged = &made->operation;
  const int code = fi_control(&fabric.domain->fid, FI_QUEUE_WORK, &made->known.work);
  if (code != 0) {
    // No room now, or a provider that does not do this: the caller sends it when it is time.
    if (code != -FI_EAGAIN && code != -FI_ENOSPC) {
      log::warn_once("fabric_work", "wire",
                     fabric.check(code, "fi_control(FI_QUEUE_WORK)").message() +
                         "; messages of queues are sent by the progress thread");
    }
    const std::scoped_lock lock(fabric.mutex);
    fabric.idle_counters.push_back(std::move(made->counter));
    return {};
  }
  made->is_under_way = true;
  *is_taken = true;
  state_ = std::move(made);
  return {};
}

Status FabricMessage::send(const void *data, std::size_t size_bytes, int world_rank, std::uint64_t tag,
                           bool *is_taken) {
  const Fabric::State &fabric = *Fabric::process().state_;
  auto made = std::make_unique<State>();
  made->name(data, size_bytes, fabric.endpoint.get(), fabric.ranks[static_cast<std::size_t>(world_rank)], tag);
  const ssize_t code = fi_tsendmsg(fabric.endpoint.get(), &made->operation.msg, FI_COMPLETION);
  *is_taken = code != -FI_EAGAIN;
  if (!*is_taken) return {};
  if (Status status = fabric.check(code, "fi_tsendmsg"); !status.is_ok()) return status;
  made->is_under_way = true;
  state_ = std::move(made);
  return {};
}

Status FabricMessage::receive(void *data, std::size_t size_bytes, int world_rank, std::uint64_t tag, bool *is_taken) {
  const Fabric::State &fabric = *Fabric::process().state_;
  auto made = std::make_unique<State>();
  made->name(data, size_bytes, fabric.endpoint.get(), fabric.ranks[static_cast<std::size_t>(world_rank)], tag);
  made->overflow_into(fabric.overflow);
  const ssize_t code = fi_trecvmsg(fabric.endpoint.get(), &made->operation.msg, FI_COMPLETION);
  *is_taken = code != -FI_EAGAIN;
  if (!*is_taken) return {};
  if (Status status = fabric.check(code, "fi_trecvmsg"); !status.is_ok()) return status;
  made->is_under_way = true;
  state_ = std::move(made);
  return {};
}

bool FabricMessage::poll(Outcome *outcome) {
  if (!state_->is_done && state_->counter != nullptr) {
    if (fi_cntr_read(state_->counter.get()) != state_->counted) {
      state_->is_done = true;
    } else if (fi_cntr_readerr(state_->counter.get()) != state_->failed) {
      state_->is_done = true;
      state_->outcome.error =
          Status::error(ErrorKind::kBackend, "libfabric: a deferred send failed; set SLUICE_QUEUE_ENGINE=thread");
    }
  }
  if (!state_->is_done) return false;
  state_->is_under_way = false;
  *outcome = state_->outcome;
  return true;
}

}  // namespace sluice::wire
