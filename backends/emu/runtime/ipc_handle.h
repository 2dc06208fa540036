// SPDX-License-Identifier: BSD-3-Clause
// The bytes of a handle, and the way from them to the exporter's memory files.
#pragma once

#include "emurt.h"
#include "runtime/memory_table.h"

namespace emurt {

// The exporter's memory as this process reaches it: owned descriptors, closed at the end.
class OpenedExport {
 public:
  OpenedExport() = default;
  ~OpenedExport();
  OpenedExport(const OpenedExport &) = delete;
  OpenedExport &operator=(const OpenedExport &) = delete;

  // Opens what a handle names; trusts nothing in it. Errors as emu_ipc_open.
  emu_result_t open(const emu_ipc_handle_t &handle);
  // EMU_ERROR_INVALID_POINTER when the exporter has freed the memory. To be asked after it was mapped: then it was not
  // freed, and replaced, before.
  emu_result_t check_live() const;

  const ExportedMemory &memory() const { return memory_; }

 private:
  ExportedMemory memory_;  // with descriptors of this process
  int32_t pid_ = 0;
};

// Writes the handle of memory of this process.
emu_result_t write_handle(const ExportedMemory &memory, emu_ipc_handle_t *handle);

}  // namespace emurt
