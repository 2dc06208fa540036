// SPDX-License-Identifier: BSD-3-Clause
// Reads the table of waits of another process (base/waiting.hpp). Nothing in the table is believed unchecked.
// All of it: any thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/waiting.hpp"

namespace sluice::command {

// What stands in a slot of both looks, unchanged.
struct SeenWait {
  waiting::Wait wait;  // its texts have an end, and its route and direction are known ones
  std::string function;
  std::string communicator;
};

struct WaitTable {
  int pid = 0;  // as the process itself sees it
  int rank = 0;
  int size = 0;
  std::vector<SeenWait> waits;
};

// The bytes of one look. Empty where the file is no table of this format.
struct Look {
  std::vector<std::byte> bytes;
};

// Reads the file once. It reads and does not map: a file that its owner cuts short meanwhile is then no fault.
[[nodiscard]] std::optional<Look> look_at_table(int file);

// What both looks at the same file agree on; none where the header differs or is out of bounds. Pure.
[[nodiscard]] std::optional<WaitTable> compare_looks(const Look &first, const Look &second);

}  // namespace sluice::command
