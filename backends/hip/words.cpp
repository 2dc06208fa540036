// SPDX-License-Identifier: BSD-3-Clause
// Under which names programs ask for this memory: MPICH says hip, Open MPI and the memory kinds of MPI say rocm.
#include "module.h"

namespace sluice::backends::hip {

const char *const *support_words() {
  static const char *const words[] = {"hip", "rocm", nullptr};
  return words;
}

const char *const *memory_kind_words() {
  static const char *const words[] = {"rocm", "rocm:host", "rocm:device", "rocm:managed", nullptr};
  return words;
}

const char *const *stream_words() {
  static const char *const words[] = {"hipStream_t", nullptr};
  return words;
}

}  // namespace sluice::backends::hip
