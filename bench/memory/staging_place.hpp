// SPDX-License-Identifier: BSD-3-Clause
// Host memory that the program stages in by hand.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "bench/cli/options.hpp"
#include "bench/memory/buffer.hpp"

namespace sluice::bench {

// Where this rank's memory lies, and what the program stages in.
struct StagingPlace {
  DeviceModule *module = nullptr;
  sluice_memory_kind_t kind = SLUICE_MEMORY_HOST;
  NaiveStaging staging = NaiveStaging::pageable;

  // False on a side whose memory the host can reach (host, pinned): the message needs no copy.
  bool is_staged() const { return kind == SLUICE_MEMORY_DEVICE || kind == SLUICE_MEMORY_SHARED; }
  // Host memory for n messages of size_bytes, each beginning on a page. Throws DeviceError.
  Buffer allocate(std::uint64_t size_bytes, std::size_t n) const;
};

// The pointers of n messages in `memory`, each beginning on a page.
std::vector<void *> staging_pointers(const Buffer &memory, std::uint64_t size_bytes, std::size_t n);

}  // namespace sluice::bench
