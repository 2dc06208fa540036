// SPDX-License-Identifier: BSD-3-Clause
// The module with its messages of queues (sluice/stream_message.h), on the loop-back driver, as suites of them start
// it.
#pragma once

#include <cuda.h>
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>

#include "loaded_module.h"
#include "loopback.h"
#include "sluice/backend.h"
#include "sluice/stream_message.h"

// *messages is null where the module has no kernels. The services live as long as the process. Asserts.
inline void load_messages_module(const sluice_host_services_t &services, const sluice_backend_t **table,
                                 const sluice_stream_message_t **messages) {
  ASSERT_EQ(setenv("CUDA_DEVICE_MAX_CONNECTIONS", "32", 1), 0);
  loopback::state().has_service = true;  // so that kernels wait whoever else is on the "device"
  void *library = nullptr;
  ASSERT_NO_FATAL_FAILURE(load_module(services, table, &library));
  const auto find = reinterpret_cast<sluice_stream_message_fn>(dlsym(library, SLUICE_STREAM_MESSAGE_SYMBOL));
  *messages = find != nullptr ? find() : nullptr;
  ASSERT_EQ((*table)->program_set_device(0), SLUICE_SUCCESS);
}

// A page of words, all 0, for host_free. Asserts.
inline void make_words(const sluice_backend_t &table, uint64_t **words) {
  constexpr size_t kPageBytes = 4096;
  void *memory = nullptr;
  ASSERT_EQ(table.host_alloc(0, kPageBytes, 0, &memory), SLUICE_SUCCESS) << table.last_error();
  std::memset(memory, 0, kPageBytes);
  *words = static_cast<uint64_t *>(memory);
}
