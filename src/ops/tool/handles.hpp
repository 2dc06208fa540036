// SPDX-License-Identifier: BSD-3-Clause
// Handles of Sluice's variables: the address of the entry in the table of all of them. Pure: any thread.
#pragma once

#include <functional>
#include <vector>

namespace sluice::ops::tool {

// The entry of `all` that `handle` is the address of; null for a handle of the host MPI's.
template <typename Entry>
const Entry *find_own(const void *handle, const std::vector<Entry> &all) noexcept {
  const std::less<const void *> before;
  const bool is_own = !before(handle, all.data()) && before(handle, all.data() + all.size());
  return is_own ? static_cast<const Entry *>(handle) : nullptr;
}

}  // namespace sluice::ops::tool
