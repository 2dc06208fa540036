// SPDX-License-Identifier: BSD-3-Clause
// The choice for a long collective operation that is staged: whole, or in segments, whose copies and messages overlap.
// Pure; from what all ranks know, so that all come to the same.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>

#include "base/collective_terms.hpp"
#include "plan/call_facts.hpp"

namespace sluice::plan {

// What a rank can do and has of it; the least of all ranks counts.
enum class SegmentAbility : std::uint8_t {
  kNone,   // it cannot cut its buffers, or has an error
  kGains,  // it can, and its copies would overlap with the messages
  kCan     // it can; alone it would not ask for it
};

// Whether the blocks of an operation are as long as each other.
enum class SegmentLengths : std::uint8_t {
  kEqual,    // all of them, so all ranks know how long they are
  kKnown,    // not, but all ranks know the length of the longest buffer
  kUnknown,  // not, and each rank knows its own
};

// An operation of long buffers. All fields but `ability` and `longest_bytes` are the same on all ranks from the
// beginning; those two when the ranks have told each other.
struct SegmentQuery {
  std::uint64_t block_bytes = 0;                   // of equal blocks
  std::uint64_t n_blocks = 1;                      // of the longest buffer of any rank
  std::uint64_t threshold_bytes = 0;               // of the longest buffer
  std::uint64_t segment_bytes = 1;                 // of the longest buffer, at least 1
  SegmentAbility ability = SegmentAbility::kNone;  // the least of all ranks
  std::uint64_t unit_bytes = 1;                    // of equal blocks each part is a multiple of it, at least 1
  SegmentLengths lengths = SegmentLengths::kEqual;
  std::uint64_t longest_bytes = 0;  // of unequal blocks: all of a buffer, of the rank that has the longest
};

struct SegmentPlan {
  std::uint64_t part_bytes = 0;  // of each of equal blocks in each segment but the last
  std::uint64_t n_segments = 1;  // 1: whole
  const char *reason = "";       // a sentence for people
};

// Shorter parts of many blocks would be many short copies.
inline constexpr std::uint64_t kSmallestPartBytes = 16384;
// Parts of unequal blocks are multiples of it, so that the copies of all but the last begin where the first does in a
// line of memory.
inline constexpr std::uint64_t kPartStepBytes = 64;
// A segment for each is as many calls of the host MPI's as nobody waits for.
inline constexpr std::uint64_t kMostSegments = std::uint64_t{1} << 30;

// The part of each of equal blocks that one segment carries.
[[nodiscard]] constexpr std::uint64_t part_bytes_of(const SegmentQuery &query) noexcept {
  const std::uint64_t share = query.segment_bytes / std::max<std::uint64_t>(query.n_blocks, 1);
  const std::uint64_t part = std::max<std::uint64_t>({share, std::min(query.segment_bytes, kSmallestPartBytes), 1});
  return std::max(part - part % query.unit_bytes, query.unit_bytes);
}

// `divisor` > 0.
[[nodiscard]] constexpr std::uint64_t quotient_upwards(std::uint64_t value, std::uint64_t divisor) noexcept {
  return value / divisor + (value % divisor != 0 ? 1 : 0);
}

// How many segments a buffer of `bytes` is in, by its own length.
[[nodiscard]] constexpr std::uint64_t n_segments_of(std::uint64_t bytes, std::uint64_t segment_bytes) noexcept {
  return std::clamp<std::uint64_t>(quotient_upwards(bytes, segment_bytes), 1, kMostSegments);
}

// The part of a block of `bytes` that each of `n_segments` carries, where blocks are unequal: the two ranks between
// whom it travels come to the same, and know nothing of other blocks. Short blocks are through before the last segment.
// The more segments, the shorter. 1 at least.
[[nodiscard]] constexpr std::uint64_t unequal_part_bytes(std::uint64_t bytes, std::uint64_t n_segments,
                                                         std::uint64_t segment_bytes) noexcept {
  const std::uint64_t steps = quotient_upwards(quotient_upwards(bytes, n_segments), kPartStepBytes);
  return std::max<std::uint64_t>({steps * kPartStepBytes, std::min(segment_bytes, kSmallestPartBytes), 1});
}

// What all ranks know before they ask each other, of the lengths: whether asking is worth while. Hot.
[[nodiscard]] constexpr bool may_be_cut(const SegmentQuery &query) noexcept {
  if (query.lengths == SegmentLengths::kUnknown) return true;
  if (query.lengths == SegmentLengths::kKnown) {
    return query.longest_bytes >= query.threshold_bytes && query.longest_bytes > query.segment_bytes;
  }
  if (query.block_bytes == 0 || query.block_bytes <= part_bytes_of(query)) return false;
  return query.block_bytes >= query.threshold_bytes / std::max<std::uint64_t>(query.n_blocks, 1);
}

// The question that the ranks ask each other about such a call. None: at these lengths it is not worth while to ask.
// The caller fills in whether this rank can take part and, where no rank knows the longest buffer, that one. Hot.
[[nodiscard]] std::optional<SegmentQuery> segment_query(const CallFacts &facts, const CollectiveTerms &terms) noexcept;

// The choice, after they have.
[[nodiscard]] constexpr SegmentPlan choose_segments(const SegmentQuery &query) noexcept {
  const bool is_equal = query.lengths == SegmentLengths::kEqual;
  const bool is_short = is_equal ? !may_be_cut(query)
                                 : query.longest_bytes < query.threshold_bytes ||
                                       n_segments_of(query.longest_bytes, query.segment_bytes) == 1;
  // Of unequal blocks nobody says how long they are who cannot cut them.
  if (query.ability == SegmentAbility::kNone && (!is_short || !is_equal)) {
    return {query.block_bytes, 1, "a rank has blocks with gaps, or cannot stage parts of them"};
  }
  if (is_short) return {query.block_bytes, 1, "it is too short"};
  if (query.ability == SegmentAbility::kCan) return {query.block_bytes, 1, "no rank has copies that would overlap"};
  constexpr const char *kWhy = "copies and messages of different segments overlap";
  if (!is_equal) return {0, n_segments_of(query.longest_bytes, query.segment_bytes), kWhy};
  const std::uint64_t part = part_bytes_of(query);
  return {part, quotient_upwards(query.block_bytes, part), kWhy};
}

// One line for people: "4 ranks, 1 x 8388608 bytes -> 8 segments: ...", or "4 ranks, unequal blocks, at most 8388608
// bytes a buffer -> 4 segments: ...".
[[nodiscard]] std::string explain(int n_ranks, const SegmentQuery &query, const SegmentPlan &plan);

}  // namespace sluice::plan
