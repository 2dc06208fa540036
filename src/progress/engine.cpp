// SPDX-License-Identifier: BSD-3-Clause
#include "progress/engine.hpp"

#include <sched.h>

#include <iterator>
#include <utility>

namespace sluice::progress {

Engine &Engine::process() {
  static auto *engine = new Engine();
  return *engine;
}

void Engine::watch(std::shared_ptr<Task> task) {
  const std::scoped_lock lock(inbox_mutex_);
  inbox_.push_back(std::move(task));
  n_tasks_.fetch_add(1, std::memory_order_acq_rel);
  has_new_.store(true, std::memory_order_release);
  if (is_waited_for_) work_came_.notify_one();
}

void Engine::wait_until_busy(const std::atomic<bool> &is_ending) {
  std::unique_lock lock(inbox_mutex_);
  is_waited_for_ = true;
  work_came_.wait(lock, [&] { return is_busy() || is_ending.load(); });
  is_waited_for_ = false;
}

void Engine::wake() noexcept {
  const std::scoped_lock lock(inbox_mutex_);  // or the sleeper looks before, and sleeps after
  work_came_.notify_all();
}

void Engine::turn() {
  // No mutex: an error handler of the program, called within a turn, may come here again.
  if (is_turning_.exchange(true, std::memory_order_acquire)) return;
  struct End {
    std::atomic<bool> *is_turning;
    ~End() { is_turning->store(false, std::memory_order_release); }
  } const end{&is_turning_};
  ++turn_number_;
  if (has_new_.load(std::memory_order_acquire)) {
    const std::scoped_lock inbox_lock(inbox_mutex_);
    tasks_.insert(tasks_.end(), std::make_move_iterator(inbox_.begin()), std::make_move_iterator(inbox_.end()));
    inbox_.clear();
    has_new_.store(false, std::memory_order_release);
  }
  for (std::shared_ptr<Task> &task : tasks_) {
    if (task != nullptr && task->advance()) task.reset();  // null: left by a turn that an exception ended
  }
  const std::size_t n_done = std::erase(tasks_, nullptr);
  if (n_done != 0) n_tasks_.fetch_sub(n_done, std::memory_order_acq_rel);
}

void RecurringTask::come() {
  if (is_watched_) return;
  is_watched_ = true;
  Engine::process().watch(shared_from_this());
}

void Patience::look_at_clock() noexcept {
  constexpr std::chrono::milliseconds kSlow{10};
  if (std::chrono::steady_clock::now() - begin_ < kSlow) return;
  is_told_ = true;
  waiting::Described::write_slow(
      std::chrono::duration_cast<std::chrono::nanoseconds>(begin_.time_since_epoch()).count());
}

void Patience::pause() noexcept {
  // By time, not by number: a turn may take 100 ns or, with a network's software in it, 5 us, and what is waited for
  // may need this core.
  constexpr std::chrono::microseconds kLong{50};
  constexpr unsigned kPausesPerLook = 8;
  if (!is_over_) {
    if (n_pauses_++ % kPausesPerLook != 0) return;
    const auto now = std::chrono::steady_clock::now();
    if (n_pauses_ == 1) begin_ = now;
    is_over_ = now - begin_ > kLong;
    if (!is_over_) return;
  }
  constexpr unsigned kYieldsPerLook = 32;
  if (!is_told_ && ++n_pauses_ % kYieldsPerLook == 0) look_at_clock();
  // Ranks may outnumber the cores. The result says nothing: there is always this thread to go on with.
  [[maybe_unused]] const int yielded = sched_yield();
}

}  // namespace sluice::progress
