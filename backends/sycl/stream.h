// SPDX-License-Identifier: BSD-3-Clause
// A stream of the program's, and what is asked before a command goes into it.
#pragma once

#include <cstdint>
#include <memory>

#include "../outcome.h"
#include "module.h"
#include "stream_way.h"

struct sluice_stream {
  ::sycl::queue queue;
  int32_t device = 0;
  std::unique_ptr<sluice::backends::sycl::StreamWay> way;
};

namespace sluice::backends::sycl {

// SLUICE_SUCCESS, or what `outcome` says, kept for last_error().
sluice_result_t to_result(const Outcome &outcome);

// A stream that is there, and is not being recorded into a graph. Throws what the runtime throws.
Outcome check_stream(const sluice_stream *stream);
// A word in memory of host_alloc, or of host_register for the stream's device. The same.
Outcome check_word(const sluice_stream &stream, const uint64_t *word);

}  // namespace sluice::backends::sycl
