// SPDX-License-Identifier: BSD-3-Clause
// The data that reductions carry.
#include "bench/memory/numbers.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "bench/memory/pattern.hpp"

namespace sluice::bench {
namespace {

constexpr std::int64_t kModulus = 1021;
constexpr std::int64_t kExactFloat = std::int64_t{1} << 24;  // whole numbers up to here are exact in a float
constexpr std::int64_t kLargestByte = 255;

std::int64_t modulus_of(ElementType type, int n_all) {
  const std::int64_t largest = type == ElementType::bytes ? kLargestByte : kExactFloat;
  return std::max<std::int64_t>(2, std::min(kModulus, largest / n_all));
}

std::uint64_t hash(std::uint64_t x) {
  x = (x + 0x9e3779b97f4a7c15U) * 0xbf58476d1ce4e5b9U;
  return x ^ (x >> 31);
}

template <class Value>
std::uint64_t bits_of(Value value) {
  std::uint64_t bits = 0;
  std::memcpy(&bits, &value, sizeof value);
  return bits;
}

template <class Value>
Value value_of(std::uint64_t bits) {
  Value value;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

}  // namespace

std::int64_t Numbers::at(std::uint64_t element) const {
  const auto modulus = static_cast<std::uint64_t>(modulus_of(type_, ranks_.n_all));
  return of_start(static_cast<std::int64_t>(hash(element) % modulus));
}

std::int64_t Numbers::of_start(std::int64_t start) const {
  const std::int64_t modulus = modulus_of(type_, ranks_.n_all);
  const std::int64_t half = type_ == ElementType::bytes ? 0 : modulus / 2;
  const auto step = static_cast<std::int64_t>(37 * iteration_ % static_cast<std::uint64_t>(modulus));
  const auto one = [&](int rank) { return (start + std::int64_t{101} * rank + step) % modulus - half; };
  std::int64_t result = one(ranks_.first_rank);
  for (int rank = ranks_.first_rank + 1; rank < ranks_.first_rank + ranks_.n_ranks; ++rank) {
    const std::int64_t value = one(rank);
    switch (operation_) {
      case Operation::max:
        result = std::max(result, value);
        break;
      case Operation::min:
        result = std::min(result, value);
        break;
      default:
        result += value;
        break;
    }
  }
  return result;
}

std::uint64_t Numbers::bits_as_type(std::int64_t value) const {
  switch (type_) {
    case ElementType::bytes:
      return bits_of(static_cast<std::uint8_t>(value));
    case ElementType::int32:
      return bits_of(static_cast<std::int32_t>(value));
    case ElementType::float32:
      return bits_of(static_cast<float>(value));
    case ElementType::float64:
      return bits_of(static_cast<double>(value));
    default:
      return bits_of(value);
  }
}

std::string Numbers::text_of(std::uint64_t bits) const {
  switch (type_) {
    case ElementType::bytes:
      return fmt::format("{}", value_of<std::uint8_t>(bits));
    case ElementType::int32:
      return fmt::format("{}", value_of<std::int32_t>(bits));
    case ElementType::float32:
      return fmt::format("{}", value_of<float>(bits));
    case ElementType::float64:
      return fmt::format("{}", value_of<double>(bits));
    default:
      return fmt::format("{}", value_of<std::int64_t>(bits));
  }
}

// Elements have few values, and long buffers many elements: what each start comes to is worked out once for all of
// them.
template <class Visit>
void Numbers::for_each(std::size_t n_elements, std::uint64_t first, Visit visit) const {
  const auto modulus = static_cast<std::uint64_t>(modulus_of(type_, ranks_.n_all));
  std::vector<std::uint64_t> bits_of_start;
  if (n_elements > modulus) {
    for (std::uint64_t start = 0; start < modulus; ++start) {
      bits_of_start.push_back(bits_as_type(of_start(static_cast<std::int64_t>(start))));
    }
  }
  for (std::size_t i = 0; i < n_elements; ++i) {
    const std::uint64_t element = first + i;
    const std::uint64_t bits =
        bits_of_start.empty() ? bits_as_type(at(element)) : bits_of_start[hash(element) % modulus];
    if (!visit(i, bits)) return;
  }
}

void Numbers::fill(std::span<std::byte> bytes, std::uint64_t first) const {
  const std::size_t n = element_bytes(type_);
  for_each(bytes.size() / n, first, [&](std::size_t i, std::uint64_t bits) {
    std::memcpy(bytes.data() + i * n, &bits, n);
    return true;
  });
}

void Numbers::poison(std::span<std::byte> bytes, std::uint64_t first) const {
  fill(bytes, first);
  complement(bytes);
}

sluice_check_source_t Numbers::source() const {
  const std::int64_t modulus = modulus_of(type_, ranks_.n_all);
  sluice_check_source_t source{};
  source.step = 37 * iteration_ % static_cast<std::uint64_t>(modulus);
  source.element_bytes = static_cast<std::uint32_t>(element_bytes(type_));
  source.is_floating = type_ == ElementType::float32 || type_ == ElementType::float64 ? 1 : 0;
  source.fold = operation_ == Operation::max   ? SLUICE_CHECK_FOLD_MAX
                : operation_ == Operation::min ? SLUICE_CHECK_FOLD_MIN
                                               : SLUICE_CHECK_FOLD_SUM;
  source.first_rank = static_cast<std::uint32_t>(ranks_.first_rank);
  source.n_ranks = static_cast<std::uint32_t>(ranks_.n_ranks);
  source.modulus = static_cast<std::uint32_t>(modulus);
  source.half = type_ == ElementType::bytes ? 0 : static_cast<std::uint32_t>(modulus / 2);
  return source;
}

std::string Numbers::find_error(std::span<const std::byte> bytes, std::uint64_t first) const {
  const std::size_t n = element_bytes(type_);
  std::string error;
  for_each(bytes.size() / n, first, [&](std::size_t i, std::uint64_t expected) {
    if (std::memcmp(bytes.data() + i * n, &expected, n) == 0) return true;
    std::uint64_t got = 0;
    std::memcpy(&got, bytes.data() + i * n, n);
    error = fmt::format("element {}: expected {}, got {}", i, text_of(expected), text_of(got));
    return false;
  });
  return error;
}

}  // namespace sluice::bench
