// SPDX-License-Identifier: BSD-3-Clause
// How much more memory is in use behind the timed iterations than before them.
#include "bench/mpi/memory_growth.hpp"

#include <algorithm>
#include <limits>

#include "bench/memory/process_memory.hpp"
#include "bench/mpi/rank_samples.hpp"

namespace sluice::bench {
namespace {

constexpr double kLeast = -std::numeric_limits<double>::infinity();

std::optional<std::uint64_t> device_bytes(const DeviceModule *module) {
  return module != nullptr ? module->query_memory_in_use() : std::nullopt;
}

double kib_between(std::uint64_t before, std::uint64_t after) {
  constexpr double kKib = 1024;
  return (static_cast<double>(after) - static_cast<double>(before)) / kKib;
}

}  // namespace

MemoryGrowth::MemoryGrowth(const DeviceModule *module)
    : module_(module),
      is_device_told_(largest_of_ranks({device_bytes(module).has_value() ? 1.0 : 0.0}, true).front() > 0) {}

void MemoryGrowth::add_columns(Columns &columns) const {
  columns.extras.push_back({"host_growth_kib", "Host +KiB"});
  if (is_device_told_) {
    columns.extras.push_back({"device_growth_kib", "Device +KiB"});
  }
}

void MemoryGrowth::clear() {
  host_kib_ = kLeast;
  device_kib_ = kLeast;
}

void MemoryGrowth::begin() {
  host_before_ = query_resident_bytes();
  device_before_ = device_bytes(module_);
}

void MemoryGrowth::end() {
  const double host_kib = kib_between(host_before_, query_resident_bytes());
  host_kib_ = std::max(host_kib_, largest_of_ranks({host_kib}, true).front());
  const std::optional<std::uint64_t> after = device_bytes(module_);
  const double device_kib = device_before_ && after ? kib_between(*device_before_, *after) : kLeast;
  device_kib_ = std::max(device_kib_, largest_of_ranks({device_kib}, true).front());
}

void MemoryGrowth::add_to(Row &row) const {
  row.extras.push_back(host_kib_);
  if (is_device_told_) {
    row.extras.push_back(device_kib_);
  }
}

}  // namespace sluice::bench
