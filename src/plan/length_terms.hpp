// SPDX-License-Identifier: BSD-3-Clause
// Length terms: what each rank says of the lengths that it gives in a collective call, so that the sum over all ranks
// tells whether they fit together, as MPI demands (docs/adr/0062). Pure.
#pragma once

#include <cstdint>

namespace sluice::plan {

// Terms and lengths count modulo it. A prime: a difference of lengths is lost once in so many cases, whatever power of
// two it is a multiple of.
inline constexpr std::uint32_t kLengthPrime = (std::uint32_t{1} << 29) - 3;

class LengthSum {
 public:
  // Both below kLengthPrime.
  constexpr void add(std::uint64_t weight, std::uint64_t length) noexcept {
    sum_ = (sum_ + weight * length) % kLengthPrime;
  }
  constexpr void take(std::uint64_t weight, std::uint64_t length) noexcept { add(kLengthPrime - weight, length); }
  [[nodiscard]] constexpr std::uint32_t value() const noexcept { return static_cast<std::uint32_t>(sum_); }

 private:
  std::uint64_t sum_ = 0;
};

// Weights of a rank, between 0 and kLengthPrime: the last steps of splitmix64. The three have nothing to do with each
// other.
[[nodiscard]] constexpr std::uint64_t length_weight(std::uint64_t number) noexcept {
  std::uint64_t mixed = number + 0x9E3779B97F4A7C15;
  mixed = (mixed ^ (mixed >> 30U)) * 0xBF58476D1CE4E5B9;
  mixed = (mixed ^ (mixed >> 27U)) * 0x94D049BB133111EB;
  return (mixed ^ (mixed >> 31U)) % (kLengthPrime - 1) + 1;
}
[[nodiscard]] constexpr std::uint64_t sender_weight(int rank) noexcept {
  return length_weight(static_cast<std::uint32_t>(rank));
}
[[nodiscard]] constexpr std::uint64_t receiver_weight(int rank) noexcept {
  return length_weight(static_cast<std::uint32_t>(rank) | std::uint64_t{1} << 32U);
}
[[nodiscard]] constexpr std::uint64_t odd_weight(int rank) noexcept {
  return length_weight(static_cast<std::uint32_t>(rank) | std::uint64_t{1} << 33U);
}

// `count` elements of `element_bytes` modulo kLengthPrime; of no good count no bytes.
[[nodiscard]] constexpr std::uint64_t length_of(std::int64_t count, std::uint64_t element_bytes) noexcept {
  if (count < 0) return 0;
  return static_cast<std::uint64_t>(count) % kLengthPrime * (element_bytes % kLengthPrime) % kLengthPrime;
}

// All ranks give one length, which is to be the same: it is weighed so that equal ones cancel. `fits_here`: what the
// rank sends to itself is as long as what it receives from itself.
[[nodiscard]] constexpr std::uint32_t common_term(int rank, int n_ranks, std::uint64_t length,
                                                  bool fits_here) noexcept {
  LengthSum term;
  term.add(sender_weight(rank), length);
  term.take(sender_weight((rank + 1) % n_ranks), length);
  if (!fits_here) term.add(odd_weight(rank), 1);
  return term.value();
}

// One number for all the lengths that a rank gives; `length(i)` of each.
template <typename Length>
[[nodiscard]] constexpr std::uint32_t hash_of_lengths(int n_ranks, Length length) {
  LengthSum hash;
  for (int i = 0; i < n_ranks; ++i) hash.add(receiver_weight(i), length(i));
  return hash.value();
}

// Each block is between a rank and the root, which gives the lengths of all, `length(i)`, but its own where that stays
// in place; the others give their own.
[[nodiscard]] constexpr std::uint32_t term_of_leaf(int rank, std::uint64_t own) noexcept {
  LengthSum term;
  term.add(sender_weight(rank), own);
  return term.value();
}
template <typename Length>
[[nodiscard]] constexpr std::uint32_t term_of_root(int rank, int n_ranks, bool is_in_place, std::uint64_t own,
                                                   Length length) {
  LengthSum term;
  for (int i = 0; i < n_ranks; ++i) {
    if (i != rank || !is_in_place) term.take(sender_weight(i), length(i));
  }
  if (!is_in_place) term.add(sender_weight(rank), own);
  return term.value();
}

// A block from each rank for each: counted at its sender, taken away at its receiver.
template <typename Sent, typename Received>
[[nodiscard]] constexpr std::uint32_t term_of_pairs(int rank, int n_ranks, Sent sent, Received received) {
  LengthSum to;
  LengthSum from;
  for (int i = 0; i < n_ranks; ++i) {
    to.add(receiver_weight(i), sent(i));
    from.add(sender_weight(i), received(i));
  }
  LengthSum term;
  term.add(sender_weight(rank), to.value());
  term.take(receiver_weight(rank), from.value());
  return term.value();
}

}  // namespace sluice::plan
