// SPDX-License-Identifier: BSD-3-Clause
// PartitionedRequest: partitions of a send that streams and kernels make ready (docs/adr/0076).
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/log.hpp"
#include "ops/p2p/partitioned_request.hpp"
#include "wire/host.hpp"
#include "wire/host_failure.hpp"

namespace sluice::ops {
namespace {

bool is_same_device(const device::Place &a, const device::Place &b) noexcept {
  return a.backend == b.backend && a.device_index() == b.device_index();
}

// In each turn, as long as the request is there, until all of a start was handed on.
class FlagLook final : public progress::Task {
 public:
  explicit FlagLook(std::weak_ptr<PartitionedRequest> request) noexcept : request_(std::move(request)) {}
  [[nodiscard]] bool advance() override {
    const auto request = request_.lock();
    return request == nullptr || request->take_flags();
  }

 private:
  const std::weak_ptr<PartitionedRequest> request_;
};

}  // namespace

// ---- what streams and kernels are given

Status PartitionedRequest::ready_on_stream(int partition, void *native) {
  if (!is_sender() || !has_partition(partition)) return not_to_send();
  const std::scoped_lock preparing(preparing_);
  device::Stream *stream = nullptr;
  if (Status status = find_stream(native, &stream); !status.is_ok()) return status;
  if (Status status = make_flags(stream->place()); !status.is_ok()) return status;
  map_landing(stream->place());
  sluice_stream_send_t send{};
  if (Status status = give_to_stream(partition, &send); !status.is_ok()) return status;
  Status status = stream->enqueue_alone(send);
  if (!status.is_ok() && send.size_bytes != 0) {
    log::debug("p2p", "the receiver copies a partition that a stream could not: " + status.message());
    send = {nullptr, nullptr, 0, send.word, PartitionWords::ready_mark(PartitionWords::start_of(send.value))};
    status = stream->enqueue_alone(send);
  }
  if (!status.is_ok()) {
    const std::scoped_lock lock(mutex_);
    given_starts_[static_cast<std::size_t>(partition)] = 0;
    return status;
  }
  if (send.size_bytes != 0) record(1, send.size_bytes, {}, Route::kQueueDevice);
  return {};
}

// With preparing_. To open one may take longer than all else here, so they are kept.
Status PartitionedRequest::find_stream(void *native, device::Stream **stream) {
  for (const auto &opened : streams_) {
    if (opened->native() == native) *stream = opened.get();
  }
  if (*stream != nullptr) return {};
  std::unique_ptr<device::Stream> opened;
  Status status = device::Stream::open_without_words(native, &opened);
  if (!status.is_ok()) return status;
  streams_.push_back(std::move(opened));
  *stream = streams_.back().get();
  return {};
}

Status PartitionedRequest::give_flags(sluice_partition_flags_t *flags) {
  if (!is_sender()) return not_to_send();
  const device::Place &place = side.region().place;
  if (place.backend == nullptr) {
    return Status::error(ErrorKind::kBadBuffer,
                         "the buffer is no memory of a device's runtime, so no kernel can write it; use MPI_Pready");
  }
  const std::scoped_lock preparing(preparing_);
  if (Status status = make_flags(place); !status.is_ok()) return status;
  flags->flags = reinterpret_cast<unsigned long long *>(flags_->flag(0));
  flags->mark = reinterpret_cast<const unsigned long long *>(flags_->mark());
  const std::scoped_lock lock(mutex_);
  are_flags_given_ = true;
  if (is_active()) look_at_flags();
  return {};
}

// With preparing_.
Status PartitionedRequest::make_flags(const device::Place &place) {
  const device::Place &own = flags_ != nullptr ? flags_->place() : side.region().place;
  const bool is_bound = flags_ != nullptr || own.kind == MemoryKind::kDevice;
  if (is_bound && !is_same_device(own, place)) {
    return Status::error(
        ErrorKind::kBadBuffer,
        fmt::format("partitions of this request are made ready on {} device {}, and the stream works on {} device {}; "
                    "use a stream of that device",
                    own.backend->name(), own.device, place.backend->name(), place.device));
  }
  if (flags_ != nullptr) return {};
  std::unique_ptr<PartitionFlags> made;
  const auto n_partitions = static_cast<std::uint64_t>(arguments_.n_partitions);
  if (Status status = PartitionFlags::make(words_, n_partitions, place, &made); !status.is_ok()) return status;
  const std::scoped_lock lock(mutex_);
  made->begin(start_);
  flags_ = std::move(made);
  return {};
}

// With preparing_. Once, and quietly: without, the receiver copies.
void PartitionedRequest::map_landing(const device::Place &place) {
  if (way() != Way::kDirect || !flags_->are_shared() || landing_.allocation_bytes == 0) return;
  const Status status =
      landing_.import_for(place, world_peer_, bytes_of(arguments_.n_partitions), &landing_memory_, &landing_begin_);
  if (!status.is_ok()) log::debug("p2p", "the receiver copies what streams make ready: " + status.message());
  landing_ = {};
}

// With preparing_. A stream copies by itself only where the receiver has begun the start: it must not wait for that.
Status PartitionedRequest::give_to_stream(int partition, sluice_stream_send_t *send) {
  const std::scoped_lock lock(mutex_);
  const auto at = static_cast<std::size_t>(partition);
  if (!is_active() || ready_starts_[at] == start_) {
    return Status::error(
        ErrorKind::kInvalidArgument,
        is_active() ? fmt::format("partition {} was made ready twice in one start; make each ready once", partition)
                    : "a partition was made ready (sluice_pready_on_stream) and the request is not "
                      "started; call MPI_Start first");
  }
  if (Status status = refuse_ready(partition, partition); !status.is_ok()) return status;
  given_starts_[at] = start_;
  *send = {nullptr, nullptr, 0, flags_->flag(partition), PartitionWords::ready_mark(start_)};
  look_at_flags();
  if (!does_receiver_look()) return {};
  if (landing_begin_ == nullptr || words_.begun() != start_) {
    record(0, bytes_of(1), {}, Route::kIpc);
    return {};
  }
  const std::uint64_t size_bytes = bytes_of(1);
  const std::uint64_t first = size_bytes * at;
  *send = {landing_begin_ + first, side.region().origin + first, size_bytes, send->word,
           PartitionWords::put_mark(start_)};
  return {};
}

// ---- what the host hands on

// With mutex_. The flags that streams and kernels set are those that the receiver reads.
bool PartitionedRequest::does_receiver_look() const noexcept {
  return way() == Way::kDirect && flags_->are_shared();
}

// With mutex_.
void PartitionedRequest::look_at_flags() {
  if (is_looked_at_ || does_receiver_look()) return;
  is_looked_at_ = true;
  progress::Engine::process().watch(std::make_shared<FlagLook>(weak_from_this()));
}

bool PartitionedRequest::take_flags() {
  int low = 0;
  int high = 0;
  while (next_set(&low, &high)) {
    hand_on(low, high);
    low = high + 1;
  }
  const std::scoped_lock lock(mutex_);
  is_looked_at_ = is_active() && !does_receiver_look() &&
                  std::ranges::any_of(ready_starts_, [this](std::uint64_t start) { return start != start_; });
  return !is_looked_at_;
}

// The first run of partitions from *low on that are set and were not handed on. As long as the way is not known there
// is none.
bool PartitionedRequest::next_set(int *low, int *high) {
  const std::scoped_lock lock(mutex_);
  if (!is_active() || way() == Way::kUndecided || does_receiver_look()) return false;
  const auto is_due = [this](int i) {
    return ready_starts_[static_cast<std::size_t>(i)] != start_ && flags_->is_set(i, start_);
  };
  while (*low < arguments_.n_partitions && !is_due(*low)) ++*low;
  *high = *low;
  while (*high + 1 < arguments_.n_partitions && is_due(*high + 1)) ++*high;
  return *low < arguments_.n_partitions;
}

// Partitions that a copy failed for are told of, too: nobody else makes them ready, and the receiver is not to wait for
// ever. The completion says so.
void PartitionedRequest::hand_on(int low, int high) {
  Status status = is_staged() ? bring_down(low, high) : Status();
  {
    const std::scoped_lock lock(mutex_);
    for (int i = low; i <= high; ++i) {
      ready_starts_[static_cast<std::size_t>(i)] = start_;
      if (!is_staged()) words_.set_ready(static_cast<std::uint64_t>(i), start_);
    }
    if (!status.is_ok()) handing_on_ = std::move(status);
  }
  if (!is_staged()) {
    record(0, bytes_of(high - low + 1), {}, Route::kIpc);
  } else if (const int code = wire::host().MPI_Pready_range(low, high, request_); code != MPI_SUCCESS) {
    const std::scoped_lock lock(mutex_);
    handing_on_ = wire::host_failure(code, "take a partition that a stream made ready");
  }
}

// All partitions of the start that were given to streams are written.
bool PartitionedRequest::have_streams_come() {
  const std::scoped_lock lock(mutex_);
  for (int i = 0; flags_ != nullptr && i < arguments_.n_partitions; ++i) {
    const auto at = static_cast<std::size_t>(i);
    if (given_starts_[at] == start_ && ready_starts_[at] != start_ && !flags_->is_set(i, start_)) return false;
  }
  return true;
}

}  // namespace sluice::ops
