// SPDX-License-Identifier: BSD-3-Clause
// module_table(): for a backend's own tests.
#pragma once

#include <dlfcn.h>
#include <gtest/gtest.h>

#include "sluice/backend.h"

namespace sluice::backends {

// The table of the module at SLUICE_MODULE_PATH, which the first call loads and nobody unloads. The caller calls
// init().
inline const sluice_backend_t &module_table() {
  static const sluice_backend_t *loaded = [] {
    void *library = dlopen(SLUICE_MODULE_PATH, RTLD_NOW | RTLD_LOCAL);
    EXPECT_NE(library, nullptr) << dlerror();
    return reinterpret_cast<sluice_backend_table_fn>(dlsym(library, SLUICE_BACKEND_TABLE_SYMBOL))();
  }();
  return *loaded;
}

}  // namespace sluice::backends
