// SPDX-License-Identifier: BSD-3-Clause
// The line that says where a run went wrong.
#include "bench/report/failure_text.hpp"

#include <fmt/format.h>

namespace sluice::bench {

std::string text_with_size(std::uint64_t size_bytes, const std::string &error) {
  return error.empty() ? "" : fmt::format("size {}: {}", size_bytes, error);
}

std::string text_with_iteration(std::uint64_t size_bytes, std::uint64_t iteration, const std::string &failure,
                                const char *route) {
  if (failure.empty()) {
    return "";
  }
  const std::string suffix = route != nullptr ? fmt::format(" ({})", route) : "";
  return fmt::format("size {}, iteration {}, {}{}", size_bytes, iteration, failure, suffix);
}

}  // namespace sluice::bench
