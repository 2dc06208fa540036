// SPDX-License-Identifier: BSD-3-Clause
// Holds the texts of the kernels that benchmarks ask for, which compile_kernels.cpp writes while the module is built.
#include "kernels.h"

namespace sluice::backends::cuda {

#define SLUICE_CUDA_TEXT(function, name, text)          \
  const KernelText &function() {                        \
    static constexpr KernelText kKernel = {name, text}; \
    return kKernel;                                     \
  }
#include "probe_kernels.inc"
#undef SLUICE_CUDA_TEXT

}  // namespace sluice::backends::cuda
