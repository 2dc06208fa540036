// SPDX-License-Identifier: BSD-3-Clause
// Messages captured into a program's graph: functions of sluice/stream_message.h.
#pragma once

#include "sluice/stream_message.h"
#include "stream.h"

namespace sluice::backends::cuda {

int32_t is_captured(sluice_stream_t *stream);
sluice_result_t capture(sluice_stream_t *stream, const sluice_captured_t *messages, uint32_t n);
sluice_result_t capture_join(sluice_stream_t *stream);
sluice_result_t capture_copies(sluice_stream_t *stream, const sluice_copy_t *copies, uint32_t n);

}  // namespace sluice::backends::cuda
