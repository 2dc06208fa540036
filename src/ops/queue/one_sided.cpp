// SPDX-License-Identifier: BSD-3-Clause
#include "ops/queue/one_sided.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "generated/operations.hpp"
#include "ops/env/errors.hpp"
#include "ops/rma/answer.hpp"
#include "wire/host.hpp"
#include "wire/host_failure.hpp"
#include "wire/owned_handle.hpp"
#include "wire/status.hpp"

namespace sluice::ops::queue {
namespace {

class AccessMessage final : public Message {
 public:
  AccessMessage(const rma::Call &call, MPI_Comm comm, std::unique_ptr<rma::EnqueuedAccess> access,
                bool is_captured) noexcept
      : Message(call.operation, comm, access->kind()), is_captured_(is_captured), access_(std::move(access)) {}

  void plan_copies(std::vector<sluice_copy_t> *copies) override {
    if (has_copy()) copies->push_back(access_->copy());
  }
  [[nodiscard]] bool has_copy() const noexcept override { return access_->is_by_stream(); }
  [[nodiscard]] Wait plan_wait(sluice_stream_receive_t * /*receive*/) override {
    return has_copy() || access_->is_nothing() ? Wait::kNotAtAll : Wait::kForPoll;
  }
  [[nodiscard]] bool is_captured() const noexcept override { return is_captured_; }

 private:
  // The stream has come to the trigger, which stands behind its copies.
  [[nodiscard]] bool test_transfer(int *code, MPI_Status * /*status*/) override {
    Status outcome;
    if (!has_copy() && !access_->advance(&outcome)) return false;
    access_->note_complete();
    if (!outcome.is_ok()) *code = error_code(outcome);
    return true;
  }
  [[nodiscard]] Route route_taken() const noexcept override {
    return has_copy() ? Route::kQueueDevice : access_->route();
  }
  [[nodiscard]] std::string describe() const override {
    return fmt::format("a {} rank {} of a window", access_->is_get() ? "get from" : "put to", access_->target_rank());
  }
  // Each launch of a graph moves the data, and nobody is told of it.
  [[nodiscard]] std::uint64_t payload_bytes(const MPI_Status & /*status*/) const override {
    return is_captured_ ? 0 : access_->size_bytes();
  }

  const bool is_captured_;
  const std::unique_ptr<rma::EnqueuedAccess> access_;
};

// A message without bytes on the window's own communicator. Signals of one rank to another are all alike, so it does
// not matter which one meets which wait.
class HostSignal final : public Message {
 public:
  HostSignal(const Arguments &given, rma::WindowPtr window, std::vector<MessagePtr> behind) noexcept
      : Message(operation_of(given.is_send, true), given.comm, MemoryKind::kHost),
        is_send_(given.is_send),
        peer_(given.peer),
        window_(std::move(window)),
        behind_(std::move(behind)) {
    window_->n_enqueued.fetch_add(1);
  }
  ~HostSignal() override { note_complete(); }
  HostSignal(const HostSignal &) = delete;
  HostSignal &operator=(const HostSignal &) = delete;
  HostSignal(HostSignal &&) = delete;
  HostSignal &operator=(HostSignal &&) = delete;

 private:
  [[nodiscard]] bool test_transfer(int *code, MPI_Status *status) override {
    if (!all_complete(&behind_)) return false;
    const wire::Host &host = wire::host();
    const MPI_Comm comm = window_->comm.get();
    if (!is_started_) {
      *code = is_send_ ? host.MPI_Isend(nullptr, 0, MPI_BYTE, peer_, rma::kSignalTag, comm, &request_)
                       : host.MPI_Irecv(nullptr, 0, MPI_BYTE, peer_, rma::kSignalTag, comm, &request_);
      is_started_ = true;
    }
    int is_done = 0;
    if (*code == MPI_SUCCESS) *code = host.MPI_Test(&request_, &is_done, status);
    if (*code == MPI_SUCCESS && is_done == 0) return false;
    note_complete();
    return true;
  }
  [[nodiscard]] std::string describe() const override {
    return fmt::format("a signal {} rank {} of a window", is_send_ ? "to" : "from", peer_);
  }
  [[nodiscard]] std::uint64_t payload_bytes(const MPI_Status & /*status*/) const override { return 0; }
  void note_complete() noexcept {
    if (is_counted_) window_->n_enqueued.fetch_sub(1);
    is_counted_ = false;
  }

