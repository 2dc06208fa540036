// SPDX-License-Identifier: BSD-3-Clause
// The loop-back runtime's streams, events and copies.
#include <atomic>
#include <cstring>
#include <set>
#include <utility>

#include "loopback.h"

using loopback::current;
using loopback::is_broken;
using loopback::state;

ihipStream_t::ihipStream_t(int device) : device_(device), worker_([this] { run(); }) {}

ihipStream_t::~ihipStream_t() {
  {
    const std::scoped_lock lock(mutex_);
    is_closing_ = true;
  }
  changed_.notify_all();
  worker_.join();
}

uint64_t ihipStream_t::enqueue(std::function<void()> work) {
  const std::scoped_lock lock(mutex_);
  waiting_.push_back(std::move(work));
  changed_.notify_all();
  return ++n_enqueued_;
}

uint64_t ihipStream_t::n_enqueued() {
  const std::scoped_lock lock(mutex_);
  return n_enqueued_;
}

void ihipStream_t::wait(uint64_t number) {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return *n_done_ >= number; });
}

void ihipStream_t::run() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return is_closing_ || !waiting_.empty(); });
    if (waiting_.empty()) return;
    const std::function<void()> work = std::move(waiting_.front());
    waiting_.pop_front();
    lock.unlock();
    work();
    lock.lock();
    ++*n_done_;
    changed_.notify_all();
  }
}

void loopback::hold_up() {
  if (state().n_waits == 0) return;
  ++state().n_held_up;
  while (state().n_waits != 0) std::this_thread::yield();
  --state().n_held_up;
}

int loopback_held_up() {
  return state().n_held_up;
}

namespace {

// Streams that are there, for hipDeviceSynchronize.
std::mutex g_streams_mutex;
std::set<hipStream_t> &streams() {
  static auto *const all = new std::set<hipStream_t>();
  return *all;
}

void move(void *dst, const void *src, size_t size_bytes) {
  if (!is_broken()) std::memmove(dst, src, size_bytes);
}

}  // namespace

hipError_t hipStreamCreateWithFlags(hipStream_t *stream, unsigned /*flags*/) {
  *stream = new ihipStream_t(current());
  const std::scoped_lock lock(g_streams_mutex);
  streams().insert(*stream);
  return hipSuccess;
}
hipError_t hipStreamDestroy(hipStream_t stream) {
  {
    const std::scoped_lock lock(g_streams_mutex);
    streams().erase(stream);
  }
  delete stream;
  return hipSuccess;
}
hipError_t hipStreamSynchronize(hipStream_t stream) {
  stream->wait(stream->n_enqueued());
  return is_broken() ? hipErrorIllegalAddress : hipSuccess;
}
hipError_t hipDeviceSynchronize() {
  const std::scoped_lock lock(g_streams_mutex);
  for (const hipStream_t stream : streams()) {
    if (stream->device() == current()) stream->wait(stream->n_enqueued());
  }
  return is_broken() ? hipErrorIllegalAddress : hipSuccess;
}
int hipGetStreamDeviceId(hipStream_t stream) {
  return stream->device();
}
hipError_t hipStreamIsCapturing(hipStream_t /*stream*/, hipStreamCaptureStatus *status) {
  *status = hipStreamCaptureStatusNone;
  return hipSuccess;
}

hipError_t hipMemcpy(void *dst, const void *src, size_t size_bytes, hipMemcpyKind /*kind*/) {
  if (!loopback::is_inside(dst, size_bytes) || !loopback::is_inside(src, size_bytes)) return hipErrorInvalidValue;
  move(dst, src, size_bytes);
  return is_broken() ? hipErrorIllegalAddress : hipSuccess;
}
hipError_t hipMemcpyAsync(void *dst, const void *src, size_t size_bytes, hipMemcpyKind /*kind*/, hipStream_t stream) {
  if (!loopback::is_inside(dst, size_bytes) || !loopback::is_inside(src, size_bytes)) return hipErrorInvalidValue;
  stream->enqueue([=] { move(dst, src, size_bytes); });
  return hipSuccess;
}

hipError_t hipStreamWriteValue64(hipStream_t stream, void *address, uint64_t value, unsigned /*flags*/) {
  if (loopback::refuses("operations")) return hipErrorNotSupported;
  if (!loopback::is_inside(address, sizeof value)) return hipErrorInvalidValue;
  ++state().n_operations;
  stream->enqueue([=] {
    if (!is_broken()) std::atomic_ref<uint64_t>(*static_cast<uint64_t *>(address)).store(value);
  });
  return hipSuccess;
}
hipError_t hipStreamWaitValue64(hipStream_t stream, void *address, uint64_t value, unsigned flags, uint64_t mask) {
  if (flags != hipStreamWaitValueGte || loopback::refuses("operations")) return hipErrorNotSupported;
  ++state().n_operations;
  ++state().n_waits;
  stream->enqueue([=] {
    const std::atomic_ref<uint64_t> word(*static_cast<uint64_t *>(address));
    while ((word.load() & mask) < value && !is_broken()) std::this_thread::yield();
    --state().n_waits;
  });
  return hipSuccess;
}

hipError_t hipEventCreateWithFlags(hipEvent_t *event, unsigned /*flags*/) {
  *event = new ihipEvent_t();
  return hipSuccess;
}
hipError_t hipEventDestroy(hipEvent_t event) {
  delete event;
  return hipSuccess;
}
hipError_t hipEventRecord(hipEvent_t event, hipStream_t stream) {
  event->done = stream->done();
  event->number = stream->n_enqueued();
  return hipSuccess;
}
hipError_t hipStreamWaitEvent(hipStream_t stream, hipEvent_t event, unsigned /*flags*/) {
  // It waits for what the event stands for now, whatever becomes of the event and of its stream.
  if (event->done == nullptr || event->done == stream->done()) return hipSuccess;
  stream->enqueue([stands_for = *event] {
    while (!stands_for.has_come() && !is_broken()) std::this_thread::yield();
  });
  return hipSuccess;
}
hipError_t hipEventQuery(hipEvent_t event) {
  if (is_broken()) return hipErrorIllegalAddress;
  return event->has_come() ? hipSuccess : hipErrorNotReady;
}
hipError_t hipEventSynchronize(hipEvent_t event) {
  while (!event->has_come() && !is_broken()) std::this_thread::yield();
  return is_broken() ? hipErrorIllegalAddress : hipSuccess;
}
