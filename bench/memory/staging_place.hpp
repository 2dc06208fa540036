// SPDX-License-Identifier: BSD-3-Clause
// Memory that the program moves a message through by hand: host memory that it stages in, or contiguous memory that it
// packs into.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "bench/cli/options.hpp"
#include "bench/memory/buffer.hpp"
#include "bench/memory/packer.hpp"

namespace sluice::bench {

// Where this rank's memory lies, and what the program moves it through.
struct StagingPlace {
  DeviceModule *module = nullptr;
  sluice_memory_kind_t kind = SLUICE_MEMORY_HOST;
  NaiveStaging staging = NaiveStaging::pageable;
  Packer *packer = nullptr;  // null: staged, not packed; else it outlives the place

  // False for a message that goes to MPI as it is: to be staged, in memory that the host can reach (host, pinned).
  bool is_staged() const { return packer != nullptr || kind == SLUICE_MEMORY_DEVICE || kind == SLUICE_MEMORY_SHARED; }
  // Memory for n messages of size_bytes, each beginning on a page. Throws DeviceError.
  Buffer allocate(std::uint64_t size_bytes, std::size_t n) const;
  // Blocking, hot: a message to such memory, and back. Throw DeviceError.
  void stage_down(void *staged, void *message, std::uint64_t size_bytes) const;
  void stage_up(void *message, void *staged, std::uint64_t size_bytes) const;
};

// The pointers of n messages in `memory`, each beginning on a page.
std::vector<void *> staging_pointers(const Buffer &memory, std::uint64_t size_bytes, std::size_t n);

}  // namespace sluice::bench
