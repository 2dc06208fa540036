// SPDX-License-Identifier: BSD-3-Clause
// The runtime's error texts: each thread's last one.
#pragma once

#include <fmt/format.h>

#include <string>
#include <utility>

#include "emurt.h"

namespace emurt {

// "EMU_ERROR_..." of a code.
const char *result_name(emu_result_t code);

// This thread's last error text; "" at first. Overwritten by the thread's next error.
const char *last_error();

// Stores a whole text (with its name in front already) as this thread's last error and returns `code`. What is longer
// than a thousand characters is cut.
emu_result_t fail_with_text(emu_result_t code, const std::string &text);

// Stores "<name>: <text>" as this thread's last error and returns `code`.
template <typename... Args>
emu_result_t fail(emu_result_t code, fmt::format_string<Args...> format, Args &&...args) {
  return fail_with_text(code,
                        fmt::format("{}: {}", result_name(code), fmt::format(format, std::forward<Args>(args)...)));
}

// " (errno's words)" for messages about a refused system call.
std::string system_error_words(int error_number);

}  // namespace emurt
