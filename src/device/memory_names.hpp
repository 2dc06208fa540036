// SPDX-License-Identifier: BSD-3-Clause
// Under which names device memory may be asked for: the words of the capability queries, and MPI's memory allocation
// kinds. A loaded backend answers itself. Programs ask before they use their first device, too, and many then decide
// for good: where no backend answers yet, what its .needs file says holds, if this process could use a device of it
// (docs/adr/0066).
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "device/backend.hpp"

namespace sluice::device {

// True when the query of that word is answered with yes. Any thread; not hot.
[[nodiscard]] bool is_supported(std::string_view word);

// The memory allocation kinds, each once, those of loaded backends first. Any thread; not hot.
[[nodiscard]] std::vector<std::string> memory_kinds();

// What a memory allocation kind asks for, such as "device" behind a backend's own word; without a restrictor, memory of
// the device.
struct AllocationKind {
  const Backend *backend = nullptr;
  sluice_memory_kind_t kind = SLUICE_MEMORY_DEVICE;
  std::string word;  // as MPI writes it, with the restrictor
};
// False for kinds of which no loaded backend can allocate memory. Any thread; not hot.
[[nodiscard]] bool find_allocation_kind(std::string_view word, AllocationKind *found);

// `provided`, a comma-separated list of memory allocation kinds as the host MPI gives it (empty: "mpi,system", which
// MPI takes for granted), with those of `kinds` behind it that it lacks. Where the program has asserted that it will
// use `asserted` only, kinds that this list does not cover are left out; so are those with which the text would be
// longer than `max_bytes`. Pure.
[[nodiscard]] std::string with_memory_kinds(std::string_view provided, const std::vector<std::string> &kinds,
                                            const std::optional<std::string> &asserted, std::size_t max_bytes);

}  // namespace sluice::device
