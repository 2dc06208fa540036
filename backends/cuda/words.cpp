// SPDX-License-Identifier: BSD-3-Clause
// Under which names programs ask for this memory. The driver knows every pointer, whichever library made it.
#include "module.h"

namespace sluice::backends::cuda {

const char *const *support_words() {
  static const char *const words[] = {"cuda", nullptr};
  return words;
}

const char *const *memory_kind_words() {
  static const char *const words[] = {"cuda", "cuda:host", "cuda:device", "cuda:managed", nullptr};
  return words;
}

}  // namespace sluice::backends::cuda
