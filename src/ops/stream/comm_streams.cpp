// SPDX-License-Identifier: BSD-3-Clause
#include "ops/stream/comm_streams.hpp"

#include <atomic>
#include <exception>

#include "base/log.hpp"
#include "device/stream.hpp"
#include "ops/queue/carriers.hpp"
#include "ops/queue/queues.hpp"
#include "wire/host.hpp"
#include "wire/host_failure.hpp"

namespace sluice::ops::stream {
namespace {

using Attribute = std::shared_ptr<CommStreams>;

std::mutex key_mutex;
std::atomic<int> key{MPI_KEYVAL_INVALID};

int delete_streams(MPI_Comm /*comm*/, int /*keyval*/, void *value, void * /*extra*/) {
  const std::unique_ptr<Attribute> gone(static_cast<Attribute *>(value));
  return MPI_SUCCESS;
}

int copy_streams(MPI_Comm /*comm*/, int /*keyval*/, void * /*extra*/, void *value, void *copy, int *flag) {
  try {
    auto made = std::make_unique<Attribute>((*static_cast<Attribute *>(value))->duplicate());
    *static_cast<void **>(copy) = made.release();
    *flag = 1;
    return MPI_SUCCESS;
  } catch (const std::exception &) {
    return MPI_ERR_NO_MEM;
  }
}

}  // namespace

CommStreams::CommStreams(std::span<const int> numbers) : numbers_(numbers.begin(), numbers.end()) {
  for (const int number : numbers) streams_.push_back(NamedStreams::process().find(number));
}

std::shared_ptr<CommStreams> CommStreams::duplicate() const {
  std::shared_ptr<CommStreams> made(new CommStreams());
  made->numbers_ = numbers_;
  made->streams_ = streams_;
  return made;
}

Status CommStreams::open_queue(MPI_Comm comm, QueuePtr *queue) {
  const std::scoped_lock lock(mutex_);
  if (queue_ == nullptr) {
    if (numbers_.size() != 1) {
      return Status::error(ErrorKind::kInvalidArgument,
                           "the communicator has several streams, and operations are enqueued into the one stream of a "
                           "communicator; make it with MPIX_Stream_comm_create");
    }
    const NamedStreamPtr &named = streams_.front();
    if (named == nullptr || named->owner == nullptr) {
      return Status::error(ErrorKind::kInvalidArgument,
                           "the communicator's stream is the order of a thread and no stream of a device's; give "
                           "MPIX_Stream_create an info with `type` and `value`");
    }
    std::unique_ptr<device::Stream> opened;
    std::unique_ptr<queue::Carriers> carriers;
    Status status = device::Stream::open_of(*named->owner, named->native, &opened);
    if (status.is_ok()) status = queue::make_carriers(comm, *opened, &carriers);
    if (!status.is_ok()) return status;
    const auto made = std::make_shared<queue::BatchQueue>(comm, std::move(opened), std::move(carriers),
                                                          queue::BatchQueue::Waits::kForSome);
    queue::abandon_at_end(made);
    queue_ = made;
  }
  *queue = queue_;
  return {};
}

void CommStreams::finish() noexcept {
  QueuePtr queue;
  {
    const std::scoped_lock lock(mutex_);
    queue = std::move(queue_);
  }
  if (queue == nullptr) return;
  try {
    progress::turn_until([&] { return queue->is_idle(); });
    if (const Status status = queue->free(); !status.is_ok()) log::warn("ops", status.message());
  } catch (const std::exception &) {
    log::error("ops", "out of memory while a communicator with a stream is freed; lower the program's use of memory");
  }
}

std::shared_ptr<CommStreams> streams_of(MPI_Comm comm) {
  const int known = key.load(std::memory_order_acquire);
  if (known == MPI_KEYVAL_INVALID || comm == MPI_COMM_NULL) return nullptr;
  void *value = nullptr;
  int is_set = 0;
  const int result = wire::host().MPI_Comm_get_attr(comm, known, static_cast<void *>(&value), &is_set);
  return result == MPI_SUCCESS && is_set != 0 ? *static_cast<Attribute *>(value) : nullptr;
}

Status attach(MPI_Comm comm, const std::shared_ptr<CommStreams> &streams) {
  const wire::Host &host = wire::host();
  const std::scoped_lock lock(key_mutex);
  int known = key.load(std::memory_order_relaxed);
  if (known == MPI_KEYVAL_INVALID) {
    const int made = host.MPI_Comm_create_keyval(&copy_streams, &delete_streams, &known, nullptr);
    if (made != MPI_SUCCESS) return wire::host_failure(made, "make an attribute key");
    key.store(known, std::memory_order_release);
  }
  auto value = std::make_unique<Attribute>(streams);
  const int result = host.MPI_Comm_set_attr(comm, known, value.get());
  if (result != MPI_SUCCESS) return wire::host_failure(result, "attach a stream to a communicator");
  [[maybe_unused]] const Attribute *theirs = value.release();  // the communicator's now
  return {};
}

void release_comm_streams() noexcept {
  int known = key.exchange(MPI_KEYVAL_INVALID);
  if (known != MPI_KEYVAL_INVALID && wire::host().MPI_Comm_free_keyval(&known) != MPI_SUCCESS) {
    log::warn("ops", "the host MPI could not free the attribute key of streams");
  }
}

}  // namespace sluice::ops::stream
