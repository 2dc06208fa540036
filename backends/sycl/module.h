// SPDX-License-Identifier: BSD-3-Clause
// What the files of this module share. Functions named as members of sluice_backend_t are those members; their contract
// is include/sluice/backend.h.
#pragma once

#include <cstdint>
#include <string_view>
#include <sycl/sycl.hpp>
#include <utility>

#include "../members.h"
#include "../module_state.h"
#include "sluice/backend.h"

namespace sluice::backends::sycl {

// ---- module.cpp: errors ----

// What an exception of the runtime means to Sluice; keeps "call: native text" for last_error().
sluice_result_t translate(const char *call, const ::sycl::exception &error);
// The text of a knob of knobs.def.
std::string_view knob_text(const char *name);
// True once the process exits: the runtime may be gone, so nothing of it is called any more and its objects are left to
// the end of the process.
bool is_exiting();

// Runs `body`, which returns a sluice_result_t, and turns what the runtime throws into an error.
template <typename Body>
sluice_result_t guarded(const char *call, const Body &body) {
  if (is_exiting()) return fail(SLUICE_ERROR_UNSUPPORTED, "the process is exiting and the runtime may be gone");
  try {
    return body();
  } catch (const ::sycl::exception &error) {
    return translate(call, error);
  } catch (const std::bad_alloc &) {
    return fail(SLUICE_ERROR_OUT_OF_MEMORY, "no host memory left");
  } catch (const std::exception &error) {
    return fail(SLUICE_ERROR_NATIVE, std::string(call) + ": " + error.what());
  }
}

// SLUICE_SUCCESS for 0 <= device < device_count(), else SLUICE_ERROR_NO_DEVICE with a text.
sluice_result_t check_device(int32_t device);

// The device that this thread chose.
int32_t program_device();

// Hands no more memory over; calls nothing of the runtime. Handles of Level Zero's mechanism are then good for nothing.
void stop_exports();

// Members of the table. register_context takes a ::sycl::queue *: its context's memory is known from then on, and the
// queue is a stream under this address; both are kept alive. Streams are those that were given to it.
#define SLUICE_MEMBER SLUICE_DECLARED
#include "../members.def"
#undef SLUICE_MEMBER

}  // namespace sluice::backends::sycl
