// SPDX-License-Identifier: BSD-3-Clause
// The loop-back driver's streams and events.
#include <atomic>
#include <mutex>
#include <thread>
#include <utility>

#include "loopback.h"

using loopback::current;
using loopback::state;

// A stream has a worker of its own, which runs what it is given, in order.
CUstream_st::CUstream_st(CUcontext owner, bool has_priority)
    : context_(owner), has_priority_(has_priority), worker_([this] { run(); }) {
  if (has_priority_) ++state().n_priority_streams;
}

CUstream_st::~CUstream_st() {
  wait(n_enqueued());
  {
    const std::scoped_lock lock(mutex_);
    is_ending_ = true;
  }
  changed_.notify_all();
  worker_.join();
  if (has_priority_) --state().n_priority_streams;
  --state().n_streams;
}

void CUstream_st::run() {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [this] { return !waiting_.empty() || is_ending_; });
    if (waiting_.empty()) return;
    const std::function<void()> work = std::move(waiting_.front());
    waiting_.pop_front();
    changed_.notify_all();
    lock.unlock();
    while (has_priority_ && state().holds_priority) std::this_thread::yield();
    work();
    lock.lock();
    ++*n_done_;
    changed_.notify_all();
  }
}

uint64_t CUstream_st::enqueue(std::function<void()> work) {
  if (capture_ != nullptr) {
    loopback::capture({std::move(work)}, capture_.get());
    return n_enqueued();
  }
  std::unique_lock lock(mutex_);
  if (waiting_.size() >= loopback::kStreamDepth) {
    ++state().n_held_up;
    changed_.wait(lock, [this] { return waiting_.size() < loopback::kStreamDepth; });
    --state().n_held_up;
  }
  waiting_.push_back(std::move(work));
  changed_.notify_all();
  return ++n_enqueued_;
}

uint64_t CUstream_st::n_enqueued() {
  const std::scoped_lock lock(mutex_);
  return n_enqueued_;
}

uint64_t CUstream_st::n_done() {
  return *n_done_;
}

void CUstream_st::wait(uint64_t number) {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return *n_done_ >= number; });
}

void loopback::hold_up() {
  if (state().n_waits == 0) return;
  ++state().n_held_up;
  while (state().n_waits != 0) std::this_thread::yield();
  --state().n_held_up;
}

void loopback::take_room() {
  if (++state().n_streams <= state().n_room) return;
  hold_up();
  state().n_room += kStreamsOfRoom;
}

namespace {

// A thread's own default stream, from its first use on.
struct OwnDefaultStream {
  OwnDefaultStream() { loopback::take_room(); }
  ~OwnDefaultStream() { --state().n_streams; }
  OwnDefaultStream(const OwnDefaultStream &) = delete;
  OwnDefaultStream &operator=(const OwnDefaultStream &) = delete;
};

bool is_default(CUstream stream) {
  if (stream == CU_STREAM_PER_THREAD) {
    thread_local const OwnDefaultStream own;
    static_cast<void>(&own);
  }
  return stream == CU_STREAM_LEGACY || stream == CU_STREAM_PER_THREAD;
}

bool is_broken() {
  const std::scoped_lock lock(state().mutex);
  return state().is_broken;
}

void *pointer(CUdeviceptr address) {
  return reinterpret_cast<void *>(address);
}

}  // namespace

