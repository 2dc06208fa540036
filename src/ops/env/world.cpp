// SPDX-License-Identifier: BSD-3-Clause
#include "ops/env/world.hpp"

#include <fmt/format.h>

#include "base/log.hpp"
#include "base/switch.hpp"
#include "ops/env/errors.hpp"
#include "wire/host.hpp"

namespace sluice::ops {

bool is_world_alive() noexcept {
  int is_begun = 0;
  int is_ended = 0;
  return wire::host().MPI_Initialized(&is_begun) == MPI_SUCCESS && is_begun != 0 &&
         wire::host().MPI_Finalized(&is_ended) == MPI_SUCCESS && is_ended == 0;
}

bool is_usable(std::string_view what, int *code) {
  Status status;
  if (!is_world_alive()) {
    status =
        Status::error(ErrorKind::kUnsupported,
                      fmt::format("{} can be used between MPI_Init and MPI_Finalize only; call MPI_Init before", what));
  } else if (!is_enabled()) {
    status = Status::error(
        ErrorKind::kUnsupported,
        fmt::format("Sluice is switched off (SLUICE_ENABLE=0), and with it its {}; unset SLUICE_ENABLE", what));
  } else {
    return true;
  }
  set_last_error(status);
  log::error("ops", status.message());
  *code = MPI_ERR_OTHER;
  return false;
}

}  // namespace sluice::ops
