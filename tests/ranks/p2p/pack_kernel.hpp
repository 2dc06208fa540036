// SPDX-License-Identifier: BSD-3-Clause
// Whether data with gaps is packed by kernels here.
#pragma once

#include <cstdlib>
#include <string_view>

#include "tests/support/session.hpp"

namespace sluice::tests {

// Whether the plan has a kernel pack: where it can, unless copies are the CPU's work, or wherever it is told to.
inline bool has_pack_kernel() {
  const Session &session = Session::get();
  if (!session.has_sluice() || !session.has_kind(Kind::device)) return false;
  const sluice_backend_t &table = session.module()->table();
  if (table.can_pack == nullptr || table.can_pack(0) == 0) return false;
  const char *use = std::getenv("SLUICE_TRANSFER_PACK");
  const bool is_cpu = table.device_traits != nullptr && (table.device_traits(0) & SLUICE_DEVICE_COPIES_BY_CPU) != 0;
  return !is_cpu || (use != nullptr && std::string_view(use) == "kernel");
}

}  // namespace sluice::tests
