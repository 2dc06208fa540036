// SPDX-License-Identifier: BSD-3-Clause
// Functions that are newer than the specification of the headers that Debian 12 has (1.4). Tables only grow, so each
// has a place in its table; a loader that asks for an older version has no room for it.
#include <cstring>

#include "commands.h"
#include "faults.h"

namespace sluice::emulated_driver {
namespace {

// A version is a number; the header's enumeration ends with an older one.
constexpr uint32_t kVersion6 = ZE_MAKE_VERSION(1, 6);
constexpr uint32_t kVersion7 = ZE_MAKE_VERSION(1, 7);
constexpr uint32_t kVersion9 = ZE_MAKE_VERSION(1, 9);

template <typename Function>
void place(void *table, std::size_t index, Function *function) noexcept {
  std::memcpy(static_cast<std::byte *>(table) + index * sizeof function, &function, sizeof function);
}

ze_result_t list_synchronize(ze_command_list_handle_t handle, uint64_t timeout_ns) noexcept {
  return guarded([&] {
    CommandList &list = *object<CommandList>(handle);
    if (list.queue == nullptr) return ZE_RESULT_ERROR_INVALID_ARGUMENT;
    return synchronize(list.queue, &list.mutex, timeout_ns);
  });
}

ze_result_t list_device(ze_command_list_handle_t handle, ze_device_handle_t *device) noexcept {
  *device = object<CommandList>(handle)->device;
  return ZE_RESULT_SUCCESS;
}

ze_result_t list_is_immediate(ze_command_list_handle_t handle, ze_bool_t *is_immediate) noexcept {
  *is_immediate = object<CommandList>(handle)->queue != nullptr ? 1 : 0;
  return ZE_RESULT_SUCCESS;
}

// The commands of recorded lists, put into an immediate one.
ze_result_t append_lists(ze_command_list_handle_t immediate, uint32_t n_lists, ze_command_list_handle_t *lists,
                         ze_event_handle_t signal, uint32_t n_waits, ze_event_handle_t *waits) noexcept {
  return guarded([&] {
    std::vector<CommandList *> recorded;
    recorded.reserve(n_lists);
    for (uint32_t i = 0; i < n_lists; ++i) recorded.push_back(object<CommandList>(lists[i]));
    return append(immediate, signal, n_waits, waits, [recorded](emu_queue_t *queue) {
      emu_result_t result = EMU_SUCCESS;
      for (CommandList *list : recorded) {
        if (result == EMU_SUCCESS) result = enqueue_all(list, queue);
      }
      return result;
    });
  });
}

ze_result_t root_device(ze_device_handle_t handle, ze_device_handle_t *root) noexcept {
  *root = handle_of<ze_device_handle_t>(root_of(*object<Device>(handle)));
  return ZE_RESULT_SUCCESS;
}

// Handles hold nothing that has to be given back (memory.cpp).
ze_result_t put_handle(ze_context_handle_t /*context*/, ze_ipc_mem_handle_t /*handle*/) noexcept {
  return fault_of(Call::kMemPutIpcHandle);
}

ze_result_t last_error(ze_driver_handle_t /*driver*/, const char **text) noexcept {
  *text = emu_last_error_text();
  return ZE_RESULT_SUCCESS;
}

}  // namespace

void fill_newer(ze_api_version_t version, ze_command_list_dditable_t *table) noexcept {
  if (version >= kVersion6) place(table, 28, list_synchronize);
  if (version < kVersion9) return;
  place(table, 29, list_device);
  place(table, 33, list_is_immediate);
}

void fill_newer(ze_api_version_t version, ze_device_dditable_t *table) noexcept {
  if (version >= kVersion7) place(table, 18, root_device);
}

void fill_newer(ze_api_version_t version, ze_mem_dditable_t *table) noexcept {
  if (version >= kVersion6) place(table, 10, put_handle);
}

void fill_newer(ze_api_version_t version, ze_driver_dditable_t *table) noexcept {
  if (version >= kVersion6) place(table, 6, last_error);
}

}  // namespace sluice::emulated_driver

// NOLINTNEXTLINE(readability-identifier-naming): the name is Level Zero's
extern "C" __attribute__((visibility("default"))) ze_result_t zeGetCommandListExpProcAddrTable(ze_api_version_t version,
                                                                                               void *table) {
  if (table == nullptr) return ZE_RESULT_ERROR_INVALID_NULL_POINTER;
  if (version >= sluice::emulated_driver::kVersion9) {
    sluice::emulated_driver::place(table, 1, sluice::emulated_driver::append_lists);
  }
  return ZE_RESULT_SUCCESS;
}
