// SPDX-License-Identifier: BSD-3-Clause
// Backend: one loaded backend module. The only place that calls into a module's table with checks and texts.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/status.hpp"
#include "sluice/backend.h"

namespace sluice::device {

// A module in the process, initialised. Created by load(); the registry owns it for the life of the process, because
// pointers and requests may refer to it. Any thread.
class Backend {
 public:
  // Opens the module file, checks its version and its table, and calls init(). On failure nothing stays loaded and
  // `status` says why (file, reason, remedy); ErrorKind::kUnsupported means "no device here" and is no defect.
  static std::unique_ptr<Backend> load(const std::string &path, Status *status);

  // A backend over a table that is linked in, for tests. `table` outlives the object. init() is called.
  static std::unique_ptr<Backend> over_table(const sluice_backend_t *table, Status *status);

  ~Backend();
  Backend(const Backend &) = delete;
  Backend &operator=(const Backend &) = delete;
  Backend(Backend &&) = delete;
  Backend &operator=(Backend &&) = delete;

  // The backend's folder name, and its table; both as long as this lives. Hot. Any thread.
  [[nodiscard]] const char *name() const noexcept { return table_->name; }
  [[nodiscard]] const sluice_backend_t &table() const noexcept { return *table_; }

  // Turns a table function's answer into a Status: `what` is the thing that was tried ("copy 4096 bytes to staging
  // memory"), to which the backend's name and the native text are added. Call it right after the function, on the same
  // thread. Errors: every result but SLUICE_SUCCESS, as kOutOfMemory, as kBadBuffer (SLUICE_ERROR_INVALID_ARGUMENT) or
  // else as kBackend.
  [[nodiscard]] Status check(sluice_result_t result, std::string_view what) const;

 private:
  explicit Backend(const sluice_backend_t *table, void *library) noexcept : table_(table), library_(library) {}

  const sluice_backend_t *table_;
  void *library_;  // from dlopen; null for a table that is linked in
  bool is_initialised_ = false;
};

}  // namespace sluice::device
