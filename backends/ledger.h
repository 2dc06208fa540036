// SPDX-License-Identifier: BSD-3-Clause
// Ledger: the allocations that a memory module made, where the runtime does not say what an address lies in.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>

namespace sluice::backends {

template <typename Allocation>
struct Ledger {
  std::mutex mutex;
  std::map<const void *, Allocation> by_address;
  uint64_t last_id = 0;

  // The allocation that holds `address`; null: none. With the mutex. Allocation has size_bytes.
  const Allocation *find(const void *address) const {
    auto after = by_address.upper_bound(address);
    if (after == by_address.begin()) return nullptr;
    const auto &[begin, known] = *--after;
    const auto distance = static_cast<size_t>(static_cast<const char *>(address) - static_cast<const char *>(begin));
    return distance < known.size_bytes ? &known : nullptr;
  }
};

// The module's, of its own kind of `Allocation`. Left to the end of the process: memory may be freed while it exits.
template <typename Allocation>
Ledger<Allocation> &ledger_of() {
  static auto *const all = new Ledger<Allocation>();
  return *all;
}

}  // namespace sluice::backends
