// SPDX-License-Identifier: BSD-3-Clause
// Makes code for a device out of the texts of kernels/, by the runtime's own compiler (hipRTC).
#pragma once

#include <string>
#include <vector>

#include "sluice/backend.h"

namespace sluice::backends::hip {

// A kernel: each work-item calls `share`, a function of kernels/, on its one argument, a structure `task` of kernels/.
struct KernelBody {
  std::string header;  // that has both
  std::string task;
  std::string share;
  // The argument is a TakeList (kernels/take.hpp), of which each block has a part of one message; the first of its
  // work-items looks at the word for all of them.
  bool takes_messages = false;
};
KernelBody reduction_body(sluice_element_t element, sluice_operation_t operation);
KernelBody copies_body();
KernelBody pack_body();
KernelBody rearrange_body();
KernelBody check_body();
KernelBody work_body();
// Messages whose words have come, and which have none to set (kernels/take.hpp).
KernelBody take_body();
// Words set or waited for, by a work-item for each (kernels/signals.hpp).
KernelBody trigger_body();
KernelBody await_body();

// Name of the entry of the code that compile_kernel() makes.
inline constexpr const char *kKernelEntry = "sluice_kernel";
// Work-items of a group, at most.
inline constexpr unsigned kBlockThreads = 512;

// Whether a compiler is to be found. The first call looks for its library, which is loaded then and stays. Any thread.
bool has_compiler();

// The code of a kernel, for the current device, or for `architecture` ("gfx90a"), without any device, where that
// is not empty. Empty on success, else what the compiler says and what to do. Blocks for a second or so. Any thread.
std::string compile_kernel(const KernelBody &body, const std::string &architecture, std::vector<char> *code);

}  // namespace sluice::backends::hip
