// SPDX-License-Identifier: BSD-3-Clause
// The functions of sluice/sluice.h.
#include <algorithm>
#include <cstring>
#include <exception>
#include <string>

#include "base/statistics.hpp"
#include "base/switch.hpp"
#include "device/registry.hpp"
#include "ops/env/errors.hpp"
#include "sluice/sluice.h"

#define SLUICE_PUBLIC extern "C" __attribute__((visibility("default")))

using sluice::ErrorKind;
using sluice::Status;
using sluice::device::Backend;
using sluice::device::Registry;

SLUICE_PUBLIC void sluice_version(int *major, int *minor, int *patch) {
  if (major != nullptr) *major = SLUICE_VERSION_MAJOR;
  if (minor != nullptr) *minor = SLUICE_VERSION_MINOR;
  if (patch != nullptr) *patch = SLUICE_VERSION_PATCH;
}

SLUICE_PUBLIC int sluice_is_enabled(void) {
  return sluice::is_enabled() ? 1 : 0;
}

SLUICE_PUBLIC int sluice_query_backend(const char *backend_name) {
  if (backend_name == nullptr || !sluice::is_enabled()) return 0;
  Registry &registry = Registry::process();
  return !registry.backends().empty() && registry.find(backend_name) != nullptr ? 1 : 0;
}

SLUICE_PUBLIC int sluice_register_context(const char *backend_name, void *context) {
  try {
    Registry &registry = Registry::process();
    const Backend *backend =
        backend_name == nullptr || registry.backends().empty() ? nullptr : registry.find(backend_name);
    Status status;
    if (backend == nullptr) {
      status = Status::error(ErrorKind::kInvalidArgument, std::string("no backend \"") +
                                                              (backend_name != nullptr ? backend_name : "(null)") +
                                                              "\" is loaded; `sluice info` lists those that can be");
    } else {
      status = backend->check(backend->table().register_context(context), "register a context");
    }
    if (status.is_ok()) return 0;
    sluice::ops::set_last_error(status);
  } catch (const std::exception &error) {
    sluice::ops::set_last_error(Status::of_exception(error));
  }
  return -1;
}

SLUICE_PUBLIC const char *sluice_last_error(void) {
  return sluice::ops::last_error();
}

SLUICE_PUBLIC int sluice_statistics_count(int is_on) {
  const bool was_on = sluice::statistics::is_enabled();
  if (is_on != 0) {
    sluice::statistics::enable();
  } else {
    sluice::statistics::disable();
  }
  return was_on ? 1 : 0;
}

SLUICE_PUBLIC size_t sluice_statistics_json(char *buffer, size_t size_bytes) {
  try {
    const std::string text = sluice::statistics::to_json(-1);
    if (buffer != nullptr && size_bytes > 0) {
      const std::size_t length = std::min(text.size(), size_bytes - 1);
      std::memcpy(buffer, text.data(), length);
      buffer[length] = '\0';
    }
    return text.size();
  } catch (const std::exception &error) {
    sluice::ops::set_last_error(Status::of_exception(error));
    return 0;
  }
}
