// SPDX-License-Identifier: BSD-3-Clause
// The module's table for messages in few commands, where it has one.
#pragma once

#include "sluice/stream_message.h"

namespace conformance {

// Null where the module has none.
const sluice_stream_message_t *stream_message();

}  // namespace conformance
