// SPDX-License-Identifier: BSD-3-Clause
#include "wire/host_failure.hpp"

#include <fmt/format.h>

#include <array>
#include <cstddef>

#include "wire/host.hpp"

namespace sluice::wire {

std::string error_text(int code) {
  std::array<char, MPI_MAX_ERROR_STRING + 1> text{};
  int length = 0;
  if (host().MPI_Error_string(code, text.data(), &length) != MPI_SUCCESS || length < 0) return {};
  return {text.data(), static_cast<std::size_t>(length)};
}

Status host_failure(int code, std::string_view what, std::string_view remedy) {
  return Status::error(ErrorKind::kBackend,
                       fmt::format("the host MPI could not {}: {}; {}", what, error_text(code), remedy));
}

}  // namespace sluice::wire
