// SPDX-License-Identifier: BSD-3-Clause
#include "base/log.hpp"

#include <sys/ioctl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstdio>
#include <mutex>
#include <set>
#include <string>

namespace sluice::log {
namespace {

std::atomic<Level> current_level{Level::kWarn};
std::atomic<int> current_rank{-1};

constexpr std::array<const char *, 4> kNames = {"error", "warning", "info", "debug"};

}  // namespace

void set_level(Level level) noexcept {
  current_level.store(level, std::memory_order_relaxed);
}

Level level() noexcept {
  return current_level.load(std::memory_order_relaxed);
}

void set_rank(int rank) noexcept {
  current_rank.store(rank, std::memory_order_relaxed);
}

void write(Level line_level, std::string_view room, std::string_view text) noexcept {
  if (line_level > level()) return;
  const int rank = current_rank.load(std::memory_order_relaxed);
  std::array<char, 32> who{};
  std::snprintf(who.data(), who.size(), rank >= 0 ? "%d" : "pid %d", rank >= 0 ? rank : static_cast<int>(getpid()));
  try {
    std::string line = "sluice[";
    line.append(who.data()).append("] ").append(kNames.at(static_cast<std::size_t>(line_level)));
    line.append(" ").append(room).append(" ").append(text).append("\n");
    // A log line that cannot be written has nowhere to be reported.
    [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, line.data(), line.size());
  } catch (...) {  // NOLINT(bugprone-empty-catch): out of memory while logging; the caller's own error still travels
  }
}

void last_words(std::string_view room, std::string_view text) noexcept {
  error(room, text);
  struct stat file{};
  if (fstat(STDERR_FILENO, &file) != 0 || !S_ISFIFO(file.st_mode)) return;
  // No call waits for a pipe to be empty.
  constexpr timespec kBetweenLooks{0, 1'000'000};
  constexpr int kMostLooks = 1000;
  int n_unread_bytes = 0;
  for (int n_looks = 0; n_looks < kMostLooks; ++n_looks) {
    if (ioctl(STDERR_FILENO, FIONREAD, &n_unread_bytes) != 0 || n_unread_bytes == 0) return;
    nanosleep(&kBetweenLooks, nullptr);
  }
}

void warn_once(std::string_view key, std::string_view room, std::string_view text) noexcept {
  static std::mutex mutex;
  static std::set<std::string, std::less<>> said;
  try {
    const std::scoped_lock lock(mutex);
    if (!said.emplace(key).second) return;
  } catch (...) {  // NOLINT(bugprone-empty-catch): saying it twice is better than not at all
  }
  warn(room, text);
}

}  // namespace sluice::log