CUresult cuStreamCreate(CUstream *stream, unsigned /*flags*/) {
  if (current() == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
  loopback::take_room();
  *stream = new CUstream_st(current(), false);
  return CUDA_SUCCESS;
}

namespace {

// As devices have them: the greatest is the least number.
constexpr int kLeastPriority = 0;
constexpr int kGreatestPriority = -5;

}  // namespace

CUresult cuCtxGetStreamPriorityRange(int *least, int *greatest) {
  if (current() == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
  *least = kLeastPriority;
  *greatest = kGreatestPriority;
  return CUDA_SUCCESS;
}

CUresult cuStreamCreateWithPriority(CUstream *stream, unsigned /*flags*/, int priority) {
  if (current() == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
  loopback::take_room();
  *stream = new CUstream_st(current(), priority <= kGreatestPriority);
  return CUDA_SUCCESS;
}

// Returns at once; the stream goes when what is in it has run.
CUresult cuStreamDestroy(CUstream stream) {
  if (stream->n_done() == stream->n_enqueued()) {
    delete stream;
  } else {
    std::thread([stream] { delete stream; }).detach();
  }
  return CUDA_SUCCESS;
}

CUresult cuStreamSynchronize(CUstream stream) {
  // As below: nothing is ever under way there.
  if (is_default(stream)) {
    const std::scoped_lock lock(state().mutex);
    ++state().n_default_waits;
    return CUDA_SUCCESS;
  }
  if (stream->capture() != nullptr) return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  stream->wait(stream->n_enqueued());
  return CUDA_SUCCESS;
}

CUresult cuStreamQuery(CUstream stream) {
  // The default streams are never busy: the blocking copies of this driver are.
  if (is_default(stream)) return CUDA_SUCCESS;
  if (is_broken()) return CUDA_ERROR_ILLEGAL_ADDRESS;
  return stream->n_done() == stream->n_enqueued() ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY;
}

CUresult cuStreamWriteValue64(CUstream stream, CUdeviceptr address, cuuint64_t value, unsigned /*flags*/) {
  if (stream->context() != current()) return CUDA_ERROR_INVALID_CONTEXT;
  ++state().n_word_writes;
  stream->enqueue([=] {
    if (is_broken()) return;
    std::atomic_ref<cuuint64_t>(*static_cast<cuuint64_t *>(pointer(address))).store(value, std::memory_order_release);
  });
  return CUDA_SUCCESS;
}

CUresult cuStreamWaitValue64(CUstream stream, CUdeviceptr address, cuuint64_t value, unsigned flags) {
  if (stream->context() != current()) return CUDA_ERROR_INVALID_CONTEXT;
  if (flags != CU_STREAM_WAIT_VALUE_GEQ) return CUDA_ERROR_NOT_SUPPORTED;
  ++state().n_waits;
  stream->enqueue([=] {
    const std::atomic_ref<cuuint64_t> word(*static_cast<cuuint64_t *>(pointer(address)));
    while (word.load(std::memory_order_acquire) < value && !is_broken()) std::this_thread::yield();
    --state().n_waits;
  });
  return CUDA_SUCCESS;
}

CUresult cuStreamGetCtx(CUstream stream, CUcontext *context) {
  *context = stream->context();
  return CUDA_SUCCESS;
}

CUresult cuStreamIsCapturing(CUstream stream, CUstreamCaptureStatus *status) {
  const std::scoped_lock lock(state().mutex);
  *status = stream == state().captured || stream->capture() != nullptr ? CU_STREAM_CAPTURE_STATUS_ACTIVE
                                                                       : CU_STREAM_CAPTURE_STATUS_NONE;
  return CUDA_SUCCESS;
}

CUresult cuStreamBatchMemOp(CUstream stream, unsigned count, CUstreamBatchMemOpParams *writes, unsigned /*flags*/) {
  if (state().refuses_batches) return CUDA_ERROR_INVALID_VALUE;
  if (stream->context() != current()) return CUDA_ERROR_INVALID_CONTEXT;
  ++state().n_batches;
  for (unsigned i = 0; i < count; ++i) {
    const auto &one = writes[i].writeValue;
    const bool is_wide = one.operation == CU_STREAM_MEM_OP_WRITE_VALUE_64;
    if (one.address % (is_wide ? 8 : 4) != 0) return CUDA_ERROR_INVALID_VALUE;
    const cuuint64_t value = is_wide ? one.value64 : one.value;
    stream->enqueue([=, address = one.address] {
      if (is_broken()) return;
      const auto narrow = static_cast<cuuint32_t>(value);
      if (is_wide) __atomic_store_n(static_cast<cuuint64_t *>(pointer(address)), value, __ATOMIC_RELEASE);
      if (!is_wide) __atomic_store_n(static_cast<cuuint32_t *>(pointer(address)), narrow, __ATOMIC_RELEASE);
    });
  }
  return CUDA_SUCCESS;
}

CUresult cuEventCreate(CUevent *event, unsigned /*flags*/) {
  *event = new CUevent_st();
  return CUDA_SUCCESS;
}

CUresult cuEventDestroy(CUevent event) {
  delete event;
  return CUDA_SUCCESS;
}

CUresult cuEventRecord(CUevent event, CUstream stream) {
  event->done = stream->done();
  event->number = stream->n_enqueued();
  return CUDA_SUCCESS;
}

// It waits for what the event stands for now, whatever becomes of the event and of its stream.
CUresult cuStreamWaitEvent(CUstream stream, CUevent event, unsigned /*flags*/) {
  if (stream->context() != current()) return CUDA_ERROR_INVALID_CONTEXT;
  const auto forgotten = stream->has_priority() ? loopback::Forgotten::kByPriority : loopback::Forgotten::kByOthers;
  if (event->done == nullptr || state().forgotten == forgotten) return CUDA_SUCCESS;
  stream->enqueue([stands_for = *event] {
    ++state().n_at_events;
    while (!stands_for.has_come() && !is_broken()) std::this_thread::yield();
    --state().n_at_events;
  });
  return CUDA_SUCCESS;
}

CUresult cuEventQuery(CUevent event) {
  return event->has_come() ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY;
}

CUresult cuEventSynchronize(CUevent event) {
  while (!event->has_come() && !is_broken()) std::this_thread::yield();
  return CUDA_SUCCESS;
}
