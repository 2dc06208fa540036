// SPDX-License-Identifier: BSD-3-Clause
#include "ops/rma/host_window.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <mutex>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>

#include "base/log.hpp"
#include "base/short_mutex.hpp"
#include "base/statistics.hpp"
#include "base/trace.hpp"
#include "ops/env/raise.hpp"
#include "ops/refusal/refusal.hpp"
#include "ops/rma/numbers.hpp"
#include "ops/rma/side.hpp"
#include "plan/one_sided.hpp"
#include "plan/policy.hpp"
#include "progress/tracked_requests.hpp"
#include "transfer/staged.hpp"
#include "wire/host.hpp"

namespace sluice::ops::rma {

// The operation of a form that gives a request is complete with that request too, if that comes first.
class StagedAccess final : public progress::Tracked {
 public:
  // `has_gaps`: the target's part of the window has.
  StagedAccess(MPI_Win window, const Call &call, bool has_gaps) noexcept
      : Tracked(MPI_COMM_SELF, false),
        window_(window),
        target_(call.target_rank),
        message_{call.operation, call.target_rank},
        has_gaps_(has_gaps) {}

  [[nodiscard]] bool is_on(MPI_Win window, int target) const noexcept {
    return window_ == window && (target < 0 || target_ == target);
  }

  [[nodiscard]] int target() const noexcept { return target_; }

  // Has *argument name memory of the host that holds what is in `region` on a device. Blocks.
  [[nodiscard]] Status stage_down(const transfer::Region &region, Argument *argument);
  // The same for memory that the host MPI writes: its first `size_bytes` come up when the operation is complete.
  [[nodiscard]] Status stage_up(const transfer::Region &region, std::uint64_t size_bytes, Argument *argument);

  // The host MPI has completed the operation: copies up, once. Blocks. Any thread, several at a time; each returns when
  // the data are there. Errors: the runtime's, for the first who asks.
  [[nodiscard]] Status settle();
  // Whether that has still to copy anything.
  [[nodiscard]] bool brings_up() {
    const std::scoped_lock lock(mutex_);
    return !is_settled_ && written_.is_open();
  }
  // The same as settle(), with the error raised on the window. Returns an error code.
  [[nodiscard]] int settle_and_raise() noexcept;

  // progress::Tracked
  [[nodiscard]] Status prepare() override { return {}; }
  [[nodiscard]] Status finish(MPI_Status *status) override;
  [[nodiscard]] Status finish_displaced() override { return begin_finish() ? finish(nullptr) : Status(); }
  [[nodiscard]] int raised() const noexcept override { return raised_; }

 private:
  [[nodiscard]] static Status open(const transfer::Region &region, Argument *argument, transfer::Staged *staged);