  const bool is_send_;
  const int peer_;
  const rma::WindowPtr window_;
  std::vector<MessagePtr> behind_;
  bool is_counted_ = true;
  bool is_started_ = false;
  MPI_Request request_ = MPI_REQUEST_NULL;
};

}  // namespace

MessagePtr make_host_signal(const Arguments &given, const rma::WindowPtr &window, std::vector<MessagePtr> behind) {
  return std::make_shared<HostSignal>(given, window, std::move(behind));
}

Status OneSided::make_access(const rma::WindowPtr &window, const rma::Call &call, MPI_Comm comm,
                             const device::Stream &stream, bool is_captured, MessagePtr *message) {
  static_cast<void>(meet(window, stream));
  std::unique_ptr<rma::EnqueuedAccess> access;
  if (Status status = rma::EnqueuedAccess::make(window, call, stream, can_copy_, &access); !status.is_ok()) {
    return status;
  }
  const bool is_by_turns = !access->is_by_stream() && !access->is_nothing();
  if (is_captured && is_by_turns) {
    return cannot_be_captured(
        "its stream reaches only one run of memory of its own device, and of a window of the same node that can be "
        "mapped: enqueue this operation before or after the capture");
  }
  const int target_rank = access->target_rank();
  const bool is_put = !access->is_get();
  auto made = std::make_shared<AccessMessage>(call, comm, std::move(access), is_captured);
  if (is_by_turns && is_put) by_turns_.push_back({made, window.get(), target_rank});
  *message = std::move(made);
  return {};
}

OneSided::Known *OneSided::meet(const rma::WindowPtr &window, const device::Stream &stream) {
  std::erase_if(known_, [](const Known &known) { return known.window.expired(); });
  const auto found = std::ranges::find_if(known_, [&](const Known &known) { return known.window.lock() == window; });
  if (found != known_.end()) return &*found;
  can_copy_ = stream.can_copy();
  if (can_copy_) rma::EnqueuedAccess::map_all(window.get(), stream);
  return &known_.emplace_back(Known{window, false});
}

// Both sides of a signal have one engine then.
Status OneSided::check_ranks(const rma::Window &window, MPI_Comm queue_comm, Known *known) {
  if (queue_comm == MPI_COMM_NULL || known->has_ranks_of_queue) return {};
  wire::OwnedGroup group;
  int result = MPI_UNEQUAL;
  int code = wire::host().MPI_Comm_group(queue_comm, group.slot());
  if (code == MPI_SUCCESS) code = wire::host().MPI_Group_compare(group.get(), window.group.get(), &result);
  if (code != MPI_SUCCESS) return wire::host_status(code, "compare the ranks of a queue and of a window");
  known->has_ranks_of_queue = result == MPI_IDENT;
  if (known->has_ranks_of_queue) return {};
  return Status::error(ErrorKind::kInvalidArgument,
                       "signals go between the ranks of a window, and the queue's communicator has other ranks, or the "
                       "same in another order; make queue and window on one communicator");
}

Status OneSided::make_signal(const Arguments &given, const rma::WindowPtr &window, MPI_Comm queue_comm,
                             const device::Stream &stream, Carriers *carriers, MessagePtr *message) {
  if (given.peer != MPI_PROC_NULL && (given.peer < 0 || given.peer >= window->size)) {
    return Status::error(ErrorKind::kBadRank,
                         fmt::format("{}: the window has {} ranks, and no rank {}; give a rank of the window's group",
                                     name(operation_of(given.is_send, true)), window->size, given.peer));
  }
  if (Status status = check_ranks(*window, queue_comm, meet(window, stream)); !status.is_ok()) return status;
  std::erase_if(by_turns_, [](const Put &put) { return put.message->is_complete(); });
  std::vector<MessagePtr> behind;
  for (const Put &put : by_turns_) {
    const bool is_before = put.window == window.get() && put.target_rank == given.peer;
    if (given.is_send && is_before) behind.push_back(put.message);
  }
  return carriers->carry_signal(given, window, std::move(behind), message);
}

}  // namespace sluice::ops::queue
