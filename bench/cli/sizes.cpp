// SPDX-License-Identifier: BSD-3-Clause
// Message sizes as users write them.
#include "bench/cli/sizes.hpp"

#include <fmt/format.h>

#include <charconv>

#include "bench/cli/option_error.hpp"

namespace sluice::bench {
namespace {

constexpr std::uint64_t kLargestSize = std::uint64_t{1} << 62;

unsigned shift_of_suffix(char suffix) {
  switch (suffix) {
    case 'k':
    case 'K':
      return 10;
    case 'm':
    case 'M':
      return 20;
    case 'g':
    case 'G':
      return 30;
    case 't':
    case 'T':
      return 40;
    default:
      return 0;
  }
}

}  // namespace

std::uint64_t parse_bytes(std::string_view option, std::string_view text) {
  std::uint64_t value = 0;
  const char *const begin = text.data();
  const char *const end = begin + text.size();
  const auto [stop, error] = std::from_chars(begin, end, value);
  const std::string_view suffix(stop, static_cast<std::size_t>(end - stop));
  const unsigned shift = suffix.size() == 1 ? shift_of_suffix(suffix[0]) : 0;
  if (error == std::errc::result_out_of_range || (error == std::errc{} && value > (kLargestSize >> shift))) {
    throw OptionError(fmt::format("{}: '{}' is more than the largest size, 2^62 bytes", option, text));
  }
  if (error != std::errc{} || (!suffix.empty() && shift == 0)) {
    throw OptionError(fmt::format("{}: '{}' is not a size (digits, then nothing or one of K M G T)", option, text));
  }
  return value << shift;
}

std::vector<std::uint64_t> parse_size_range(std::string_view option, std::string_view text, std::uint64_t min_size) {
  const std::size_t colon = text.find(':');
  std::uint64_t smallest = min_size;
  if (colon != std::string_view::npos) {
    smallest = parse_bytes(option, text.substr(0, colon));
    text.remove_prefix(colon + 1);
  }
  const std::uint64_t largest = parse_bytes(option, text);
  if (smallest > largest) {
    throw OptionError(fmt::format("{}: the smallest size {} is above the largest {}", option, smallest, largest));
  }
  std::vector<std::uint64_t> sizes;
  for (std::uint64_t size = smallest; size <= largest; size = size == 0 ? 1 : size * 2) {
    sizes.push_back(size);
  }
  return sizes;
}

std::vector<std::uint64_t> parse_size_list(std::string_view option, std::string_view text) {
  std::vector<std::uint64_t> sizes;
  for (;;) {
    const std::size_t comma = text.find(',');
    sizes.push_back(parse_bytes(option, text.substr(0, comma)));
    if (comma == std::string_view::npos) {
      return sizes;
    }
    text.remove_prefix(comma + 1);
  }
}

}  // namespace sluice::bench
