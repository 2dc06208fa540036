// SPDX-License-Identifier: BSD-3-Clause
// Counters of what really ran: for each operation, kind of the local buffer and route, the calls, bytes and time. All
// of it: any thread.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/types.hpp"

namespace sluice::statistics {

// Switches counting on; off by default, and then record() costs one load.
void enable() noexcept;
// Switches it off again; what was counted stays.
void disable() noexcept;
[[nodiscard]] bool is_enabled() noexcept;

// Adds `bytes` (payload, without padding) and `time` to the row of (operation, kind, route), and `calls` to its calls:
// 0 when a non-blocking operation that was counted at its start is completed. Never blocks.
void record(Operation operation, MemoryKind kind, Route route, std::uint64_t calls, std::uint64_t bytes,
            std::chrono::nanoseconds time) noexcept;

// Notes that a mechanism was refused and a slower one ran instead ("pool_exhausted").
void record_fallback(std::string_view reason) noexcept;

// Counts `launches` of kernels that brought `bytes` of data with gaps together or apart.
void record_packing(std::uint64_t launches, std::uint64_t bytes) noexcept;
struct Packing {
  std::uint64_t launches;
  std::uint64_t bytes;
};
[[nodiscard]] Packing packing() noexcept;

// The staging pool holds so many bytes now.
void record_staging(std::uint64_t held_bytes) noexcept;
// What it holds, and what it held at most since the start or the last reset(): in bytes, counted even when counting is
// off.
struct Staging {
  std::uint64_t bytes;
  std::uint64_t most_bytes;
};
[[nodiscard]] Staging staging() noexcept;

// One row that has at least one call.
struct Row {
  Operation operation;
  MemoryKind kind;
  Route route;
  std::uint64_t calls;
  std::uint64_t bytes;
  std::uint64_t nanoseconds;
};

// The rows in the order of operations.def. Counters that move meanwhile may be half seen.
[[nodiscard]] std::vector<Row> rows();

// The sums of one route over all operations and kinds.
struct Sums {
  std::uint64_t calls;
  std::uint64_t bytes;
  std::uint64_t nanoseconds;
};
[[nodiscard]] Sums sums_of(Route route) noexcept;

// How often a mechanism was refused, whatever the reason; counted even when counting is off.
[[nodiscard]] std::uint64_t n_fallbacks() noexcept;

// All counters to zero.
void reset() noexcept;

// The table as text (columns aligned, a title line naming `rank`), and as the JSON of docs/statistics.md.
[[nodiscard]] std::string to_text(int rank);
[[nodiscard]] std::string to_json(int rank);

// Measures the time of a scope when statistics are on; costs nothing else.
class Stopwatch {
 public:
  Stopwatch() noexcept : begin_(is_enabled() ? Clock::now() : Clock::time_point()) {}
  // Nanoseconds since construction; 0 when statistics were off then.
  [[nodiscard]] std::chrono::nanoseconds elapsed() const noexcept {
    return begin_ == Clock::time_point() ? std::chrono::nanoseconds(0)
                                         : std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now() - begin_);
  }

 private:
  using Clock = std::chrono::steady_clock;
  Clock::time_point begin_;
};

}  // namespace sluice::statistics
