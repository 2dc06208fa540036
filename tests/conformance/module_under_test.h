// SPDX-License-Identifier: BSD-3-Clause
// The backend module that this run examines, and the services that it is lent.
#pragma once

#include <string>

#include "sluice/backend.h"

namespace conformance {

enum class LoadResult { kReady, kMissing, kBroken };

// Opens <module_dir>/libsluice_backend_<name>.so and calls init. kMissing: the machine lacks the runtime or a device;
// kBroken: the module itself is at fault. *reason says what happened.
LoadResult load_module(const std::string &name, const std::string &module_dir, std::string *reason);
// Calls fini of a module that was loaded.
void unload_module();

// The table of the loaded module.
const sluice_backend_t &table();
// The name that was given on the command line.
const std::string &backend_name();
// The module's .needs file, which lies beside it.
const std::string &needs_path();

bool has_program_group();

// Waits for all that is in `queue` of `backend`, if the command before went well; else answers what it `answered`.
sluice_result_t await(const sluice_backend_t &backend, sluice_queue_t *queue, sluice_result_t answered);

// "SLUICE_ERROR_NATIVE: <last error of this thread>".
std::string describe(sluice_result_t result);

}  // namespace conformance

// Fails the test when a call does not succeed; shows the module's text.
#define EXPECT_OK(call)                                                                               \
  do {                                                                                                \
    const sluice_result_t result_of_call = (call);                                                    \
    EXPECT_EQ(result_of_call, SLUICE_SUCCESS) << #call ": " << conformance::describe(result_of_call); \
  } while (false)
#define ASSERT_OK(call)                                                                               \
  do {                                                                                                \
    const sluice_result_t result_of_call = (call);                                                    \
    ASSERT_EQ(result_of_call, SLUICE_SUCCESS) << #call ": " << conformance::describe(result_of_call); \
  } while (false)

// Leaves the test, saying what was missing.
#define SKIP_WITHOUT_PROGRAM_GROUP()                                                        \
  do {                                                                                      \
    if (!conformance::has_program_group()) {                                                \
      GTEST_SKIP() << "missing: the program group, without which no device memory is made"; \
    }                                                                                       \
  } while (false)
