// SPDX-License-Identifier: BSD-3-Clause
// The performance variables of Sluice: the statistics (base/statistics.hpp), summed over operations and memory kinds.
// Any thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace sluice::ops::tool {

struct Counter {
  std::string name;
  std::string doc;
  int variable_class;  // MPI_T_PVAR_CLASS_*
  int detail;          // what value() is asked for
  std::uint64_t (*value)(int detail) noexcept;
};

// All of them, in the order of their numbers; made at the first call.
[[nodiscard]] const std::vector<Counter> &counters();

}  // namespace sluice::ops::tool