  const MPI_Win window_;
  const int target_;
  const trace::Message message_;
  const bool has_gaps_;
  std::mutex mutex_;  // of what follows
  bool is_settled_ = false;
  std::vector<transfer::Staged> read_;
  transfer::Staged written_;
  std::uint64_t written_bytes_ = 0;
  int raised_ = MPI_SUCCESS;
};

namespace {

struct Ledger {
  ShortMutex mutex;
  std::unordered_map<const StagedAccess *, std::shared_ptr<StagedAccess>> accesses;
};

Ledger &ledger() {
  static auto *one = new Ledger;  // never destroyed: windows may be freed while the process exits
  return *one;
}

void add_access(std::shared_ptr<StagedAccess> access) {
  const std::scoped_lock lock(ledger().mutex);
  const StagedAccess *key = access.get();
  ledger().accesses.insert_or_assign(key, std::move(access));
  detail::n_staged.store(static_cast<int>(ledger().accesses.size()), std::memory_order_release);
}

void remove_access(const StagedAccess *access) {
  const std::scoped_lock lock(ledger().mutex);
  ledger().accesses.erase(access);
  detail::n_staged.store(static_cast<int>(ledger().accesses.size()), std::memory_order_release);
}

// What `argument`, a buffer with gaps, is once it is packed: elements of the predefined type that it is made of. False:
// of several, of one with gaps of its own, or of more than any form counts. Then an image keeps the program's type.
bool name_packed(std::uint64_t size_bytes, Argument *argument) {
  MPI_Datatype basic = MPI_DATATYPE_NULL;
  transfer::LayoutPtr element;
  if (!find_basic_type(argument->type, &basic).is_ok() || !find_layout({nullptr, 1, basic}, &element).is_ok() ||
      !element->is_contiguous || element->size_bytes == 0) {
    return false;
  }
  const std::uint64_t n_elements = size_bytes / element->size_bytes;
  if (n_elements > std::uint64_t{std::numeric_limits<int>::max()}) return false;
  argument->type = basic;
  argument->count = static_cast<MPI_Count>(n_elements);
  return true;
}

}  // namespace

Status StagedAccess::open(const transfer::Region &region, Argument *argument, transfer::Staged *staged) {
  const StagingMemory memory = plan::policy_of(region.place.backend, region.place.device).staging_memory;
  transfer::LayoutPtr layout;
  if (Status status = find_layout(*argument, &layout); !status.is_ok()) return status;
  if (layout->is_contiguous || name_packed(region.size_bytes(), argument)) {
    Status status = staged->open(region, memory);
    argument->buffer = staged->data();
    return status;
  }
  transfer::Region image = region;
  image.origin = static_cast<std::byte *>(argument->buffer);
  image.count = argument->count;
  image.layout = std::move(layout);
  if (image.origin == nullptr || image.span_bytes() == 0) {
    return Status::error(ErrorKind::kUnsupported,
                         "a one-sided operation on a window of the host MPI's takes device memory by absolute "
                         "addresses, or of that extent, only in types that are made of one predefined type; use such a "
                         "type on that side");
  }
  Status status = staged->open_image(image, memory);
  if (status.is_ok()) argument->buffer = staged->image_origin();
  return status;
}

Status StagedAccess::stage_down(const transfer::Region &region, Argument *argument) {
  Status status = open(region, argument, &read_.emplace_back());
  if (!status.is_ok()) return status;
  trace::Span span;
  span.begin();
  status = read_.back().copy_down();
  if (status.is_ok()) span.end(trace::Lane::kD2h, message_, {region.size_bytes()});
  return status;
}

Status StagedAccess::stage_up(const transfer::Region &region, std::uint64_t size_bytes, Argument *argument) {
  written_bytes_ = std::min(size_bytes, region.size_bytes());
  return open(region, argument, &written_);
}

Status StagedAccess::settle() {
  const std::scoped_lock lock(mutex_);
  if (std::exchange(is_settled_, true)) return {};
  Status status;
  if (written_.is_open() && written_bytes_ != 0) {
    trace::Span span;
    span.begin();
    status = written_.copy_up(written_bytes_);
    if (status.is_ok()) span.end(trace::Lane::kH2d, message_, {written_bytes_});
  }
  written_ = {};
  read_.clear();
  return status;
}

int StagedAccess::settle_and_raise() noexcept {
  try {
    const Status status = settle();
    return status.is_ok() ? MPI_SUCCESS : raise_on_window(window_, status);
  } catch (const std::exception &error) {
    return raise_on_window(window_, Status::of_exception(error));
  }
}

Status StagedAccess::finish(MPI_Status * /*status*/) {
  // MPICH 4.0 completes the request of MPI_Rget before data of a target with gaps are there. Its epoch is still open.
  if (has_gaps_ && brings_up()) raised_ = wire::host().MPI_Win_flush(target_, window_);
  if (raised_ == MPI_SUCCESS) raised_ = settle_and_raise();
  remove_access(this);
  return {};
}

namespace detail {

std::atomic<int> n_staged{0};

StagedAccesses take_staged(MPI_Win window, int target) {
  StagedAccesses taken;
  const std::scoped_lock lock(ledger().mutex);
  std::erase_if(ledger().accesses, [&](const auto &one) {
    const bool is_meant = one.second->is_on(window, target);
    if (is_meant) taken.push_back(one.second);
    return is_meant;
  });
  n_staged.store(static_cast<int>(ledger().accesses.size()), std::memory_order_release);
  return taken;
}

int flush_staged(MPI_Win window, const StagedAccesses &accesses) noexcept {
  try {
    std::set<int> targets;
    for (const std::shared_ptr<StagedAccess> &access : accesses) {
      if (access->brings_up()) targets.insert(access->target());
    }
    for (const int target : targets) {
      if (const int code = wire::host().MPI_Win_flush(target, window); code != MPI_SUCCESS) return code;
    }
    return MPI_SUCCESS;
  } catch (const std::exception &error) {
    return raise_on_window(window, Status::of_exception(error));
  }
}

int end_staged(MPI_Win window, StagedAccesses accesses, int code) noexcept {
  if (code != MPI_SUCCESS) {  // they are still under way
    try {
      for (std::shared_ptr<StagedAccess> &access : accesses) add_access(std::move(access));
    } catch (const std::exception &error) {
      return raise_on_window(window, Status::of_exception(error));
    }
    return code;
  }
  int result = MPI_SUCCESS;
  for (const std::shared_ptr<StagedAccess> &access : accesses) {
    const int settled = access->settle_and_raise();
    if (result == MPI_SUCCESS) result = settled;
  }
  return result;
}

}  // namespace detail

namespace {

// Where a buffer of this rank's lies. What the host MPI will refuse counts as its own.
Status look_at(const Call &call, const Argument &argument, transfer::Region *region) {
  if (argument.count <= 0) return {};
  if (find_layout(argument, &region->layout).is_ok()) return classify(argument, region);
  region->layout = nullptr;
  const std::string function(name(call.operation));
  return refusal(function.c_str(), {typed_buffer("a buffer", argument.buffer, argument.count, argument.type)});
}

struct Buffers {
  transfer::Region origin;
  transfer::Region compare;
  transfer::Region result;
};

Status classify_buffers(const Call &call, Buffers *buffers) {
  const bool is_origin_read = call.op != MPI_NO_OP || call.result.type == MPI_DATATYPE_NULL;
  Status status = is_origin_read ? look_at(call, call.origin, &buffers->origin) : Status();
  if (status.is_ok()) status = look_at(call, call.compare, &buffers->compare);
  if (status.is_ok()) status = look_at(call, call.result, &buffers->result);
  return status;
}

bool is_on_device(const transfer::Region &region) noexcept {
  return transfer::size_of(region) != 0 && !is_host(region);
}

Status stage(const Buffers &buffers, std::uint64_t target_bytes, Call *call, StagedAccess *access) {
  const bool is_get = call->operation == Operation::kGet || call->operation == Operation::kRget;
  Status status;
  if (is_on_device(buffers.origin)) {
    status = is_get ? access->stage_up(buffers.origin, target_bytes, &call->origin)
                    : access->stage_down(buffers.origin, &call->origin);
  }
  if (status.is_ok() && is_on_device(buffers.compare)) status = access->stage_down(buffers.compare, &call->compare);
  if (status.is_ok() && is_on_device(buffers.result)) {
    status = access->stage_up(buffers.result, target_bytes, &call->result);
  }
  return status;
}

}  // namespace

int operate_by_host(MPI_Win window, Call *call) noexcept {
  try {
    // classify
    if (call->target_rank == MPI_PROC_NULL) return call->by_host(*call, window);
    Buffers buffers;
    Status status = classify_buffers(*call, &buffers);
    if (!status.is_ok()) return raise_on_window(window, status);
    const bool has_origin = is_on_device(buffers.origin);
    if (!has_origin && !is_on_device(buffers.compare) && !is_on_device(buffers.result)) {
      return call->by_host(*call, window);
    }
    transfer::Region target;
    status = find_layout(call->target, &target.layout);
    if (!status.is_ok()) return raise_on_window(window, status);
    target.count = call->target.count;
    // plan: there is one route
    const statistics::Stopwatch watch;
    log::debug("ops", plan::explain(plan::OneSidedReason::kHostWindow));
    const auto access = std::make_shared<StagedAccess>(window, *call, !target.layout->is_contiguous);
    // execute
    const MPI_Request *request = call->request;
    status = stage(buffers, target.size_bytes(), call, access.get());
    if (!status.is_ok()) return raise_on_window(window, status);
    const int code = call->by_host(*call, window);
    if (code != MPI_SUCCESS) return code;
    add_access(access);
    if (request != nullptr) progress::TrackedRequests::process().add(*request, access);
    // complete: at the end of the epoch
    const transfer::Region &counted = has_origin ? buffers.origin : buffers.result;
    const std::uint64_t size_bytes = transfer::size_of(counted);
    statistics::record(call->operation, MemoryKind::kDevice, Route::kStaged, 1, size_bytes, watch.elapsed());
    return MPI_SUCCESS;
  } catch (const std::exception &error) {
    return raise_on_window(window, Status::of_exception(error));
  }
}

}  // namespace sluice::ops::rma
