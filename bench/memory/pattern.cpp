// SPDX-License-Identifier: BSD-3-Clause
// The data that checked messages carry; eight bytes at a time.
#include "bench/memory/pattern.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

namespace sluice::bench {
namespace {

constexpr std::uint64_t kEveryByte = 0x0101010101010101U;
constexpr std::uint64_t kHighBits = 0x8080808080808080U;
constexpr std::uint64_t kGolden = 0x9e3779b97f4a7c15U;  // 2^64 over the golden ratio: consecutive words far apart
constexpr std::size_t kWordBytes = sizeof(std::uint64_t);

// Spreads every input bit over all output bits (the finaliser of the splitmix generator).
std::uint64_t mix(std::uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9U;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebU;
  return x ^ (x >> 31);
}

// Adds byte by byte, without carries between the bytes.
std::uint64_t add_bytes(std::uint64_t a, std::uint64_t b) {
  return ((a & ~kHighBits) + (b & ~kHighBits)) ^ ((a ^ b) & kHighBits);
}

}  // namespace

Pattern::Pattern(std::uint32_t rank, std::uint64_t iteration, std::uint64_t message)
    : seed_(mix(message + kGolden)),
      step_(((std::uint64_t{101} * rank + std::uint64_t{37} * iteration) & 0xffU) * kEveryByte) {}

std::uint64_t Pattern::word_at(std::uint64_t word) const {
  return add_bytes(mix(seed_ + word * kGolden), step_);
}

std::byte Pattern::at(std::uint64_t position) const {
  const std::uint64_t word = word_at(position / kWordBytes);
  std::byte bytes[kWordBytes];
  std::memcpy(bytes, &word, kWordBytes);
  return bytes[position % kWordBytes];
}

void Pattern::write(std::span<std::byte> bytes, std::uint64_t flip) const {
  for (std::size_t offset = 0; offset < bytes.size(); offset += kWordBytes) {
    const std::uint64_t word = word_at(offset / kWordBytes) ^ flip;
    std::memcpy(bytes.data() + offset, &word, std::min(kWordBytes, bytes.size() - offset));
  }
}

void Pattern::fill(std::span<std::byte> bytes) const {
  write(bytes, 0);
}

void Pattern::poison(std::span<std::byte> bytes) const {
  write(bytes, ~std::uint64_t{0});
}

std::optional<std::uint64_t> Pattern::find_mismatch(std::span<const std::byte> bytes) const {
  for (std::size_t offset = 0; offset < bytes.size(); offset += kWordBytes) {
    const std::uint64_t expected = word_at(offset / kWordBytes);
    const std::size_t n = std::min(kWordBytes, bytes.size() - offset);
    if (std::memcmp(bytes.data() + offset, &expected, n) == 0) {
      continue;
    }
    std::size_t i = 0;
    while (bytes[offset + i] == at(offset + i)) {
      ++i;
    }
    return offset + i;
  }
  return std::nullopt;
}

sluice_check_source_t Pattern::source() const {
  sluice_check_source_t source{};
  source.seed = seed_;
  source.step = step_;
  return source;
}

std::string Pattern::find_error(std::span<const std::byte> bytes) const {
  const auto position = find_mismatch(bytes);
  return position ? describe({static_cast<std::int64_t>(*position), at(*position), bytes[*position]}) : "";
}

std::string describe(const Mismatch &mismatch, const char *where) {
  return fmt::format("offset {}{}: expected {:#04x}, got {:#04x}", mismatch.offset, where,
                     std::to_integer<unsigned>(mismatch.expected), std::to_integer<unsigned>(mismatch.got));
}

void complement(std::span<std::byte> bytes) {
  std::transform(bytes.begin(), bytes.end(), bytes.begin(), [](std::byte byte) { return ~byte; });
}

}  // namespace sluice::bench
