// SPDX-License-Identifier: BSD-3-Clause
// The C functions about memory of other processes.
#include "runtime/api.h"
#include "runtime/ipc_handle.h"

namespace emurt {
namespace {

// EMU_ERROR_NOT_SUPPORTED when a fault is to strike here.
emu_result_t refuse_on_purpose(Runtime &runtime, FaultPoint point) {
  uint64_t event = 0;
  if (!runtime.faults().strikes(point, &event)) return EMU_SUCCESS;
  return fail(EMU_ERROR_NOT_SUPPORTED, "fault injected into {} {}", FaultPlan::name(point), event);
}

emu_result_t open_handle(Runtime &runtime, const emu_ipc_handle_t &handle, void **memory) {
  int32_t device = 0;
  emu_result_t result = runtime.current_device(&device);
  if (result == EMU_SUCCESS) result = refuse_on_purpose(runtime, FaultPoint::kIpcOpen);
  if (result != EMU_SUCCESS) return result;
  OpenedExport opened;
  result = opened.open(handle);
  if (result != EMU_SUCCESS) return result;
  // Device numbers mean the same in every process. One that this process was not given is reached all the same.
  const int32_t owner = opened.memory().device;
  if (owner >= 0 && owner < runtime.n_devices()) device = owner;
  void *mapped = nullptr;
  result = runtime.memory().import_allocation(opened.memory(), device, &mapped);
  if (result != EMU_SUCCESS) return result;
  result = opened.check_live();
  if (result == EMU_SUCCESS) {
    *memory = mapped;
    return EMU_SUCCESS;
  }
  const std::string text = last_error();
  const emu_result_t closed = runtime.memory().close_import(mapped);
  return closed == EMU_SUCCESS ? fail_with_text(result, text) : closed;
}

}  // namespace
}  // namespace emurt

using emurt::fail;
using emurt::in_runtime;
using emurt::Runtime;

extern "C" {

emu_result_t emu_ipc_export(const void *address, emu_ipc_handle_t *handle) {
  return in_runtime([&](Runtime &runtime) {
    if (handle == nullptr) return fail(EMU_ERROR_INVALID_VALUE, "emu_ipc_export: null pointer");
    emurt::ExportedMemory exported;
    emu_result_t result = emurt::refuse_on_purpose(runtime, emurt::FaultPoint::kIpcExport);
    if (result == EMU_SUCCESS) result = runtime.memory().export_allocation(address, &exported);
    return result == EMU_SUCCESS ? emurt::write_handle(exported, handle) : result;
  });
}

emu_result_t emu_ipc_open(const emu_ipc_handle_t *handle, void **memory) {
  return in_runtime([&](Runtime &runtime) {
    if (handle == nullptr || memory == nullptr) return fail(EMU_ERROR_INVALID_VALUE, "emu_ipc_open: null pointer");
    return emurt::open_handle(runtime, *handle, memory);
  });
}

emu_result_t emu_ipc_close(void *memory) {
  return in_runtime([&](Runtime &runtime) { return runtime.memory().close_import(memory); });
}

}  // extern "C"
