// SPDX-License-Identifier: BSD-3-Clause
// Under which names programs ask for this memory. The driver knows every pointer, whichever library made it.
#include "module.h"

namespace sluice::backends::cuda {

namespace {

constexpr const char *kNone[] = {nullptr};

// Whether the program has started the driver, and it shows a device. It is not started for the question: what the
// program says in CUDA_VISIBLE_DEVICES later would be in vain.
bool has_device() {
  int count = 0;
  return g_driver.cuDeviceGetCount(&count) == CUDA_SUCCESS && count > 0;
}

}  // namespace

const char *const *support_words() {
  static const char *const words[] = {"cuda", nullptr};
  return has_device() ? words : kNone;
}

const char *const *memory_kind_words() {
  static const char *const words[] = {"cuda", "cuda:host", "cuda:device", "cuda:managed", nullptr};
  return has_device() ? words : kNone;
}

const char *const *stream_words() {
  static const char *const words[] = {"cudaStream_t", "CUstream", nullptr};
  return words;
}

}  // namespace sluice::backends::cuda
