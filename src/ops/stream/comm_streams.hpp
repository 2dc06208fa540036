// SPDX-License-Identifier: BSD-3-Clause
// CommStreams: the streams that MPIX_Stream_comm_create attached to a communicator, as an attribute that its duplicates
// get, too; and the queue that carries what is enqueued on the communicator.
#pragma once

#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "base/status.hpp"
#include "ops/queue/batch_queue.hpp"
#include "ops/stream/named_streams.hpp"
#include "wire/mpi.hpp"

namespace sluice::ops::stream {

using QueuePtr = std::shared_ptr<queue::BatchQueue>;

// Any thread.
class CommStreams {
 public:
  // `numbers` as the program has them; streams of the host MPI's among them are known by their number alone. May throw
  // std::bad_alloc.
  explicit CommStreams(std::span<const int> numbers);
  // The same streams for a duplicate, whose queue is made when something is enqueued there.
  [[nodiscard]] std::shared_ptr<CommStreams> duplicate() const;

  [[nodiscard]] const std::vector<int> &numbers() const noexcept { return numbers_; }
  // The queue for messages on `comm`, to which this is attached; made by the first call. Errors: the communicator has
  // no stream of a device's, or several streams; those of making a queue (sluice/queue.h).
  [[nodiscard]] Status open_queue(MPI_Comm comm, QueuePtr *queue);
  // Waits until the stream has carried out all that was enqueued, and lets go of it. Blocks, in turns. Call it before
  // the communicator goes. One thread.
  void finish() noexcept;

 private:
  CommStreams() = default;

  std::vector<int> numbers_;
  std::vector<NamedStreamPtr> streams_;  // beside them; null for the host MPI's
  std::mutex mutex_;
  QueuePtr queue_;  // with mutex_
};

// What hangs on `comm`; null when nothing does. Any thread.
[[nodiscard]] std::shared_ptr<CommStreams> streams_of(MPI_Comm comm);
// Hangs it on `comm`. Errors: the host MPI refuses the attribute. Any thread.
[[nodiscard]] Status attach(MPI_Comm comm, const std::shared_ptr<CommStreams> &streams);

// Gives the attribute's key back. One thread: the one that ends MPI.
void release_comm_streams() noexcept;

}  // namespace sluice::ops::stream
