// SPDX-License-Identifier: BSD-3-Clause
// The data that checked messages carry.
//
// A byte depends on the sender's rank, the iteration, the message's number in the window and the position:
//   byte = hash(message, position) + 101 * rank + 37 * iteration   (mod 256)
// so at one position two iterations less than 256 apart, and the two ranks of one iteration, always differ, and data
// that is shifted or taken from another message differs in 255 of 256 bytes.
#pragma once

#include <sluice/testing/check.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

namespace sluice::bench {

// A byte that is not as it should be. offset: of a byte of the message, its place in the data; of a guard, its distance
// in memory from the message's first byte, negative before it.
struct Mismatch {
  std::int64_t offset = 0;
  std::byte expected{};
  std::byte got{};
  bool is_guard = false;
};

// "offset 17: expected 0x3f, got 0x00"; `where` stands behind the offset.
std::string describe(const Mismatch &mismatch, const char *where = "");

// Turns every bit around: memory that holds what must arrive then differs from it in every byte.
void complement(std::span<std::byte> bytes);

class Pattern {
 public:
  Pattern(std::uint32_t rank, std::uint64_t iteration, std::uint64_t message);

  // The byte at `position` of the message.
  std::byte at(std::uint64_t position) const;
  // Writes the pattern over `bytes`, whose first byte is position 0.
  void fill(std::span<std::byte> bytes) const;
  // Writes the complement, which differs from the pattern in every byte: a byte that was not received is seen.
  void poison(std::span<std::byte> bytes) const;
  // The first position that differs from the pattern; none when all are right.
  std::optional<std::uint64_t> find_mismatch(std::span<const std::byte> bytes) const;
  // The same as a text: "" when all are right.
  std::string find_error(std::span<const std::byte> bytes) const;
  // The same data as a device computes them.
  sluice_check_source_t source() const;

 private:
  std::uint64_t word_at(std::uint64_t word) const;
  void write(std::span<std::byte> bytes, std::uint64_t flip) const;

  std::uint64_t seed_;
  std::uint64_t step_;  // the byte that rank and iteration add, in all eight bytes
};

}  // namespace sluice::bench
