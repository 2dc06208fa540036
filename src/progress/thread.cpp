// SPDX-License-Identifier: BSD-3-Clause
#include "progress/thread.hpp"

#include <chrono>
#include <exception>
#include <string>
#include <system_error>

#include "base/log.hpp"
#include "base/signals_blocked.hpp"
#include "progress/engine.hpp"

namespace sluice::progress {
namespace {

// Whoever gives a sleeping thread something to do pays for waking it: some microseconds, more than all else that
// starting a message costs. So the thread looks a while longer, which is long enough for the next one of a series, and
// lets others run meanwhile. False: nothing came, or it is to end.
bool linger(const Engine &engine, const std::atomic<bool> &is_ending) noexcept {
  constexpr std::chrono::microseconds kLong{200};
  const auto begin = std::chrono::steady_clock::now();
  Patience patience;
  while (!engine.is_busy() && !is_ending.load(std::memory_order_relaxed)) {
    if (std::chrono::steady_clock::now() - begin > kLong) return false;
    patience.pause();
  }
  return !is_ending.load();
}

}  // namespace

ProgressThread &ProgressThread::process() {
  static auto *thread = new ProgressThread();
  return *thread;
}

Status ProgressThread::start() {
  if (thread_.joinable()) return {};
  is_ending_.store(false);
  try {
    const SignalsBlocked blocked;
    thread_ = std::thread([this] { run(); });
    is_running_.store(true, std::memory_order_relaxed);
  } catch (const std::system_error &error) {
    return Status::error(ErrorKind::kOutOfMemory, std::string("the progress thread could not be made: ") +
                                                      error.what() + "; raise the limit of threads (ulimit -u)");
  }
  return {};
}

void ProgressThread::stop() noexcept {
  if (!thread_.joinable()) return;
  is_ending_.store(true);
  is_running_.store(false, std::memory_order_relaxed);
  Engine::process().wake();
  try {
    thread_.join();
  } catch (const std::system_error &error) {
    log::error("progress", std::string("the progress thread did not end: ") + error.what());
  }
}

void ProgressThread::run() noexcept {
  Engine &engine = Engine::process();
  while (!is_ending_.load()) {
    engine.wait_until_busy(is_ending_);
    try {
      Patience patience;
      while (engine.is_busy() && !is_ending_.load()) {
        engine.turn();
        patience.pause();
        if (!engine.is_busy() && linger(engine, is_ending_)) patience.restart();
      }
    } catch (const std::exception &error) {
      log::warn_once("progress_thread", "progress",
                     std::string("a turn of the progress thread failed: ") + error.what());
    }
  }
}

}  // namespace sluice::progress
