// SPDX-License-Identifier: BSD-3-Clause
// The runtime's error texts.
#include "runtime/error.h"

#include <system_error>

namespace emurt {
namespace {

// Plain characters, not a std::string: they may be written while the process exits, after the thread's objects are
// gone.
constexpr size_t kMaxText = 1000;
thread_local char t_text[kMaxText + 1] = "";

}  // namespace

const char *result_name(emu_result_t code) {
  switch (code) {
    case EMU_SUCCESS:
      return "EMU_SUCCESS";
    case EMU_NOT_READY:
      return "EMU_NOT_READY";
    case EMU_ERROR_OUT_OF_MEMORY:
      return "EMU_ERROR_OUT_OF_MEMORY";
    case EMU_ERROR_INVALID_VALUE:
      return "EMU_ERROR_INVALID_VALUE";
    case EMU_ERROR_INVALID_DEVICE:
      return "EMU_ERROR_INVALID_DEVICE";
    case EMU_ERROR_INVALID_POINTER:
      return "EMU_ERROR_INVALID_POINTER";
    case EMU_ERROR_COPY_FAILED:
      return "EMU_ERROR_COPY_FAILED";
    case EMU_ERROR_QUEUE_FAILED:
      return "EMU_ERROR_QUEUE_FAILED";
    case EMU_ERROR_CONFIGURATION:
      return "EMU_ERROR_CONFIGURATION";
    case EMU_ERROR_SHUT_DOWN:
      return "EMU_ERROR_SHUT_DOWN";
    case EMU_ERROR_FORKED:
      return "EMU_ERROR_FORKED";
    case EMU_ERROR_SYSTEM:
      return "EMU_ERROR_SYSTEM";
    case EMU_ERROR_NOT_SUPPORTED:
      return "EMU_ERROR_NOT_SUPPORTED";
  }
  return "EMU_ERROR_UNKNOWN";
}

const char *last_error() {
  return t_text;
}

emu_result_t fail_with_text(emu_result_t code, const std::string &text) {
  t_text[text.copy(t_text, kMaxText)] = '\0';
  return code;
}

std::string system_error_words(int error_number) {
  return " (" + std::generic_category().message(error_number) + ")";
}

}  // namespace emurt
