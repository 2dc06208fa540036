// SPDX-License-Identifier: BSD-3-Clause
// The log: lines on standard error, "sluice[rank] level room text". All of it: any thread.
#pragma once

#include <concepts>
#include <cstdint>
#include <string_view>

namespace sluice::log {

enum class Level : std::uint8_t { kError, kWarn, kInfo, kDebug };

// Chooses what is written; the default is kWarn.
void set_level(Level level) noexcept;
[[nodiscard]] Level level() noexcept;

// The rank shown in front of each line; -1 (the default) shows the process id instead.
void set_rank(int rank) noexcept;

// Writes one line if `level` is on. `room` is the source folder. One write(2) a line, so that lines of several ranks do
// not mix. Never fails.
void write(Level level, std::string_view room, std::string_view text) noexcept;

// write() at that level.
inline void error(std::string_view room, std::string_view text) noexcept {
  write(Level::kError, room, text);
}
inline void warn(std::string_view room, std::string_view text) noexcept {
  write(Level::kWarn, room, text);
}
inline void info(std::string_view room, std::string_view text) noexcept {
  write(Level::kInfo, room, text);
}
inline void debug(std::string_view room, std::string_view text) noexcept {
  write(Level::kDebug, room, text);
}

// debug() of what `make` returns, which is asked only where that level is on.
template <std::invocable Make>
void debug(std::string_view room, const Make &make) {
  if (level() >= Level::kDebug) write(Level::kDebug, room, make());
}

// As error, for what is said right before the job is ended. A launcher that is told to end a job does not read what the
// ranks have written up to then (MPICH's left 2 of 560 jobs without a word), so this waits until it has: where standard
// error is a pipe, for at most a second.
void last_words(std::string_view room, std::string_view text) noexcept;

// As warn, but each `key` is said once in the life of the process (a fallback that every message takes is one line).
void warn_once(std::string_view key, std::string_view room, std::string_view text) noexcept;

}  // namespace sluice::log
