// SPDX-License-Identifier: BSD-3-Clause
// In how many calls of the host MPI the ranks of a file carry out a collective call. Pure.
#pragma once

#include <cstdint>
#include <optional>

namespace sluice::plan {

// More blocks than the memory of any rank has, unless blocks are absurdly short.
inline constexpr std::uint64_t kMostFileRounds = std::uint64_t{1} << 31;

// The most that any rank has blocks, of the least of the negated numbers that all have said. None where one said what
// no rank says.
[[nodiscard]] constexpr std::optional<std::uint64_t> agreed_file_rounds(long long least) noexcept {
  if (least > 0 || least < -static_cast<long long>(kMostFileRounds)) return std::nullopt;
  return static_cast<std::uint64_t>(-least);
}

}  // namespace sluice::plan
