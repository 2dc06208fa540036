// SPDX-License-Identifier: BSD-3-Clause
// Engine: what this process still has to do for messages under way, done in turns by whoever is inside an MPI call.
//
// Turns wait for no other rank and are never nested: a call that finds another thread at it goes on without. A process
// serves its peers while it is in MPI, as with a host MPI that has no progress thread; unless it has one of ours
// (thread.hpp). docs/threads.md says what a turn may wait for.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "base/short_mutex.hpp"
#include "base/waiting.hpp"

namespace sluice::progress {

// Something that goes on in steps.
class Task {
 public:
  Task() noexcept = default;
  virtual ~Task() = default;
  Task(const Task &) = delete;
  Task &operator=(const Task &) = delete;
  Task(Task &&) = delete;
  Task &operator=(Task &&) = delete;

  // Goes as far as is possible without waiting for a peer. True when there is nothing left to do; it is not called
  // again then. One thread at a time. May watch() further tasks.
  [[nodiscard]] virtual bool advance() = 0;
};

// A task that comes and goes: the engine has it while there is anything to do. Held by a shared_ptr.
class RecurringTask : public Task, public std::enable_shared_from_this<RecurringTask> {
 protected:
  // There is something to do. The caller holds mutex_.
  void come();
  // What advance() returns: whether there is nothing left to do, `is_idle`. The caller holds mutex_.
  [[nodiscard]] bool may_go(bool is_idle) noexcept {
    is_watched_ = !is_idle;
    return is_idle;
  }

  ShortMutex mutex_;  // of what others give this to do

 private:
  bool is_watched_ = false;  // with mutex_
};

// The process's one task of a kind; made by the first call from `arguments`, never destroyed.
template <typename Kind, typename... Arguments>
Kind &process_task(const Arguments &...arguments) {
  static auto *made = new std::shared_ptr<Kind>(std::make_shared<Kind>(arguments...));
  return **made;
}

// One thread's. Waits a moment between two turns of a loop that found nothing done: not at all at first, later (50 us
// after the first pause) by letting others run. After 10 ms it writes what the thread waits for (base/waiting.hpp).
class Patience {
 public:
  Patience() noexcept = default;
  ~Patience() {
    if (is_told_) waiting::clear();
  }
  Patience(const Patience &) = delete;
  Patience &operator=(const Patience &) = delete;
  Patience(Patience &&) = delete;
  Patience &operator=(Patience &&) = delete;

  // Returns soon, whatever it waits for; the caller looks again.
  void pause() noexcept;
  // As a fresh one: what was waited for has come.
  void restart() noexcept {
    if (is_told_) waiting::clear();
    n_pauses_ = 0;
    is_over_ = false;
    is_told_ = false;
  }

 private:
  void look_at_clock() noexcept;

  unsigned n_pauses_ = 0;
  bool is_over_ = false;
  bool is_told_ = false;
  std::chrono::steady_clock::time_point begin_;
};

// Any thread, where nothing else is said.
class Engine {
 public:
  // The process's. Never destroyed.
  static Engine &process();

  // Has `task` advanced in every turn until it is done. Any thread, from within a turn too.
  void watch(std::shared_ptr<Task> task);

  // Anything to do: then no call may block in the host MPI. Hot.
  [[nodiscard]] bool is_busy() const noexcept { return n_tasks_.load(std::memory_order_acquire) != 0; }

  // Advances all tasks once. Returns at once when another thread is at it. Any thread; throws std::bad_alloc.
  void turn();

  // A number for the turn that the caller is in: each turn has another one, and none has 0.
  [[nodiscard]] std::uint64_t turn_number() const noexcept { return turn_number_; }

  // Sleeps until there is something to do, or `is_ending` is set and wake() called. For the progress thread.
  void wait_until_busy(const std::atomic<bool> &is_ending);
  void wake() noexcept;

 private:
  std::atomic<bool> is_turning_{false};
  std::vector<std::shared_ptr<Task>> tasks_;  // belongs to the turn
  std::uint64_t turn_number_ = 0;             // the same
  ShortMutex inbox_mutex_;
  std::vector<std::shared_ptr<Task>> inbox_;
  std::atomic<bool> has_new_{false};
  std::atomic<std::size_t> n_tasks_{0};
  bool is_waited_for_ = false;             // somebody sleeps; with inbox_mutex_
  std::condition_variable_any work_came_;  // with inbox_mutex_
};

// Turns until `is_done` says so; it is asked after each turn, at least once.
template <typename Condition>
void turn_until(Condition is_done) {
  Patience patience;
  for (;;) {
    Engine::process().turn();
    if (is_done()) return;
    patience.pause();
  }
}

}  // namespace sluice::progress
