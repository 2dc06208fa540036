// SPDX-License-Identifier: BSD-3-Clause
// ProgressThread: takes turns of the engine while the program computes, or sits in a call of the host MPI that serves
// nobody (MPI_Win_lock, MPI_Comm_accept). Optional (SLUICE_PROGRESS_THREAD), because it needs MPI_THREAD_MULTIPLE and
// keeps a core busy as long as messages are under way; it sleeps while none are.
#pragma once

#include <atomic>
#include <thread>

#include "base/status.hpp"

namespace sluice::progress {

// One thread at a time, but for is_running().
class ProgressThread {
 public:
  // The process's. Never destroyed.
  static ProgressThread &process();

  // Starts it. The host MPI gives MPI_THREAD_MULTIPLE. Errors: the system has no thread to give.
  [[nodiscard]] Status start();
  // Ends it and waits for its turn to end. Nothing when it does not run. Not within a turn.
  void stop() noexcept;
  // Between the two. Any thread.
  [[nodiscard]] bool is_running() const noexcept { return is_running_.load(std::memory_order_relaxed); }

 private:
  void run() noexcept;

  std::atomic<bool> is_ending_{false};
  std::atomic<bool> is_running_{false};
  std::thread thread_;
};

}  // namespace sluice::progress
