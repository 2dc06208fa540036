// SPDX-License-Identifier: BSD-3-Clause
#include "pattern.h"

#include <sstream>

namespace conformance {

std::byte pattern_byte(size_t position, uint64_t iteration) {
  // A multiply-and-shift mix: neighbours, and the same position in neighbouring iterations, differ.
  uint64_t value = (position + 1) * 0x9E3779B97F4A7C15U + (iteration + 1) * 0xD1B54A32D192ED03U;
  value ^= value >> 29U;
  value *= 0xBF58476D1CE4E5B9U;
  return static_cast<std::byte>(value >> 56U);
}

std::vector<std::byte> pattern(size_t size_bytes, uint64_t iteration) {
  std::vector<std::byte> bytes(size_bytes);
  for (size_t i = 0; i < size_bytes; ++i) bytes[i] = pattern_byte(i, iteration);
  return bytes;
}

std::string pattern_mismatch(std::span<const std::byte> bytes, uint64_t iteration) {
  size_t n_wrong = 0;
  size_t first = 0;
  for (size_t i = 0; i < bytes.size(); ++i) {
    if (bytes[i] == pattern_byte(i, iteration)) continue;
    if (n_wrong++ == 0) first = i;
  }
  if (n_wrong == 0) return "";
  std::ostringstream text;
  text << n_wrong << " of " << bytes.size() << " bytes are wrong, the first at " << first << " (iteration " << iteration
       << ")";
  return text.str();
}

}  // namespace conformance
