// SPDX-License-Identifier: BSD-3-Clause
// Calls that fail on purpose, and how often each call was made. The word fail=<call>/<n>[+][/<code>] of
// SLUICE_EMU_LEVEL_ZERO has the n-th call of that name fail (with +: all from the n-th on) with <code>, a ze_result_t
// in hexadecimal digits; without a code the device is lost. A call that fails does nothing.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <type_traits>

#include "driver.h"

namespace sluice::emulated_driver {

enum class Call : std::size_t {
#define CALL(table, Table, Member) k##Table##Member,
#include "calls.def"
#undef CALL
  kMemPutIpcHandle,  // in no table of Debian 12's headers
  kCount
};

// Takes one word, without "fail=". False when it is not understood.
bool set_fault(std::string_view word) noexcept;
// Counts the call. What it is to give, or ZE_RESULT_SUCCESS. Any thread.
ze_result_t fault_of(Call call) noexcept;

template <Call call, typename Function>
struct Failing;
template <Call call, typename... Arguments>
struct Failing<call, ze_result_t (*)(Arguments...)> {
  static inline ze_result_t (*real)(Arguments...) = nullptr;
  static ze_result_t run(Arguments... arguments) noexcept {
    const ze_result_t fault = fault_of(call);
    return fault == ZE_RESULT_SUCCESS ? real(arguments...) : fault;
  }
};

template <Call call, typename Table, typename Function>
void place_fault(Table *table, Function Table::*member) noexcept {
  Failing<call, Function>::real = table->*member;
  table->*member = Failing<call, Function>::run;
}

// Puts what may fail in front of the functions of a table.
template <typename Table>
void place_faults([[maybe_unused]] Table *table) noexcept {
#define CALL(name, Name, Member)                                    \
  if constexpr (std::is_same_v<Table, ze_##name##_dditable_t>) {    \
    place_fault<Call::k##Name##Member>(table, &Table::pfn##Member); \
  }
#include "calls.def"
#undef CALL
}

}  // namespace sluice::emulated_driver
