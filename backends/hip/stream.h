// SPDX-License-Identifier: BSD-3-Clause
// A stream of the program's, and what is asked before a command goes into it.
#pragma once

#include "launch.h"
#include "module.h"

struct sluice_stream {
  hipStream_t stream = nullptr;
  int32_t device = 0;
  sluice::backends::hip::Kernel take;  // of stream_take; without a function: not looked for yet
};

namespace sluice::backends::hip {

// SLUICE_ERROR_UNSUPPORTED and a text where `stream` is being captured into a graph. Its device is current.
sluice_result_t check_not_captured(const sluice_stream &stream);

// stream_channel.cpp: where the runtime knows a word of memory of host_alloc or host_register, which is another address
// of the same word for the second; no other memory is taken. Any thread.
sluice_result_t find_word(const uint64_t *word, uint64_t **found);

}  // namespace sluice::backends::hip
