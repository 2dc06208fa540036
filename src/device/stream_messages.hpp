// SPDX-License-Identifier: BSD-3-Clause
// find_stream_messages(): a module's second table, sluice/stream_message.h.
#pragma once

#include "device/backend.hpp"
#include "sluice/stream_message.h"

namespace sluice::device {

// Null where the module has none, or one of another version. A look-up by the linker's tables: not hot. Any thread.
[[nodiscard]] const sluice_stream_message_t *find_stream_messages(const Backend &backend);

}  // namespace sluice::device
