// SPDX-License-Identifier: BSD-3-Clause
#include "waits.h"

#include <utility>

namespace sluice::backends::hip {

sluice_result_t give_back(std::function<sluice_result_t()> release) {
  {
    const Quiet quiet;
    if (quiet.is_kept()) return release();
  }
  release_later([release = std::move(release)] {
    if (release() != SLUICE_SUCCESS) log_error();
  });
  return SLUICE_SUCCESS;
}

}  // namespace sluice::backends::hip
