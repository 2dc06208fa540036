// SPDX-License-Identifier: BSD-3-Clause
// Copies between device and host memory, on queues of Sluice's own that are kept and used again.
#pragma once

#include <cstddef>
#include <span>

#include "base/status.hpp"
#include "device/place.hpp"
#include "sluice/backend.h"

namespace sluice::device {

// Copies `size_bytes` from `src` to `dst`, one of which lies in `place` and the other in host memory. Blocks until the
// data is there for the CPU and for every later command of the device. Not ordered with the program's own queues: as
// MPI asks, the program has finished with the buffer before it passes it. Hot. Any thread. Errors: the runtime's; a
// part may have been copied.
[[nodiscard]] Status copy(const Place &place, void *dst, const void *src, std::size_t size_bytes);

// The same for many pieces at once: all are enqueued, then awaited once. Any thread. Errors: the runtime's, of any of
// them; a part may have been copied.
[[nodiscard]] Status copy(const Place &place, std::span<const sluice_copy_t> pieces);

}  // namespace sluice::device
