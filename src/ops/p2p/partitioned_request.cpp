// SPDX-License-Identifier: BSD-3-Clause
#include "ops/p2p/partitioned_request.hpp"

#include "wire/host.hpp"

namespace sluice::ops {

PartitionedRequest::PartitionedRequest(Operation operation, MPI_Comm communicator, int n_partitions, MPI_Count count)
    : Tracked(communicator, true),
      operation_(operation),
      n_partitions_(n_partitions),
      count_(count),
      stages_(std::make_unique<std::atomic<Stage>[]>(is_sender() ? 0 : static_cast<std::size_t>(n_partitions))) {}

Status PartitionedRequest::ready(int first, int n) {
  const statistics::Stopwatch watch;
  Status status = side.copy_elements_down(first * count_, n * count_);
  if (status.is_ok()) record(0, n, watch.elapsed());
  return status;
}

bool PartitionedRequest::claim(int partition) const noexcept {
  Stage seen = Stage::kOwed;
  return stage(partition).compare_exchange_strong(seen, Stage::kCopying, std::memory_order_acq_rel);
}

void PartitionedRequest::set_stages(int first, int end, Stage stage) const noexcept {
  for (int i = first; i < end; ++i) {
    this->stage(i).store(stage, std::memory_order_release);
    this->stage(i).notify_all();
  }
}

Status PartitionedRequest::arrived(int first, int n) {
  const int end = first + n;
  for (int i = first; i < end;) {
    // Neighbours go up in one copy.
    int claimed_end = i;
    while (claimed_end < end && claim(claimed_end)) ++claimed_end;
    if (claimed_end == i) {
      stage(i).wait(Stage::kCopying, std::memory_order_acquire);
      if (stage(i).load(std::memory_order_acquire) == Stage::kDone) ++i;
      continue;
    }
    const statistics::Stopwatch watch;
    Status status = side.copy_elements_up(i * count_, (claimed_end - i) * count_);
    set_stages(i, claimed_end, status.is_ok() ? Stage::kDone : Stage::kOwed);
    if (!status.is_ok()) return status;
    record(0, claimed_end - i, watch.elapsed());
    i = claimed_end;
  }
  return {};
}

int PartitionedRequest::start_again(const std::shared_ptr<Tracked> &self, MPI_Request *request) {
  // Before the host MPI starts it: a thread may see a partition arrive before MPI_Start returns to this one.
  if (!is_sender()) set_stages(0, n_partitions_, Stage::kOwed);
  const int result = Tracked::start_again(self, request);
  if (result == MPI_SUCCESS) {
    record(1, 0, {});
  } else if (!is_sender()) {
    set_stages(0, n_partitions_, Stage::kDone);
  }
  return result;
}

Status PartitionedRequest::finish(MPI_Status * /*status*/) {
  return is_sender() ? Status() : arrived(0, n_partitions_);
}

void PartitionedRequest::record(std::uint64_t calls, int n, std::chrono::nanoseconds time) const noexcept {
  if (!statistics::is_enabled()) return;
  const auto elements = static_cast<std::uint64_t>(n * count_);
  statistics::record(operation_, side.kind(), side.route(), calls, elements * side.region().layout->size_bytes, time);
}

}  // namespace sluice::ops
