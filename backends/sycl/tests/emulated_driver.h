// SPDX-License-Identifier: BSD-3-Clause
// What tests ask of the emulated driver in their own process (../emulated_driver): calls that fail, how often calls
// were made, queues that are held. The loader must have loaded it.
#pragma once

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <string>

namespace sluice::tests {

class EmulatedDriver {
 public:
  // Forgets all faults and counts, and takes a new fault: "<call>/<n>[+][/<code>]", or none.
  static void set_fault(const std::string &word = "") {
    static const auto set = find<int (*)(const char *)>("emulated_set_fault");
    ASSERT_NE(set, nullptr);
    ASSERT_EQ(set(word.empty() ? nullptr : word.c_str()), 0) << word;
  }
  // Since the last set_fault().
  static uint64_t n_calls(const char *call) {
    static const auto count = find<uint64_t (*)(const char *)>("emulated_n_calls");
    return count != nullptr ? count(call) : 0;
  }
  // That there are.
  static int n_event_pools() {
    static const auto count = find<int (*)()>("emulated_n_event_pools");
    return count != nullptr ? count() : -1;
  }
  // Of command queues; a wait for a fence lets its queue go.
  static void hold_queues(bool holds) {
    static const auto hold = find<int (*)(int)>("emulated_hold_queues");
    ASSERT_NE(hold, nullptr);
    ASSERT_EQ(hold(holds ? 1 : 0), 0);
  }

 private:
  template <typename Function>
  static Function find(const char *name) {
    const char *path = std::getenv("ZE_ENABLE_ALT_DRIVERS");
    void *driver = path != nullptr ? dlopen(path, RTLD_NOW | RTLD_NOLOAD) : nullptr;
    EXPECT_NE(driver, nullptr) << "ZE_ENABLE_ALT_DRIVERS names no driver of this process";
    return driver != nullptr ? reinterpret_cast<Function>(dlsym(driver, name)) : nullptr;
  }
};

}  // namespace sluice::tests
