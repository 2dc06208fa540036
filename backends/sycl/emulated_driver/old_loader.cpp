// SPDX-License-Identifier: BSD-3-Clause
// libze_loader.so.1 in front of the loader of that name that Debian 12 has (1.8), which today's runtime cannot use by
// itself: it lists each driver twice when it is initialised twice, as newer runtimes do, and it lacks functions that
// they call. Those are taken from the driver; all others are the real loader's, on which this library depends.
// ZEL_LIBRARY_PATH names the folder of this file. A loader from 1.18 on needs none of it.
#include <dlfcn.h>
#include <level_zero/ze_api.h>

#include <array>
#include <cstdint>
#include <cstdlib>

#define EXPORTED extern "C" __attribute__((visibility("default"))) ze_result_t

namespace {

// Member `index` of one of the driver's tables, or null.
template <typename Function>
Function *of_driver(const char *table, std::size_t index) {
  static void *const driver = [] {
    const char *path = std::getenv("ZE_ENABLE_ALT_DRIVERS");  // NOLINT(concurrency-mt-unsafe): as the loader reads it
    return path != nullptr ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : nullptr;
  }();
  constexpr std::size_t kMostMembers = 64;
  std::array<void *, kMostMembers> members = {};
  if (driver == nullptr) return nullptr;
  // A version is a number; the header's enumeration ends with an older one.
  constexpr std::uint32_t kNewest = ZE_MAKE_VERSION(1, 9);
  auto *const get = reinterpret_cast<ze_result_t (*)(std::uint32_t, void *)>(dlsym(driver, table));
  if (get == nullptr || get(kNewest, members.data()) != ZE_RESULT_SUCCESS) return nullptr;
  return reinterpret_cast<Function *>(members.at(index));
}

template <typename... Arguments>
ze_result_t forward(ze_result_t (*function)(Arguments...), Arguments... arguments) {
  return function != nullptr ? function(arguments...) : ZE_RESULT_ERROR_UNSUPPORTED_FEATURE;
}

}  // namespace

// NOLINTBEGIN(readability-identifier-naming): the names are Level Zero's
EXPORTED zeLoaderInit() {
  static const ze_result_t result = forward(reinterpret_cast<ze_result_t (*)()>(dlsym(RTLD_NEXT, "zeLoaderInit")));
  return result;
}

EXPORTED zeDeviceGetRootDevice(ze_device_handle_t device, ze_device_handle_t *root) {
  using Function = ze_result_t(ze_device_handle_t, ze_device_handle_t *);
  static Function *const function = of_driver<Function>("zeGetDeviceProcAddrTable", 18);
  return forward(function, device, root);
}

EXPORTED zeMemPutIpcHandle(ze_context_handle_t context, ze_ipc_mem_handle_t handle) {
  using Function = ze_result_t(ze_context_handle_t, ze_ipc_mem_handle_t);
  static Function *const function = of_driver<Function>("zeGetMemProcAddrTable", 10);
  return forward(function, context, handle);
}

EXPORTED zeCommandListHostSynchronize(ze_command_list_handle_t list, uint64_t timeout_ns) {
  using Function = ze_result_t(ze_command_list_handle_t, uint64_t);
  static Function *const function = of_driver<Function>("zeGetCommandListProcAddrTable", 28);
  return forward(function, list, timeout_ns);
}

EXPORTED zeCommandListImmediateAppendCommandListsExp(ze_command_list_handle_t immediate, uint32_t n_lists,
                                                     ze_command_list_handle_t *lists, ze_event_handle_t signal,
                                                     uint32_t n_waits, ze_event_handle_t *waits) {
  using Function = ze_result_t(ze_command_list_handle_t, uint32_t, ze_command_list_handle_t *, ze_event_handle_t,
                               uint32_t, ze_event_handle_t *);
  static Function *const function = of_driver<Function>("zeGetCommandListExpProcAddrTable", 1);
  return forward(function, immediate, n_lists, lists, signal, n_waits, waits);
}
// NOLINTEND(readability-identifier-naming)
