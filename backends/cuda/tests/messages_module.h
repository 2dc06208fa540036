// SPDX-License-Identifier: BSD-3-Clause
// The module with its messages of queues (sluice/stream_message.h), on the loop-back driver, as suites of them start
// it.
#pragma once

#include <cuda.h>
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "loopback.h"
#include "sluice/backend.h"
#include "sluice/stream_message.h"

// *messages is null where the module has no kernels. The services live as long as the process. Asserts.
inline void load_messages_module(const sluice_host_services_t &services, const sluice_backend_t **table,
                                 const sluice_stream_message_t **messages) {
  void *library = dlopen(SLUICE_MODULE_PATH, RTLD_NOW | RTLD_LOCAL);
  ASSERT_NE(library, nullptr) << dlerror();
  *table = reinterpret_cast<sluice_backend_table_fn>(dlsym(library, SLUICE_BACKEND_TABLE_SYMBOL))();
  const auto find = reinterpret_cast<sluice_stream_message_fn>(dlsym(library, SLUICE_STREAM_MESSAGE_SYMBOL));
  *messages = find != nullptr ? find() : nullptr;
  ASSERT_EQ(setenv("CUDA_DEVICE_MAX_CONNECTIONS", "32", 1), 0);
  ASSERT_EQ(cuInit(0), CUDA_SUCCESS);
  loopback::state().has_service = true;  // so that kernels wait whoever else is on the "device"
  ASSERT_EQ((*table)->init(&services), SLUICE_SUCCESS) << (*table)->last_error();
  ASSERT_EQ((*table)->program_set_device(0), SLUICE_SUCCESS);
}
