// SPDX-License-Identifier: BSD-3-Clause
// PartitionedRequest: what a partitioned operation (MPI_Psend_init, MPI_Precv_init) on device buffers owes. A partition
// is brought down before the host MPI hears that it is ready, and up, once for each start, when it has arrived.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

#include "ops/p2p/side.hpp"
#include "progress/tracked_requests.hpp"

namespace sluice::ops {

class PartitionedRequest final : public progress::Tracked {
 public:
  // Of `n_partitions` (> 0) with `count` elements each.
  PartitionedRequest(Operation operation, MPI_Comm communicator, int n_partitions, MPI_Count count);

  // All partitions, one after the other: what is received into, or sent, never as an image. Staged and open before the
  // first start.
  Side side;

  [[nodiscard]] bool is_sender() const noexcept { return operation_ == Operation::kPsendInit; }
  [[nodiscard]] bool has_partition(int index) const noexcept { return index >= 0 && index < n_partitions_; }

  // Brings down, of a send, `n` partitions from `first` on. Blocks. Any thread, also while another one is in a
  // completion call for this request.
  [[nodiscard]] Status ready(int first, int n);

  // Brings up, of a receive, `n` partitions from `first` on, which have arrived; those that no other call has brought
  // up since the start, and waits for what other threads are bringing up. After an error the partitions are still owed.
  // Blocks. Any thread.
  [[nodiscard]] Status arrived(int first, int n);

  // Nothing: it is MPI_Pready that says when the data is there.
  [[nodiscard]] Status prepare() override { return {}; }
  // From now on the partitions of a receive are owed.
  [[nodiscard]] int start_again(const std::shared_ptr<Tracked> &self, MPI_Request *request) override;
  // Brings up what MPI_Parrived has not.
  [[nodiscard]] Status finish(MPI_Status *status) override;
  // To cancel an active partitioned request is an error of the program's; half of the partitions must not stay away.
  [[nodiscard]] bool ignores_cancel() const noexcept override { return true; }

 private:
  enum class Stage : std::uint8_t { kDone, kOwed, kCopying };
  [[nodiscard]] std::atomic<Stage> &stage(int partition) const noexcept {
    return stages_[static_cast<std::size_t>(partition)];
  }
  [[nodiscard]] bool claim(int partition) const noexcept;
  void set_stages(int first, int end, Stage stage) const noexcept;
  void record(std::uint64_t calls, int n, std::chrono::nanoseconds time) const noexcept;

  const Operation operation_;
  const int n_partitions_;
  const MPI_Count count_;
  const std::unique_ptr<std::atomic<Stage>[]> stages_;  // of a receive, one for each partition
};

}  // namespace sluice::ops
