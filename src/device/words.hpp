// SPDX-License-Identifier: BSD-3-Clause
// Under which names the memory of the loaded backends may be asked for: the words of the capability queries, and MPI's
// memory allocation kinds.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::device {

// True when a loaded backend answers the query of that word. Any thread; not hot.
[[nodiscard]] bool is_supported(std::string_view word) noexcept;

// The memory allocation kinds of the loaded backends, each once, in the order of priority. Any thread; not hot.
[[nodiscard]] std::vector<std::string> memory_kinds();

// `provided`, a comma-separated list of memory allocation kinds as the host MPI gives it (empty: "mpi,system", which
// MPI takes for granted), with those of `kinds` behind it that it lacks. Where the program has asserted that it will
// use `asserted` only, kinds that this list does not cover are left out; so are those with which the text would be
// longer than `max_bytes`. Pure.
[[nodiscard]] std::string with_memory_kinds(std::string_view provided, const std::vector<std::string> &kinds,
                                            const std::optional<std::string> &asserted, std::size_t max_bytes);

}  // namespace sluice::device
