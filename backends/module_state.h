// SPDX-License-Identifier: BSD-3-Clause
// What every module keeps: the text of a thread's last error, and what Sluice lends it from init() to fini().
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <string_view>

#include "sluice/backend.h"

namespace sluice::backends {

// Plain characters: an error may be asked for while the process exits, after the thread's objects are gone.
inline constexpr size_t kMaxErrorText = 1000;
inline thread_local std::array<char, kMaxErrorText + 1> t_error_text{};

// Keeps a text for last_error() of this thread and returns `result`. Give it the native call and the native error's
// words: fail(SLUICE_ERROR_NATIVE, "vendorMemcpy: VENDOR_ERROR_LOST (the device is gone)").
inline sluice_result_t fail(sluice_result_t result, std::string_view text) {
  t_error_text[text.copy(t_error_text.data(), kMaxErrorText)] = '\0';
  return result;
}

// What the member ipc_open says of its arguments before it looks at them.
inline sluice_result_t check_opening(const sluice_ipc_handle_t *handle, void **base, const uint64_t *size_bytes) {
  const bool are_given = handle != nullptr && base != nullptr && size_bytes != nullptr;
  return are_given ? SLUICE_SUCCESS : fail(SLUICE_ERROR_INVALID_ARGUMENT, "ipc_open: null pointer");
}

// This thread's last text; the member last_error.
inline const char *error_text() {
  return t_error_text.data();
}

// The log and the knobs that Sluice lends; null outside of init() to fini().
inline std::atomic<const sluice_host_services_t *> g_services{nullptr};

// Tells the user, as a line of that level (SLUICE_LOG's, from 0).
inline void log_line(int level, const char *text) {
  const sluice_host_services_t *services = g_services.load();
  if (services != nullptr && services->log != nullptr) services->log(level, text);
}

// Tells the user this thread's last text, as a warning: of what fails when nobody is there to be answered.
inline void log_error() {
  log_line(1, error_text());
}

}  // namespace sluice::backends
