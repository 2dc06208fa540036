// SPDX-License-Identifier: BSD-3-Clause
// Owns the list of words that queues wait for, and the thread that looks at them.
#include "watcher.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "../signals_blocked.h"
#include "../stream_waits.h"

namespace sluice::backends::sycl {

namespace {

using std::chrono::microseconds;

// So many looks in a row, the processor given to others in between; then it sleeps between looks, longer each time.
constexpr unsigned kLooksAwake = 64;
constexpr microseconds kFirstSleep{10};
constexpr microseconds kLongestSleep{200};

struct Watched {
  const uint64_t *word;
  uint64_t least;
  std::shared_ptr<HostEvent> event;

  bool is_due() const { return __atomic_load_n(word, __ATOMIC_ACQUIRE) >= least; }
};

class Watcher {
 public:
  Outcome watch(const uint64_t *word, uint64_t least, std::shared_ptr<HostEvent> event) {
    const std::scoped_lock lock(mutex_);
    if (!failure_.is_success()) return failure_;
    Outcome outcome = start();
    if (!outcome.is_success()) return outcome;
    watched_.push_back({word, least, std::move(event)});
    changed_.notify_one();
    return {};
  }

  void words_gone(const void *begin, size_t size_bytes) {
    const auto first = reinterpret_cast<uintptr_t>(begin);
    const std::scoped_lock lock(mutex_);
    complete_those([&](const Watched &one) { return reinterpret_cast<uintptr_t>(one.word) - first < size_bytes; });
  }

  void stop() {
    std::thread ending;
    {
      const std::scoped_lock lock(mutex_);
      if (!is_exiting()) complete_those([](const Watched &) { return true; });
      is_stopping_ = true;
      changed_.notify_one();
      ending = std::exchange(thread_, {});
    }
    if (!ending.joinable()) return;
    // A fork's child has no such thread.
    if (of_process_ == getpid()) {
      ending.join();
    } else {
      ending.detach();
    }
  }

 private:
  // With the lock.
  Outcome start() {
    if (thread_.joinable()) return {};
    try {
      const SignalsBlocked blocked;
      is_stopping_ = false;
      thread_ = std::thread([this] { run(); });
      of_process_ = getpid();
    } catch (const std::system_error &error) {
      return {SLUICE_ERROR_UNSUPPORTED, std::string("no thread to watch words with: ") + error.what()};
    }
    return {};
  }

  void run() {
    std::unique_lock lock(mutex_);
    unsigned n_in_vain = 0;
    microseconds sleep = kFirstSleep;
    while (!is_stopping_ && !is_exiting()) {
      if (watched_.empty()) {
        changed_.wait(lock);
        n_in_vain = 0;
      } else if (complete_those([](const Watched &one) { return one.is_due(); })) {
        n_in_vain = 0;
      } else if (++n_in_vain < kLooksAwake) {
        sleep = kFirstSleep;
        lock.unlock();
        std::this_thread::yield();
        lock.lock();
      } else if (changed_.wait_for(lock, sleep) == std::cv_status::timeout) {
        sleep = std::min(2 * sleep, kLongestSleep);
      }
    }
  }

  // With the lock. Whether there was one. An event that cannot be completed is let go, and told by all later calls.
  template <typename Which>
  bool complete_those(const Which &which) {
    const auto first =
        std::partition(watched_.begin(), watched_.end(), [&](const Watched &one) { return !which(one); });
    const bool is_any = first != watched_.end();
    for (auto one = first; one != watched_.end(); ++one) {
      Outcome outcome = one->event->complete();
      if (outcome.is_success()) continue;
      outcome.text += "; a stream of the program's waits for ever, so end the program";
      failure_ = std::move(outcome);
    }
    watched_.erase(first, watched_.end());
    return is_any;
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Watched> watched_;
  Outcome failure_;  // of an event
  std::thread thread_;
  pid_t of_process_ = 0;
  bool is_stopping_ = false;
};

// Never destroyed: memory may be given back while the process exits.
Watcher &watcher() {
  static auto *made = new Watcher();
  return *made;
}

}  // namespace

Outcome watch(const uint64_t *word, uint64_t least, std::shared_ptr<HostEvent> event) {
  return watcher().watch(word, least, std::move(event));
}

void words_gone(const void *begin, size_t size_bytes) {
  backends::words_gone(begin, size_bytes);
  watcher().words_gone(begin, size_bytes);
}

void stop_watching() {
  watcher().stop();
}

}  // namespace sluice::backends::sycl
