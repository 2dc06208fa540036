// SPDX-License-Identifier: BSD-3-Clause
// How much more memory is in use behind the timed iterations of --cold than before them.
#pragma once

#include <cstdint>
#include <optional>

#include "bench/memory/device_module.hpp"
#include "bench/report/row.hpp"

namespace sluice::bench {

// Of host memory what is resident in this process; of device memory what the module says is in use, which on most
// devices is what all processes use. The largest growth of all ranks and blocks.
class MemoryGrowth {
 public:
  // Collective. module: may be null, else outlives this.
  explicit MemoryGrowth(const DeviceModule *module);

  // The same columns on all ranks: device memory only where some rank can tell.
  void add_columns(Columns &columns) const;
  // Forgets: another size.
  void clear();
  // Local, and collective: around the iterations of one block.
  void begin();
  void end();
  // Adds the figures in the order of the columns.
  void add_to(Row &row) const;

 private:
  const DeviceModule *module_;
  bool is_device_told_;  // by some rank
  std::uint64_t host_before_ = 0;
  std::optional<std::uint64_t> device_before_;
  double host_kib_ = 0;
  double device_kib_ = 0;
};

}  // namespace sluice::bench
