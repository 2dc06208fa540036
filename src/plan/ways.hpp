// SPDX-License-Identifier: BSD-3-Clause
// The ways in which the ranks of a communicator may carry a collective call out, in the order in which they try them.
// Pure, and from what all of them know before they ask each other: so all try the same ways.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

#include "base/collective_terms.hpp"
#include "plan/call_facts.hpp"

namespace sluice::plan {

enum class Way : std::uint8_t {
  kTogether,  // the ranks of a node, each of which reaches the device memory of the others
  kLevels,    // in two levels, inside the nodes and across them
  kSegments,  // staged, in segments whose copies and messages overlap
  kHost       // the host MPI, on staged memory or on the program's
};
inline constexpr std::size_t kWays = 4;

enum class Chance : std::uint8_t {
  kNone,    // no rank tries it
  kAsked,   // the ranks ask each other whether all of them can
  kIfLong,  // and whether the call is long enough, which no rank knows
  kIfMet,   // as kAsked, once blocking calls have gone this way
  kSure     // what is left when no other way is taken
};

struct WayChoice {
  Way way = Way::kHost;
  Chance chance = Chance::kNone;
  const char *reason = "";  // a sentence for people
};
using Ways = std::array<WayChoice, kWays>;

// The choice. Warm.
[[nodiscard]] Ways choose_ways(const CallFacts &facts, const CollectiveTerms &terms) noexcept;

// Of one of the ways that choose_ways() gave.
[[nodiscard]] constexpr Chance chance_of(const Ways &ways, Way way) noexcept {
  return ways[static_cast<std::size_t>(way)].chance;
}
// Where the ranks do not go together no rank will try another way than the host MPI's.
[[nodiscard]] constexpr bool are_together_or_with_host(const Ways &ways) noexcept {
  return chance_of(ways, Way::kLevels) == Chance::kNone && chance_of(ways, Way::kSegments) == Chance::kNone;
}

// One line for people: "together -> asked: every rank may reach the device memory of the others".
[[nodiscard]] std::string explain(const WayChoice &choice);

}  // namespace sluice::plan
