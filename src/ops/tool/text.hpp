// SPDX-License-Identifier: BSD-3-Clause
// Texts and numbers as the functions of MPI_T give them. Pure: any thread.
#pragma once

#include <algorithm>
#include <cstring>
#include <string_view>

namespace sluice::ops::tool {

// Writes `text` to `to`, which has room for *length characters with the zero, as MPI-4.1, section 15.3.3, wants it:
// what is longer is cut, *length becomes what the whole text needs, and of a null pointer nothing is asked.
inline void give(std::string_view text, char *to, int *length) noexcept {
  if (length == nullptr) return;
  if (to != nullptr && *length > 0) {
    const std::size_t n = std::min(text.size(), static_cast<std::size_t>(*length) - 1);
    std::memcpy(to, text.data(), n);
    to[n] = '\0';
  }
  *length = static_cast<int>(text.size()) + 1;
}

// Writes a value where the caller asked for one.
template <typename T>
void give(T value, T *to) noexcept {
  if (to != nullptr) *to = value;
}

}  // namespace sluice::ops::tool
