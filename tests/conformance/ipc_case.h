// SPDX-License-Identifier: BSD-3-Clause
// What the files of the suite Ipc share.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "ipc_peer.h"
#include "memory.h"
#include "module_under_test.h"

namespace conformance {

// Of the allocations that are moved about; no whole number of pages.
inline constexpr size_t kBytes = (size_t{1} << 20U) + 4099;

// ipc_export in this process.
inline Answer export_here(const void *address, Export *exported) {
  const sluice_result_t result =
      table().ipc_export(address, &exported->handle, &exported->base_offset, &exported->size_bytes);
  return {result, result == SLUICE_SUCCESS ? "" : conformance::describe(result)};
}

inline std::string text_of(size_t number) {
  return " " + std::to_string(number);
}

// "<verb> <index> <offset> <bytes> <iteration>".
inline std::string ask_for(const char *verb, size_t index, size_t offset, size_t size, uint64_t iteration) {
  return verb + text_of(index) + text_of(offset) + text_of(size) + text_of(iteration);
}

}  // namespace conformance

// Leaves the test when the module or device 0 offers no such thing, saying what is missing.
#define SKIP_WITHOUT_IPC()                                                                                       \
  do {                                                                                                           \
    SKIP_WITHOUT_PROGRAM_GROUP();                                                                                \
    if (conformance::table().ipc_export == nullptr)                                                              \
      GTEST_SKIP() << "missing: the ipc group, which this module does not offer";                                \
    conformance::Memory probe;                                                                                   \
    conformance::Export none;                                                                                    \
    const std::string no_memory = conformance::Memory::make(SLUICE_MEMORY_DEVICE, 0, 4096, &probe);              \
    if (no_memory.starts_with("SLUICE_ERROR_UNSUPPORTED")) GTEST_SKIP() << "missing: memory, " << no_memory;     \
    ASSERT_EQ(no_memory, "");                                                                                    \
    const conformance::Answer answer_to_probe = conformance::export_here(probe.data(), &none);                   \
    if (answer_to_probe.result == SLUICE_ERROR_UNSUPPORTED) GTEST_SKIP() << "missing: " << answer_to_probe.text; \
    ASSERT_TRUE(answer_to_probe.is_ok()) << answer_to_probe.text;                                                \
  } while (false)

#define ASSERT_ANSWER(call)                                                   \
  do {                                                                        \
    const conformance::Answer answer_of_call = (call);                        \
    ASSERT_TRUE(answer_of_call.is_ok()) << #call ": " << answer_of_call.text; \
  } while (false)
