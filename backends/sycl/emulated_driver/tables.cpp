// SPDX-License-Identifier: BSD-3-Clause
// What the loader asks a driver for by name: a table of functions for each sort of object. A table that is missing
// makes the loader refuse the whole driver, so there is one of each, most of them empty: what is empty is not
// supported.
#include <level_zero/zes_api.h>
#include <level_zero/zes_ddi.h>
#include <level_zero/zet_api.h>
#include <level_zero/zet_ddi.h>

#include "driver.h"
#include "faults.h"

#define EXPORTED extern "C" __attribute__((visibility("default"))) ze_result_t

namespace {

// Tables that this driver fills, and those that stay empty.
template <typename Table>
ze_result_t hand_out(ze_api_version_t version, Table *table) noexcept {
  if (table == nullptr) return ZE_RESULT_ERROR_INVALID_NULL_POINTER;
  *table = {};
  sluice::emulated_driver::fill(table);
  if constexpr (requires { sluice::emulated_driver::fill_newer(version, table); }) {
    sluice::emulated_driver::fill_newer(version, table);
  }
  sluice::emulated_driver::place_faults(table);
  return ZE_RESULT_SUCCESS;
}

template <typename Table>
ze_result_t leave_empty(Table *table) noexcept {
  if (table == nullptr) return ZE_RESULT_ERROR_INVALID_NULL_POINTER;
  *table = {};
  return ZE_RESULT_SUCCESS;
}

}  // namespace

#define FILLED(Name, name)                                                                       \
  EXPORTED zeGet##Name##ProcAddrTable(ze_api_version_t version, ze_##name##_dditable_t *table) { \
    return hand_out(version, table);                                                             \
  }
#define EMPTY(prefix, Name, name)                                                                    \
  EXPORTED prefix##Get##Name##ProcAddrTable(ze_api_version_t, prefix##_##name##_dditable_t *table) { \
    return leave_empty(table);                                                                       \
  }

FILLED(Global, global)
FILLED(Driver, driver)
FILLED(Device, device)
FILLED(DeviceExp, device_exp)
FILLED(Context, context)
FILLED(Mem, mem)
FILLED(CommandQueue, command_queue)
FILLED(CommandList, command_list)
FILLED(Fence, fence)
FILLED(EventPool, event_pool)
FILLED(Event, event)
FILLED(Module, module)
FILLED(ModuleBuildLog, module_build_log)
FILLED(Kernel, kernel)
FILLED(KernelExp, kernel_exp)

EMPTY(ze, EventExp, event_exp)
EMPTY(ze, FabricEdgeExp, fabric_edge_exp)
EMPTY(ze, FabricVertexExp, fabric_vertex_exp)
EMPTY(ze, Image, image)
EMPTY(ze, ImageExp, image_exp)
EMPTY(ze, PhysicalMem, physical_mem)
EMPTY(ze, Sampler, sampler)
EMPTY(ze, VirtualMem, virtual_mem)

EMPTY(zet, CommandList, command_list)
EMPTY(zet, Context, context)
EMPTY(zet, Debug, debug)
EMPTY(zet, Device, device)
EMPTY(zet, Kernel, kernel)
EMPTY(zet, Metric, metric)
EMPTY(zet, MetricGroup, metric_group)
EMPTY(zet, MetricGroupExp, metric_group_exp)
EMPTY(zet, MetricQuery, metric_query)
EMPTY(zet, MetricQueryPool, metric_query_pool)
EMPTY(zet, MetricStreamer, metric_streamer)
EMPTY(zet, Module, module)
EMPTY(zet, TracerExp, tracer_exp)

EMPTY(zes, Device, device)
EMPTY(zes, Diagnostics, diagnostics)
EMPTY(zes, Driver, driver)
EMPTY(zes, Engine, engine)
EMPTY(zes, FabricPort, fabric_port)
EMPTY(zes, Fan, fan)
EMPTY(zes, Firmware, firmware)
EMPTY(zes, Frequency, frequency)
EMPTY(zes, Led, led)
EMPTY(zes, Memory, memory)
EMPTY(zes, PerformanceFactor, performance_factor)
EMPTY(zes, Power, power)
EMPTY(zes, Psu, psu)
EMPTY(zes, Ras, ras)
EMPTY(zes, Scheduler, scheduler)
EMPTY(zes, Standby, standby)
EMPTY(zes, Temperature, temperature)
