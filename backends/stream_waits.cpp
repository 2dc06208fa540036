// SPDX-License-Identifier: BSD-3-Clause
// Owns the list of waits that streams of the program's were given, and what is given back after them.
#include "stream_waits.h"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <shared_mutex>
#include <utility>
#include <vector>

namespace sluice::backends {

namespace {

struct Wait {
  const uint64_t *word;
  uint64_t least;
};

// Never destroyed: memory may be given back while the process exits.
struct All {
  std::mutex mutex;
  std::vector<Wait> waits;
  size_t last_found = 0;  // the same words are waited for in the same order again and again
  std::vector<std::function<void()>> releases;
};

All &all() {
  static auto *made = new All();
  return *made;
}

// So that nobody takes the lock as long as no queue is used.
std::atomic<bool> g_has_waits{false};
std::atomic<bool> g_has_releases{false};
std::atomic<uint64_t> g_generation{0};  // of words

// Shared by whoever makes or frees something, whole for whoever adds a wait.
std::shared_mutex &quiet_mutex() {
  static auto *made = new std::shared_mutex();
  return *made;
}
thread_local unsigned t_quiet_depth = 0;  // only the outermost of a thread locks

// With the lock. A word only ever grows, so a wait whose value is there is no wait any more.
bool is_any_left() {
  std::erase_if(all().waits,
                [](const Wait &wait) { return __atomic_load_n(wait.word, __ATOMIC_ACQUIRE) >= wait.least; });
  g_has_waits.store(!all().waits.empty(), std::memory_order_release);
  return !all().waits.empty();
}

// With the lock.
void add_wait(const Wait &wait) {
  std::vector<Wait> &waits = all().waits;
  g_has_waits.store(true, std::memory_order_release);
  for (size_t n_looked = 0, at = all().last_found; n_looked < waits.size(); ++n_looked) {
    at = at + 1 < waits.size() ? at + 1 : 0;
    if (waits[at].word != wait.word) continue;
    waits[at].least = wait.least;  // words only grow, but for one that is used anew from 0
    all().last_found = at;
    return;
  }
  waits.push_back(wait);
  all().last_found = waits.size() - 1;
}

}  // namespace

void note_wait(const uint64_t *word, uint64_t least) {
  const std::scoped_lock quiet(quiet_mutex());
  const std::scoped_lock lock(all().mutex);
  add_wait({word, least});
}

void note_waits(std::span<const sluice_stream_receive_t> receives) {
  const std::scoped_lock quiet(quiet_mutex());
  const std::scoped_lock lock(all().mutex);
  for (const sluice_stream_receive_t &receive : receives) add_wait({receive.taken, receive.number});
}

bool is_waiting() {
  if (!g_has_waits.load(std::memory_order_acquire)) return false;
  const std::scoped_lock lock(all().mutex);
  return is_any_left();
}

Quiet::Quiet() {
  if (t_quiet_depth++ == 0) quiet_mutex().lock_shared();
  is_kept_ = !is_waiting();
}

Quiet::~Quiet() {
  if (--t_quiet_depth == 0) quiet_mutex().unlock_shared();
}

uint64_t words_generation() {
  return g_generation.load(std::memory_order_acquire);
}

void words_gone(const void *begin, size_t size_bytes) {
  g_generation.fetch_add(1, std::memory_order_acq_rel);
  if (!g_has_waits.load(std::memory_order_acquire)) return;
  const auto first = reinterpret_cast<uintptr_t>(begin);
  const std::scoped_lock lock(all().mutex);
  std::erase_if(all().waits,
                [&](const Wait &wait) { return reinterpret_cast<uintptr_t>(wait.word) - first < size_bytes; });
}

void release_later(std::function<void()> release) {
  {
    const std::scoped_lock lock(all().mutex);
    all().releases.push_back(std::move(release));
    g_has_releases.store(true, std::memory_order_release);
  }
  run_releases();
}

void run_releases() {
  if (!g_has_releases.load(std::memory_order_acquire)) return;
  const Quiet quiet;
  if (!quiet.is_kept()) return;
  std::vector<std::function<void()>> due;
  {
    const std::scoped_lock lock(all().mutex);
    due.swap(all().releases);
    g_has_releases.store(false, std::memory_order_release);
  }
  for (const auto &release : due) release();
}

sluice_result_t give_back(std::function<sluice_result_t()> release, void (*log_failure)()) {
  {
    const Quiet quiet;
    if (quiet.is_kept()) return release();
  }
  release_later([release = std::move(release), log_failure] {
    if (release() != SLUICE_SUCCESS) log_failure();
  });
  return SLUICE_SUCCESS;
}

}  // namespace sluice::backends
