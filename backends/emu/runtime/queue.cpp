// SPDX-License-Identifier: BSD-3-Clause
// The queue's thread and its tickets.
#include "runtime/queue.h"

#include <sched.h>
#include <sys/prctl.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <system_error>
#include <utility>

#include "../../signals_blocked.h"
#include "runtime/error.h"

namespace emurt {
namespace {

constexpr size_t kRememberedFailures = 4096;
// Looks at a ticket this often before the thread goes to sleep: a few microseconds, less than a wake-up costs.
constexpr int kLooksBeforeSleep = 200;

// Of the kernel that this thread runs, if it is a queue's.
constexpr unsigned kPausesBeforeSleep = 1000;
constexpr std::chrono::microseconds kPause{20};
constexpr std::chrono::milliseconds kLook{10};
thread_local const std::atomic<bool> *t_is_stopping = nullptr;
thread_local unsigned t_n_pauses = 0;

struct Taking {
  size_t size_bytes;  // of all units
  size_t unit_bytes;
  size_t most_bytes;
};

// The kernel of take(): its ranges are the destination, the first units and the word. A word that names bytes behind
// the last unit gets none of these.
void take_as_told(const void *arguments, void *const *memory) {
  constexpr unsigned kLengthBits = 24;
  Taking taking{};
  std::memcpy(&taking, arguments, sizeof(taking));
  const uint64_t word = __atomic_load_n(static_cast<const uint64_t *>(memory[2]), __ATOMIC_ACQUIRE);
  const size_t length = word & ((uint64_t{1} << kLengthBits) - 1);
  const size_t first = (static_cast<uint32_t>(word) >> kLengthBits) * taking.unit_bytes;
  if (first >= taking.size_bytes) return;
  std::memcpy(memory[0], static_cast<const std::byte *>(memory[1]) + first,
              std::min({length, taking.most_bytes, taking.size_bytes - first}));
}

}  // namespace

emu_result_t Queue::create(int32_t device, CopyEngine &engine, std::shared_ptr<Queue> *queue) {
  std::shared_ptr<Queue> made(new Queue(device, engine));
  const emu_result_t result = made->start_thread();
  if (result == EMU_SUCCESS) *queue = std::move(made);
  return result;
}

emu_result_t Queue::start_thread() {
  const sluice::backends::SignalsBlocked blocked;
  try {
    thread_ = std::thread([this] { run_thread(); });
  } catch (const std::system_error &error) {
    return fail(EMU_ERROR_QUEUE_FAILED, "no thread for a queue ({}); raise the limit of processes", error.what());
  }
  return EMU_SUCCESS;
}

Queue::~Queue() {
  stop();
}

void Queue::push(Operation operation) {
  if (captured_ != nullptr) return captured_->push_back(std::move(operation));
  {
    const std::scoped_lock lock(mutex_);
    operations_.push_back(std::move(operation));
    ++n_enqueued_;
  }
  work_.notify_one();
}

emu_result_t Queue::enqueue(const emu_copy_t *copies, size_t n_copies) {
  Operation operation;
  const emu_result_t result = engine_.check(copies, n_copies, &operation.copies);
  if (result != EMU_SUCCESS) return result;
  if (!operation.copies.empty()) push(std::move(operation));
  hold_back_caller();
  return EMU_SUCCESS;
}

emu_result_t Queue::launch(emu_kernel_t kernel, const void *arguments, size_t arguments_bytes,
                           std::span<const emu_range_t> ranges, size_t n_written) {
  const auto launch = std::make_shared<CheckedLaunch>();
  const emu_result_t result = engine_.check_launch(ranges, n_written, launch.get());
  if (result != EMU_SUCCESS) return result;
  launch->kernel = kernel;
  const auto *bytes = static_cast<const std::byte *>(arguments);
  if (arguments_bytes > 0) launch->arguments.assign(bytes, bytes + arguments_bytes);
  Operation operation;
  operation.launch = launch;
  push(std::move(operation));
  hold_back_caller();
  return EMU_SUCCESS;
}

void Queue::hold_back_caller() {
  const Clock::time_point back_at = engine_.machine().enqueue_done();
  if (back_at != Clock::time_point::min()) wait_until(back_at);
}

emu_result_t Queue::copy(void *dst, const void *src, size_t size_bytes) {
  const emu_copy_t copy{dst, src, size_bytes};
  std::vector<CheckedCopy> checked;
  emu_result_t result = check_not_captured();
  if (result == EMU_SUCCESS) result = engine_.check(&copy, 1, &checked);
  if (result != EMU_SUCCESS || checked.empty()) return result;
  bool is_idle = false;
  {
    const std::scoped_lock lock(mutex_);
    is_idle = n_run_ == n_enqueued_ && !is_held_ && !is_stopping_;
  }
  // Nothing is before it, and nobody else enqueues meanwhile: order is kept without a switch to the queue's thread.
  if (is_idle) return engine_.run(checked, CopyOrigin::kQueue);
  push({std::move(checked), 0, nullptr, nullptr, {}, {}});
  uint64_t ticket = 0;
  result = record(&ticket);
  return result == EMU_SUCCESS ? wait(ticket) : result;
}

emu_result_t Queue::write_word(uint64_t *word, uint64_t value) {
  return enqueue_word(word, value, false);
}

emu_result_t Queue::await_word(const uint64_t *word, uint64_t least) {
  return enqueue_word(word, least, true);
}

emu_result_t Queue::take(void *dst, const emu_range_t &from, size_t unit_bytes, size_t most_bytes,
                         const uint64_t *word) {
  CheckedWord checked;
  emu_result_t result = engine_.check_word(word, &checked);
  if (result != EMU_SUCCESS || most_bytes == 0) return result;
  std::array<emu_range_t, 3> ranges = {emu_range_t{dst, most_bytes}, from, emu_range_t{word, sizeof(*word)}};
  CheckedLaunch whole;
  result = engine_.check_launch(ranges, 1, &whole);
  if (result != EMU_SUCCESS) return result;
  result = engine_.check_units(whole.ranges[1]);
  if (result != EMU_SUCCESS) return result;
  // It takes the time of what may be copied, wherever that lies.
  ranges[1].size_bytes = std::min(from.size_bytes, most_bytes);
  const Taking taking = {from.size_bytes, unit_bytes, most_bytes};
  return launch(take_as_told, &taking, sizeof(taking), ranges, 1);
}

emu_result_t Queue::check_word(const uint64_t *word) {
  CheckedWord checked;
  return engine_.check_word(word, &checked);
}

emu_result_t Queue::pause_kernel() {
  if (t_is_stopping == nullptr) return fail(EMU_ERROR_INVALID_VALUE, "emu_kernel_pause: not called by a kernel");
  if (t_is_stopping->load(std::memory_order_relaxed)) {
    return fail(EMU_ERROR_SHUT_DOWN, "a kernel that waits: the process is exiting");
  }
  if (++t_n_pauses < kPausesBeforeSleep) {
    sched_yield();
  } else {
    std::this_thread::sleep_for(kPause);
  }
  return EMU_SUCCESS;
}

emu_result_t Queue::enqueue_word(const uint64_t *word, uint64_t value, bool is_wait) {
  const auto checked = std::make_shared<CheckedWord>();
  const emu_result_t result = engine_.check_word(word, checked.get());
  if (result != EMU_SUCCESS) return result;
  checked->value = value;
  checked->is_wait = is_wait;
  Operation operation;
  operation.word = checked;
  push(std::move(operation));
  hold_back_caller();
  return EMU_SUCCESS;
}

emu_result_t Queue::run_on_host(emu_host_function_t function, const void *arguments, size_t arguments_bytes) {
  Operation operation;
  operation.function.function = function;
  const auto *bytes = static_cast<const std::byte *>(arguments);
  if (arguments_bytes > 0) operation.function.arguments.assign(bytes, bytes + arguments_bytes);
  push(std::move(operation));
  hold_back_caller();
  return EMU_SUCCESS;
}

emu_result_t Queue::check_not_captured() const {
  if (captured_ == nullptr) return EMU_SUCCESS;
  return fail(EMU_ERROR_INVALID_VALUE, "the queue is being captured: nothing of it runs that could be awaited");
}

emu_result_t Queue::begin_capture() {
  static std::atomic<uint64_t> last_id{0};
  const emu_result_t result = check_not_captured();
  if (result != EMU_SUCCESS) return result;
  captured_ = std::make_unique<Graph>();
  capture_id_ = ++last_id;
  return EMU_SUCCESS;
}

emu_result_t Queue::end_capture(std::unique_ptr<Graph> *graph) {
  if (captured_ == nullptr) return fail(EMU_ERROR_INVALID_VALUE, "the queue is not being captured");
  *graph = std::move(captured_);
  return EMU_SUCCESS;
}

emu_result_t Queue::launch(const Graph &graph) {
  const emu_result_t result = check_not_captured();
  if (result != EMU_SUCCESS) return result;
  for (const Operation &operation : graph) push(operation);
  hold_back_caller();
  return EMU_SUCCESS;
}

// A queue that waits for itself waits for nothing.
emu_result_t Queue::await_queue(std::shared_ptr<Queue> other) {
  if (other.get() != this) {
    Operation operation;
    {
      const std::scoped_lock lock(other->mutex_);
      operation.awaited.n_run = other->n_enqueued_;
    }
    operation.awaited.queue = std::move(other);
    push(std::move(operation));
  }
  hold_back_caller();
  return EMU_SUCCESS;
}

emu_result_t Queue::record(uint64_t *ticket) {
  const emu_result_t result = check_not_captured();
  if (result != EMU_SUCCESS) return result;
  *ticket = last_ticket_.load(std::memory_order_relaxed) + 1;
  last_ticket_.store(*ticket, std::memory_order_release);
  push({{}, *ticket, nullptr, nullptr, {}, {}});
  return EMU_SUCCESS;
}

emu_result_t Queue::query(uint64_t ticket) {
  if (done_ticket_.load(std::memory_order_acquire) >= ticket && ticket != 0) return answer(ticket);
  if (ticket == 0 || ticket > last_ticket_.load(std::memory_order_acquire)) {
    return fail(EMU_ERROR_INVALID_VALUE, "ticket {} was never given out by this queue", ticket);
  }
  return EMU_NOT_READY;
}

emu_result_t Queue::answer(uint64_t ticket) {
  if (!has_failures_.load(std::memory_order_acquire)) return EMU_SUCCESS;
  const std::scoped_lock lock(mutex_);
  const auto it = failures_.find(ticket);
  return it == failures_.end() ? EMU_SUCCESS : fail_with_text(it->second.code, it->second.text);
}

emu_result_t Queue::wait(uint64_t ticket) {
  for (int i = 0; i < kLooksBeforeSleep; ++i) {
    const emu_result_t result = query(ticket);
    if (result != EMU_NOT_READY) return result;
#if defined(__x86_64__)
    __builtin_ia32_pause();
#endif
  }
  {
    std::unique_lock lock(mutex_);
    done_.wait(lock, [&] { return done_ticket_.load(std::memory_order_relaxed) >= ticket; });
  }
  return answer(ticket);
}

void Queue::hold() {
  const std::scoped_lock lock(mutex_);
  is_held_ = true;
}

void Queue::release() {
  {
    const std::scoped_lock lock(mutex_);
    is_held_ = false;
  }
  work_.notify_one();
}

void Queue::drain() {
  std::unique_lock lock(mutex_);
  const uint64_t target = n_enqueued_;
  done_.wait(lock, [&] { return n_run_ >= target || is_stopping_; });
}

void Queue::stop() {
  {
    const std::scoped_lock lock(mutex_);
    is_stopping_ = true;
  }
  work_.notify_one();
  if (thread_.joinable()) thread_.join();
  {
    // The thread is gone; whoever waits for what it will not run is told so.
    const std::scoped_lock lock(mutex_);
    for (const Operation &operation : operations_) {
      pending_ = {EMU_ERROR_SHUT_DOWN, "EMU_ERROR_SHUT_DOWN: the process is exiting; the queue was stopped"};
      if (operation.ticket != 0) finish_ticket(operation.ticket);
    }
    n_run_ = n_enqueued_;
    operations_.clear();
  }
  done_.notify_all();
}

void Queue::run_thread() {
  pthread_setname_np(pthread_self(), "emu-queue");
  prctl(PR_SET_TIMERSLACK, 1000UL, 0UL, 0UL, 0UL);
  t_is_stopping = &is_stopping_;
  std::unique_lock lock(mutex_);
  while (true) {
    work_.wait(lock, [this] { return is_stopping_ || (!operations_.empty() && !is_held_); });
    if (is_stopping_) return;
    const Operation operation = std::move(operations_.front());
    operations_.pop_front();
    lock.unlock();
    const emu_result_t result = run(operation);
    lock.lock();
    if (result != EMU_SUCCESS && pending_.code == EMU_SUCCESS) pending_ = {result, last_error()};
    ++n_run_;
    if (operation.ticket != 0) finish_ticket(operation.ticket);
    done_.notify_all();
  }
}

emu_result_t Queue::run(const Operation &operation) {
  t_n_pauses = 0;
  if (operation.launch != nullptr) return engine_.run_launch(*operation.launch);
  if (operation.word != nullptr) return engine_.run_word(*operation.word, is_stopping_);
  if (operation.awaited.queue != nullptr) return run_wait(operation.awaited);
  if (operation.function.function != nullptr) return run_function(operation.function);
  return operation.copies.empty() ? EMU_SUCCESS : engine_.run(operation.copies, CopyOrigin::kQueue);
}

emu_result_t Queue::run_function(const HostFunction &function) {
  const auto delay = engine_.delay();
  if (delay.count() > 0) wait_until(Clock::now() + delay);
  return function.function(function.arguments.data());
}

// Nobody wakes this thread through the other queue when its own is stopped, so it looks from time to time.
emu_result_t Queue::run_wait(const Awaited &awaited) {
  Queue &other = *awaited.queue;
  std::unique_lock lock(other.mutex_);
  while (other.n_run_ < awaited.n_run && !other.is_stopping_) {
    if (is_stopping_) return fail(EMU_ERROR_SHUT_DOWN, "a wait for another queue: the process is exiting");
    other.done_.wait_for(lock, kLook);
  }
  return EMU_SUCCESS;
}

// With mutex_ held.
void Queue::finish_ticket(uint64_t ticket) {
  if (pending_.code != EMU_SUCCESS) {
    failures_[ticket] = std::exchange(pending_, {});
    if (failures_.size() > kRememberedFailures) failures_.erase(failures_.begin());
    has_failures_.store(true, std::memory_order_release);
  }
  done_ticket_.store(ticket, std::memory_order_release);
}

}  // namespace emurt
