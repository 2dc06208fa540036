// SPDX-License-Identifier: BSD-3-Clause
// What the files of this module share. Each function below is the member of sluice_backend_t with the same name; the
// contract is include/sluice/backend.h.
#pragma once

#include <string_view>

#include "../members.h"
#include "../module_state.h"
#include "emurt.h"
#include "sluice/backend.h"

namespace sluice::backends::emu {

// What the runtime's answer means to Sluice; keeps its text for last_error().
sluice_result_t translate(emu_result_t native);

// The text of one of the module's knobs.
std::string_view knob_text(const char *name);

// Makes a device current for a scope and restores the thread's own afterwards.
class DeviceScope {
 public:
  explicit DeviceScope(int32_t device);
  ~DeviceScope();
  DeviceScope(const DeviceScope &) = delete;
  DeviceScope &operator=(const DeviceScope &) = delete;

  // SLUICE_SUCCESS, or why the device cannot be made current.
  sluice_result_t result() const { return result_; }

 private:
  int32_t before_ = -1;
  sluice_result_t result_;
};

// stream.cpp. Their operations are by what the knob says from then on.
void read_stream_operations();

// Members of the table.
#define SLUICE_MEMBER SLUICE_DECLARED
#include "../members.def"
#undef SLUICE_MEMBER

}  // namespace sluice::backends::emu
