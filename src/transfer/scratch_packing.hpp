// SPDX-License-Identifier: BSD-3-Clause
// Packing by way of device memory of Sluice's own: between a device and host memory that its kernels do not reach, as
// memory of C is on many devices (docs/adr/0025). Without MPI.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/status.hpp"
#include "sluice/backend.h"
#include "transfer/region.hpp"

namespace sluice::transfer {

// Payload that is in the device's scratch memory at the same time, at most.
inline constexpr std::uint64_t kScratchPieceBytes = std::uint64_t{32} << 20;

// Moves the first `size_bytes` of the payload of `region`, which has gaps, to or from host memory at `beside`, packed
// or an image (sluice_pack_t), as Packer::add() does; piece by piece, a launch and a copy each. Blocks until it is
// done. *is_refused: there is no such memory or no kernel, and nothing that was moved has to be undone: copies may do
// it. Any thread. Errors: those of the runtime.
[[nodiscard]] Status move_by_scratch(sluice_pack_direction_t direction, sluice_pack_form_t form, const Region &region,
                                     std::uint64_t size_bytes, std::byte *beside, bool *is_refused);

}  // namespace sluice::transfer
