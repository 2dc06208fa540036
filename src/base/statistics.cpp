// SPDX-License-Identifier: BSD-3-Clause
#include "base/statistics.hpp"

#include <fmt/format.h>

#include <map>
#include <mutex>
#include <nlohmann/json.hpp>

namespace sluice::statistics {
namespace {

struct Counters {
  std::atomic<std::uint64_t> calls{0};
  std::atomic<std::uint64_t> bytes{0};
  std::atomic<std::uint64_t> nanoseconds{0};
};

constexpr std::size_t kOperations = kOperationNames.size();
constexpr std::size_t kKinds = kMemoryKindNames.size();
constexpr std::size_t kRoutes = kRouteNames.size();

std::atomic<bool> enabled{false};
std::array<Counters, kOperations * kKinds * kRoutes> table;

std::atomic<std::uint64_t> pack_launches{0};
std::atomic<std::uint64_t> pack_bytes{0};

std::atomic<std::uint64_t> staging_bytes{0};
std::atomic<std::uint64_t> most_staging_bytes{0};

std::mutex fallback_mutex;
std::map<std::string, std::uint64_t, std::less<>> &fallbacks() {
  static std::map<std::string, std::uint64_t, std::less<>> counts;
  return counts;
}

std::size_t index_of(Operation operation, MemoryKind kind, Route route) noexcept {
  return (static_cast<std::size_t>(operation) * kKinds + static_cast<std::size_t>(kind)) * kRoutes +
         static_cast<std::size_t>(route);
}

std::map<std::string, std::uint64_t, std::less<>> copy_of_fallbacks() {
  const std::scoped_lock lock(fallback_mutex);
  return fallbacks();
}

}  // namespace

void enable() noexcept {
  enabled.store(true, std::memory_order_relaxed);
}

void disable() noexcept {
  enabled.store(false, std::memory_order_relaxed);
}

bool is_enabled() noexcept {
  return enabled.load(std::memory_order_relaxed);
}

void record(Operation operation, MemoryKind kind, Route route, std::uint64_t calls, std::uint64_t bytes,
            std::chrono::nanoseconds time) noexcept {
  if (!is_enabled()) return;
  Counters &row = table[index_of(operation, kind, route)];
  row.calls.fetch_add(calls, std::memory_order_relaxed);
  row.bytes.fetch_add(bytes, std::memory_order_relaxed);
  row.nanoseconds.fetch_add(static_cast<std::uint64_t>(time.count()), std::memory_order_relaxed);
}

void record_fallback(std::string_view reason) noexcept {
  try {
    const std::scoped_lock lock(fallback_mutex);
    const auto found = fallbacks().find(reason);
    if (found == fallbacks().end()) {
      fallbacks().emplace(reason, 1);
    } else {
      ++found->second;
    }
  } catch (...) {  // NOLINT(bugprone-empty-catch): a counter that cannot be kept is not worth an error
  }
}

void record_packing(std::uint64_t launches, std::uint64_t bytes) noexcept {
  if (!is_enabled()) return;
  pack_launches.fetch_add(launches, std::memory_order_relaxed);
  pack_bytes.fetch_add(bytes, std::memory_order_relaxed);
}

Packing packing() noexcept {
  return {pack_launches.load(std::memory_order_relaxed), pack_bytes.load(std::memory_order_relaxed)};
}

void record_staging(std::uint64_t held_bytes) noexcept {
  staging_bytes.store(held_bytes, std::memory_order_relaxed);
  std::uint64_t most = most_staging_bytes.load(std::memory_order_relaxed);
  while (most < held_bytes && !most_staging_bytes.compare_exchange_weak(most, held_bytes, std::memory_order_relaxed)) {
  }
}

Staging staging() noexcept {
  return {staging_bytes.load(std::memory_order_relaxed), most_staging_bytes.load(std::memory_order_relaxed)};
}

Sums sums_of(Route route) noexcept {
  Sums sums{};
  for (std::size_t i = static_cast<std::size_t>(route); i < table.size(); i += kRoutes) {
    sums.calls += table[i].calls.load(std::memory_order_relaxed);
    sums.bytes += table[i].bytes.load(std::memory_order_relaxed);
    sums.nanoseconds += table[i].nanoseconds.load(std::memory_order_relaxed);
  }
  return sums;
}

std::uint64_t n_fallbacks() noexcept {
  const std::scoped_lock lock(fallback_mutex);
  std::uint64_t sum = 0;
  for (const auto &[reason, count] : fallbacks()) sum += count;
  return sum;
}

std::vector<Row> rows() {
  std::vector<Row> result;
  for (std::size_t i = 0; i < table.size(); ++i) {
    const std::uint64_t calls = table[i].calls.load(std::memory_order_relaxed);
    if (calls == 0) continue;
    result.push_back({static_cast<Operation>(i / (kKinds * kRoutes)), static_cast<MemoryKind>(i / kRoutes % kKinds),
                      static_cast<Route>(i % kRoutes), calls, table[i].bytes.load(std::memory_order_relaxed),
                      table[i].nanoseconds.load(std::memory_order_relaxed)});
  }
  return result;
}

void reset() noexcept {
  for (Counters &row : table) {
    row.calls.store(0, std::memory_order_relaxed);
    row.bytes.store(0, std::memory_order_relaxed);
    row.nanoseconds.store(0, std::memory_order_relaxed);
  }
  pack_launches.store(0, std::memory_order_relaxed);
  pack_bytes.store(0, std::memory_order_relaxed);
  most_staging_bytes.store(staging_bytes.load(std::memory_order_relaxed), std::memory_order_relaxed);
  const std::scoped_lock lock(fallback_mutex);
  fallbacks().clear();
}

std::string to_text(int rank) {
  std::string text = fmt::format("sluice statistics of rank {}\n{:<22} {:<7} {:<7} {:>10} {:>15} {:>12}\n", rank,
                                 "operation", "buffer", "route", "calls", "bytes", "ms");
  for (const Row &row : rows()) {
    text += fmt::format("{:<22} {:<7} {:<7} {:>10} {:>15} {:>12.3f}\n", name(row.operation), name(row.kind),
                        name(row.route), row.calls, row.bytes, static_cast<double>(row.nanoseconds) * 1e-6);
  }
  if (const Packing packed = packing(); packed.launches != 0) {
    text += fmt::format("packed by {} kernels, {} bytes\n", packed.launches, packed.bytes);
  }
  if (const std::uint64_t most = staging().most_bytes; most != 0) {
    text += fmt::format("staging pool: {} bytes at most\n", most);
  }
  for (const auto &[reason, count] : copy_of_fallbacks()) text += fmt::format("fallback {} {}\n", reason, count);
  return text;
}

std::string to_json(int rank) {
  nlohmann::json document = {{"format", 1}, {"rank", rank}, {"rows", nlohmann::json::array()}};
  for (const Row &row : rows()) {
    document["rows"].push_back({{"operation", name(row.operation)},
                                {"buffer", name(row.kind)},
                                {"route", name(row.route)},
                                {"calls", row.calls},
                                {"bytes", row.bytes},
                                {"nanoseconds", row.nanoseconds}});
  }
  document["packing"] = {{"launches", packing().launches}, {"bytes", packing().bytes}};
  document["staging"] = {{"bytes", staging().bytes}, {"most_bytes", staging().most_bytes}};
  document["fallbacks"] = copy_of_fallbacks();
  return document.dump(2) + "\n";
}

}  // namespace sluice::statistics
