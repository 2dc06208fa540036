// SPDX-License-Identifier: BSD-3-Clause
// The choice of who brings a payload with gaps together that its receiver pulls out of the sender's memory: the
// sender's kernel, before the descriptor is sent, or the receiver's, which reads the runs where they are. Pure, as
// plan.hpp; the sender's alone, which the receiver learns from the descriptor.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>

namespace sluice::plan {

// Devices read each other's memory in pieces of this many bytes; of a shorter run the rest of the piece crosses the
// link too.
inline constexpr std::uint64_t kLinkPieceBytes = 32;

// The most bytes beside its payload that a message brings over the link when its receiver gathers it. The sender's
// launch and wait take as long as the link does for them (two H200s, docs/adr/0041).
inline constexpr std::uint64_t kGatherBytes = std::uint64_t{1536} << 10;

struct GatherQuery {
  std::uint64_t size_bytes = 0;  // of payload
  std::uint64_t run_bytes = 0;   // of each of its runs; 0: they are not all as long
  bool is_told = false;          // where the runs lie can be said in a descriptor
};

enum class Gatherer : std::uint8_t { kSender, kReceiver };

struct GatherPlan {
  Gatherer by = Gatherer::kSender;
  std::uint64_t extra_bytes = 0;  // that would cross the link beside the payload, were the receiver to gather it
  std::string_view reason;
};

// What lies between runs that are shorter than the pieces they are read in, and crosses the link with them; runs that
// do not begin with a piece bring more. As many as can be counted where they are more. `run_bytes` is not 0.
[[nodiscard]] constexpr std::uint64_t extra_bytes_of(std::uint64_t size_bytes, std::uint64_t run_bytes) noexcept {
  const std::uint64_t beside_run = (kLinkPieceBytes - run_bytes % kLinkPieceBytes) % kLinkPieceBytes;
  std::uint64_t all = 0;
  const bool is_too_long = __builtin_mul_overflow(size_bytes / run_bytes, beside_run, &all);
  return is_too_long ? std::numeric_limits<std::uint64_t>::max() : all;
}

// The choice; `limit_bytes` is kGatherBytes but for tests. Hot. What the receiver gathers costs the sender neither a
// kernel that it waits for nor memory, and a kernel reads as fast over the link as a copy engine does (docs/adr/0041):
// what speaks against it is only what crosses the link for nothing.
[[nodiscard]] constexpr GatherPlan choose_gatherer(const GatherQuery &query, std::uint64_t limit_bytes) noexcept {
  if (!query.is_told || query.run_bytes == 0) {
    return {Gatherer::kSender, 0, "a descriptor has no room for where the runs lie"};
  }
  const std::uint64_t extra_bytes = extra_bytes_of(query.size_bytes, query.run_bytes);
  if (extra_bytes > limit_bytes) return {Gatherer::kSender, extra_bytes, "that is more than it may bring"};
  return {Gatherer::kReceiver, extra_bytes, "the sender need not pack it first"};
}

// One line for people: "4096 bytes in runs of 8, which bring 12288 more over the link -> gathered by the receiver:
// ...".
[[nodiscard]] std::string explain(const GatherQuery &query, const GatherPlan &plan);

}  // namespace sluice::plan
