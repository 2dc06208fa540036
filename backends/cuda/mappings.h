// SPDX-License-Identifier: BSD-3-Clause
// The memory of other processes that ipc.cpp has mapped here.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <utility>

#include "module.h"

namespace sluice::backends::cuda {

// One address that the driver gave. The driver counts how often one context opened one handle and gives the same
// address again, and so does this.
struct Mapping {
  CUcontext context = nullptr;
  unsigned n_opened = 0;
  unsigned n_retained = 0;  // references to the primary context, given back with the mapping
  unsigned n_closing = 0;   // closed by the caller, and not yet towards the driver
  size_t piece_bytes = 0;   // of pieces, which belong to no context; 0: the driver's own handle
  // What the driver takes for one range: several small allocations may lie in it, and it may begin before the address.
  CUdeviceptr range_begin = 0;
  // What is known without the driver: so much from the address on, in the context of that number (0: it gives none).
  size_t size_bytes = 0;
  unsigned long long context_number = 0;
};

using MappingKey = std::pair<int32_t, void *>;  // the device that uses it, and the address

// All of them; with the mutex.
std::map<MappingKey, Mapping> &mappings();
std::mutex &mappings_mutex();

}  // namespace sluice::backends::cuda
