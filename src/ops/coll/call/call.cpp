// SPDX-License-Identifier: BSD-3-Clause
#include "ops/coll/call/call.hpp"

#include <fmt/format.h>

#include "generated/operations.hpp"

namespace sluice::ops::coll {

Status failure_for_all(const Call &call, const Status &own) {
  if (!own.is_ok()) return own;
  return Status::error(ErrorKind::kBackend, fmt::format("another rank of the communicator could not do its part of {}; "
                                                        "its own error says why",
                                                        name(call.operation)));
}

}  // namespace sluice::ops::coll
