// SPDX-License-Identifier: BSD-3-Clause
// MPI_Get_library_version: the host MPI's text, and behind it that Sluice is in front, so that a log of a job shows it.
#include <fmt/format.h>

#include <cstring>
#include <iterator>

#include "base/knobs.hpp"
#include "generated/operations.hpp"
#include "sluice/sluice.h"
#include "wire/host.hpp"

namespace sluice::ops {

int get_library_version(char *version, int *resultlen) {
  const int code = wire::host().MPI_Get_library_version(version, resultlen);
  if (code != MPI_SUCCESS || version == nullptr || resultlen == nullptr) return code;
  if (!Knobs::process().is_on("SLUICE_LIBRARY_VERSION")) return code;
  // Programs look at how the text begins, so what is Sluice's comes last. A host MPI's text may end with a new line.
  std::size_t length = strnlen(version, MPI_MAX_LIBRARY_VERSION_STRING);
  const std::size_t n_lines = length > 0 && version[length - 1] == '\n' ? 1 : 0;
  char own[64] = "";
  const auto end = fmt::format_to_n(std::begin(own), sizeof(own), "; Sluice {}.{}.{}", SLUICE_VERSION_MAJOR,
                                    SLUICE_VERSION_MINOR, SLUICE_VERSION_PATCH);
  if (length - n_lines + end.size + n_lines >= MPI_MAX_LIBRARY_VERSION_STRING) return code;
  std::memcpy(version + length - n_lines, own, end.size);
  length += end.size;
  if (n_lines != 0) version[length - 1] = '\n';
  version[length] = '\0';
  *resultlen += static_cast<int>(end.size);  // Open MPI counts the zero, and goes on to
  return code;
}

}  // namespace sluice::ops
