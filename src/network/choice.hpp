// SPDX-License-Identifier: BSD-3-Clause
// Which provider a process opens. Pure.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "network/provider.hpp"

namespace sluice::network {

enum class Kind : std::uint8_t { kNone, kUcp, kSimulated };
inline constexpr std::array<std::string_view, 3> kKindNames = {"none", "ucp", "simulated"};

// Why; the sentence is reason().
enum class Why : std::uint8_t { kAsked, kSwitchedOff, kHasCards, kNoCard, kOfQueues, kUnknownName };

// What precedes the name of a provider of libfabric's.
inline constexpr std::string_view kFabricWord = "ofi:";

struct Choice {
  Kind kind = Kind::kNone;
  Why why = Why::kNoCard;
  Fault fault = Fault::kNone;  // of kSimulated
};

// What follows "simulated:".
struct FaultName {
  std::string_view name;
  Fault fault;
};
inline constexpr std::array<FaultName, 4> kFaultNames = {
    {{"refuses", Fault::kRefuses}, {"busy", Fault::kBusy}, {"fails", Fault::kFails}, {"slow", Fault::kSlow}}};

// `wanted` is SLUICE_NETWORK; `has_cards`: the machine has network cards that read memory by themselves. Over TCP
// blocks are several times as quick as UCX (ADR 0087), so `auto` opens nothing without such a card.
[[nodiscard]] constexpr Choice choose(std::string_view wanted, bool has_cards) noexcept {
  constexpr std::string_view kSimulated = "simulated";
  if (wanted == "auto") return has_cards ? Choice{Kind::kUcp, Why::kHasCards} : Choice{Kind::kNone, Why::kNoCard};
  if (wanted == "off") return {Kind::kNone, Why::kSwitchedOff};
  if (wanted == "ucp") return {Kind::kUcp, Why::kAsked};
  if (wanted.starts_with(kFabricWord)) return {Kind::kNone, Why::kOfQueues};
  if (wanted == kSimulated) return {Kind::kSimulated, Why::kAsked};
  if (wanted.starts_with(kSimulated) && wanted[kSimulated.size()] == ':') {
    for (const FaultName &known : kFaultNames) {
      if (wanted.substr(kSimulated.size() + 1) == known.name) return {Kind::kSimulated, Why::kAsked, known.fault};
    }
  }
  return {Kind::kNone, Why::kUnknownName};
}

[[nodiscard]] constexpr std::string_view reason(Why why) noexcept {
  switch (why) {
    case Why::kAsked:
      return "SLUICE_NETWORK names it";
    case Why::kSwitchedOff:
      return "SLUICE_NETWORK=off";
    case Why::kHasCards:
      return "this machine has network cards that reach memory by themselves";
    case Why::kNoCard:
      return "this machine has no network card that reaches memory by itself (/sys/class/infiniband is empty)";
    case Why::kOfQueues:
      return "SLUICE_NETWORK names libfabric, which carries messages of the engine dwq alone";
    case Why::kUnknownName:
      return "SLUICE_NETWORK names no provider that there is; write auto, off or ucp";
  }
  return "";
}

}  // namespace sluice::network
