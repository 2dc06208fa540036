// SPDX-License-Identifier: BSD-3-Clause
// Functions of a library that is opened at run time.
#pragma once

#include <dlfcn.h>

namespace sluice {

// Looks `name` up in a library of dlopen's. False, and *function null: the library has none of that name. Any thread.
template <typename Function>
[[nodiscard]] bool find_function(void *library, const char *name, Function *function) {
  *function = reinterpret_cast<Function>(dlsym(library, name));
  return *function != nullptr;
}

}  // namespace sluice
