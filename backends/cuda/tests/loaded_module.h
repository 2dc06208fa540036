// SPDX-License-Identifier: BSD-3-Clause
// The module on the loop-back driver, as suites of its logic start it.
#pragma once

#include <cuda.h>
#include <dlfcn.h>
#include <gtest/gtest.h>

#include "sluice/backend.h"

// Nobody hears what it logs, and no knob is set.
inline constexpr sluice_host_services_t kNoServices = {sizeof(sluice_host_services_t), [](int, const char *) {},
                                                       [](const char *) -> const char * { return nullptr; }};

// Loads it, as `library` for those that look for more in it, and starts it with a driver in use. The services live as
// long as the process. Asserts.
inline void load_module(const sluice_host_services_t &services, const sluice_backend_t **table, void **library) {
  *library = dlopen(SLUICE_MODULE_PATH, RTLD_NOW | RTLD_LOCAL);
  ASSERT_NE(*library, nullptr) << dlerror();
  *table = reinterpret_cast<sluice_backend_table_fn>(dlsym(*library, SLUICE_BACKEND_TABLE_SYMBOL))();
  ASSERT_EQ(cuInit(0), CUDA_SUCCESS);
  ASSERT_EQ((*table)->init(&services), SLUICE_SUCCESS) << (*table)->last_error();
}
inline void load_module(const sluice_host_services_t &services, const sluice_backend_t **table) {
  void *library = nullptr;
  load_module(services, table, &library);
}
