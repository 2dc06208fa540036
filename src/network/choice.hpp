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
enum class Why : std::uint8_t { kAsked, kSwitchedOff, kNotTried, kOfQueues, kUnknownName };

// What precedes the name of a provider of libfabric's.
inline constexpr std::string_view kFabricWord = "ofi:";

struct Choice {
  Kind kind = Kind::kNone;
  Why why = Why::kNotTried;
  Fault fault = Fault::kNone;  // of kSimulated
};

// What follows "simulated:".
struct FaultName {
  std::string_view name;
  Fault fault;
};
inline constexpr std::array<FaultName, 4> kFaultNames = {
    {{"refuses", Fault::kRefuses}, {"busy", Fault::kBusy}, {"fails", Fault::kFails}, {"slow", Fault::kSlow}}};

// `wanted` is SLUICE_NETWORK. `auto` opens nothing: no machine with a card that reaches device memory has run this yet,
// and over TCP blocks are quicker (ADR 0087).
[[nodiscard]] constexpr Choice choose(std::string_view wanted) noexcept {
  constexpr std::string_view kSimulated = "simulated";
  if (wanted == "auto") return {Kind::kNone, Why::kNotTried};
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
    case Why::kNotTried:
      return "no machine with a network card for it has run it yet; SLUICE_NETWORK=ucp takes UCX";
    case Why::kOfQueues:
      return "SLUICE_NETWORK names libfabric, which carries messages of the engine dwq alone";
    case Why::kUnknownName:
      return "SLUICE_NETWORK names no provider that there is; write auto, off or ucp";
  }
  return "";
}

}  // namespace sluice::network
