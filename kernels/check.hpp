// SPDX-License-Identifier: BSD-3-Clause
// The body of a kernel that compares memory with what it is to hold (sluice/testing/check.h): what one of n work-items
// does. Written once; each backend compiles it with its device's compiler, as reduce.hpp. No floating point is
// computed, so that devices without double check doubles too. Words are those of a little-endian machine.
#pragma once

#include <cstdint>

#include "sluice/testing/check.h"

#ifndef SLUICE_KERNELS_FUNCTION
#define SLUICE_KERNELS_FUNCTION inline
#endif

namespace sluice::kernels {

inline constexpr std::uint64_t kNothingWrong = ~std::uint64_t{0};
inline constexpr std::uint64_t kWordBytes = 8;

// What one item found: the lowest place of a wrong byte, or kNothingWrong, and how many bytes it compared.
struct CheckShare {
  std::uint64_t first_wrong;
  std::uint64_t n_bytes;
};

// One check. Everything it points to is memory that the device reaches.
struct CheckTask {
  const unsigned char *memory;
  const sluice_check_source_t *sources;
  const sluice_check_segment_t *segments;
  std::uint64_t n_segments;  // at least 1
  std::uint64_t n_words;     // of all segments
  CheckShare *shares;        // one for each item
};

SLUICE_KERNELS_FUNCTION std::uint64_t words_of(const sluice_check_segment_t &segment) {
  return (segment.position + segment.size_bytes - 1) / kWordBytes - segment.position / kWordBytes + 1;
}

// Spreads every input bit over all output bits.
SLUICE_KERNELS_FUNCTION std::uint64_t mix(std::uint64_t x) {
  x = (x ^ (x >> 30U)) * 0xbf58476d1ce4e5b9U;
  x = (x ^ (x >> 27U)) * 0x94d049bb133111ebU;
  return x ^ (x >> 31U);
}

// Byte by byte, without carries between the bytes.
SLUICE_KERNELS_FUNCTION std::uint64_t add_bytes(std::uint64_t a, std::uint64_t b) {
  constexpr std::uint64_t kHighBits = 0x8080808080808080U;
  return ((a & ~kHighBits) + (b & ~kHighBits)) ^ ((a ^ b) & kHighBits);
}

SLUICE_KERNELS_FUNCTION std::uint64_t pattern_word(const sluice_check_source_t &source, std::uint64_t word) {
  const std::uint64_t place = source.repeat_words == 0 ? word : word % source.repeat_words;
  return add_bytes(mix(source.seed + place * 0x9e3779b97f4a7c15U), source.step);
}

// The value of one element, and that of a rank in it.
SLUICE_KERNELS_FUNCTION std::int64_t number_of_rank(const sluice_check_source_t &source, std::uint64_t start,
                                                    std::uint64_t rank) {
  return static_cast<std::int64_t>((start + 101 * rank + source.step) % source.modulus) -
         static_cast<std::int64_t>(source.half);
}

SLUICE_KERNELS_FUNCTION std::int64_t number_at(const sluice_check_source_t &source, std::uint64_t element) {
  const std::uint64_t x = (element + 0x9e3779b97f4a7c15U) * 0xbf58476d1ce4e5b9U;
  const std::uint64_t start = (x ^ (x >> 31U)) % source.modulus;
  std::int64_t result = number_of_rank(source, start, source.first_rank);
  for (std::uint32_t k = 1; k < source.n_ranks; ++k) {
    const std::int64_t value = number_of_rank(source, start, source.first_rank + k);
    if (source.fold == SLUICE_CHECK_FOLD_SUM) {
      result += value;
    } else if (source.fold == SLUICE_CHECK_FOLD_MAX ? value > result : value < result) {
      result = value;
    }
  }
  return result;
}

// The bits of a whole number up to +-2^mantissa_bits as IEEE floating point of that many bits behind the point.
SLUICE_KERNELS_FUNCTION std::uint64_t float_bits(std::int64_t value, unsigned exponent_bits, unsigned mantissa_bits) {
  if (value == 0) return 0;
  const std::uint64_t magnitude =
      value < 0 ? std::uint64_t{0} - static_cast<std::uint64_t>(value) : static_cast<std::uint64_t>(value);
  unsigned exponent = 0;
  while ((magnitude >> exponent) > 1) ++exponent;
  const std::uint64_t bias = (std::uint64_t{1} << (exponent_bits - 1U)) - 1U;
  const std::uint64_t fraction = magnitude ^ (std::uint64_t{1} << exponent);
  const std::uint64_t sign = value < 0 ? std::uint64_t{1} << (exponent_bits + mantissa_bits) : 0;
  return sign | ((bias + exponent) << mantissa_bits) | (fraction << (mantissa_bits - exponent));
}

SLUICE_KERNELS_FUNCTION std::uint64_t element_bits(const sluice_check_source_t &source, std::uint64_t element) {
  const std::int64_t value = number_at(source, element);
  if (source.is_floating != 0) return source.element_bytes == 4 ? float_bits(value, 8, 23) : float_bits(value, 11, 52);
  const unsigned unused_bits = 64U - 8U * source.element_bytes;
  return static_cast<std::uint64_t>(value) << unused_bits >> unused_bits;
}

// The word of a source that is to lie there.
SLUICE_KERNELS_FUNCTION std::uint64_t expected_word(const sluice_check_source_t &source, std::uint64_t word) {
  if (source.element_bytes == 0) return pattern_word(source, word);
  const std::uint64_t n = kWordBytes / source.element_bytes;
  std::uint64_t result = 0;
  for (std::uint64_t k = 0; k < n; ++k) {
    result |= element_bits(source, word * n + k) << (8 * std::uint64_t{source.element_bytes} * k);
  }
  return result;
}

SLUICE_KERNELS_FUNCTION bool holds_word(const unsigned char *at, std::uint64_t expected) {
  if (reinterpret_cast<std::uintptr_t>(at) % kWordBytes != 0) return false;
  std::uint64_t got;
  // NOLINTNEXTLINE(clang-analyzer-unix.cstring.NullArg): no task has memory at null
  __builtin_memcpy(&got, __builtin_assume_aligned(at, kWordBytes), sizeof(got));
  return got == expected;
}

// The bytes of the segment that lie in the source's word `word`, counted from the segment's first word.
SLUICE_KERNELS_FUNCTION void check_word(const CheckTask &task, const sluice_check_segment_t &segment,
                                        std::uint64_t word, CheckShare &share) {
  const std::uint64_t source_word = segment.position / kWordBytes + word;
  const std::uint64_t word_begin = source_word * kWordBytes;
  const std::uint64_t segment_end = segment.position + segment.size_bytes;
  const std::uint64_t begin = word_begin < segment.position ? segment.position : word_begin;
  const std::uint64_t end = segment_end < word_begin + kWordBytes ? segment_end : word_begin + kWordBytes;
  const std::uint64_t expected = expected_word(task.sources[segment.source], source_word);
  const std::uint64_t place = segment.begin + (begin - segment.position);
  share.n_bytes += end - begin;
  if (end - begin == kWordBytes && holds_word(task.memory + place, expected)) return;
  for (std::uint64_t k = 0; k < end - begin; ++k) {
    const auto wanted = static_cast<unsigned char>(expected >> (8U * (begin - word_begin + k)));
    if (task.memory[place + k] != wanted && place + k < share.first_wrong) share.first_wrong = place + k;
  }
}

// The last segment that begins with or before that word.
SLUICE_KERNELS_FUNCTION std::uint64_t segment_of(const CheckTask &task, std::uint64_t word) {
  std::uint64_t low = 0;
  std::uint64_t high = task.n_segments;
  while (high - low > 1) {
    const std::uint64_t middle = low + (high - low) / 2;
    if (task.segments[middle].first_word <= word) {
      low = middle;
    } else {
      high = middle;
    }
  }
  return low;
}

// The share of work-item `item` of `n_items`. Neighbouring items look at neighbouring words.
SLUICE_KERNELS_FUNCTION void check_share(const CheckTask &task, std::uint64_t item, std::uint64_t n_items) {
  CheckShare share = {kNothingWrong, 0};
  for (std::uint64_t word = item; word < task.n_words; word += n_items) {
    const sluice_check_segment_t &segment = task.segments[segment_of(task, word)];
    check_word(task, segment, word - segment.first_word, share);
  }
  task.shares[item] = share;
}

}  // namespace sluice::kernels
