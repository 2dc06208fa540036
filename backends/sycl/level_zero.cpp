// SPDX-License-Identifier: BSD-3-Clause
// Owns the search for Level Zero's functions and the words for its errors.
#include "level_zero.h"

#include <dlfcn.h>

#include <cstdio>
#include <mutex>
#include <utility>

namespace sluice::backends::sycl::level_zero {

namespace {

constexpr const char *kLoader = "libze_loader.so.1";

template <typename Function>
void find(void *library, const char *name, Function *function) {
  *function = reinterpret_cast<Function>(dlsym(library, name));
}

const char *name_of(Result native) {
  static constexpr std::pair<uint32_t, const char *> kNames[] = {
      {0x70000001U, "ZE_RESULT_ERROR_DEVICE_LOST"},          {0x70000002U, "ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY"},
      {0x70000003U, "ZE_RESULT_ERROR_OUT_OF_DEVICE_MEMORY"}, {0x70010000U, "ZE_RESULT_ERROR_INSUFFICIENT_PERMISSIONS"},
      {0x70010001U, "ZE_RESULT_ERROR_NOT_AVAILABLE"},        {0x78000001U, "ZE_RESULT_ERROR_UNINITIALIZED"},
      {0x78000002U, "ZE_RESULT_ERROR_UNSUPPORTED_VERSION"},  {0x78000003U, "ZE_RESULT_ERROR_UNSUPPORTED_FEATURE"},
      {0x78000004U, "ZE_RESULT_ERROR_INVALID_ARGUMENT"},     {0x78000005U, "ZE_RESULT_ERROR_INVALID_NULL_HANDLE"},
      {0x78000006U, "ZE_RESULT_ERROR_HANDLE_OBJECT_IN_USE"}, {0x7ffffffeU, "ZE_RESULT_ERROR_UNKNOWN"},
  };
  for (const auto &[code, name] : kNames) {
    if (code == static_cast<uint32_t>(native)) return name;
  }
  return "see ze_result_t";
}

sluice_result_t meaning_of(Result native) {
  switch (static_cast<uint32_t>(native)) {
    case 0x70000002U:
    case 0x70000003U:
      return SLUICE_ERROR_OUT_OF_MEMORY;
    case 0x78000003U:
      return SLUICE_ERROR_UNSUPPORTED;
    default:
      return SLUICE_ERROR_NATIVE;
  }
}

Outcome missing(const char *function) {
  return {SLUICE_ERROR_UNSUPPORTED,
          std::string("this Level Zero loader has no ") + function + "; a newer one (package level-zero) has it"};
}

}  // namespace

Outcome find_calls(const char *library, Calls *calls) {
  void *loaded = dlopen(library, RTLD_NOW | RTLD_NOLOAD);
  if (loaded == nullptr) {
    return {SLUICE_ERROR_UNSUPPORTED, std::string("Level Zero's loader ") + library + " is not in this process"};
  }
  find(loaded, "zeMemGetAllocProperties", &calls->get_properties);
  find(loaded, "zeMemGetAddressRange", &calls->get_range);
  find(loaded, "zeMemGetIpcHandle", &calls->get_ipc_handle);
  find(loaded, "zeMemPutIpcHandle", &calls->put_ipc_handle);
  find(loaded, "zeMemOpenIpcHandle", &calls->open_ipc_handle);
  find(loaded, "zeMemCloseIpcHandle", &calls->close_ipc_handle);
  find(loaded, "zeEventPoolCreate", &calls->create_event_pool);
  find(loaded, "zeEventPoolDestroy", &calls->destroy_event_pool);
  find(loaded, "zeEventCreate", &calls->create_event);
  find(loaded, "zeEventDestroy", &calls->destroy_event);
  find(loaded, "zeEventHostSignal", &calls->signal_event);
  find(loaded, "zeDeviceGetCommandQueueGroupProperties", &calls->get_queue_groups);
  find(loaded, "zeCommandQueueCreate", &calls->create_queue);
  find(loaded, "zeCommandQueueDestroy", &calls->destroy_queue);
  find(loaded, "zeCommandQueueExecuteCommandLists", &calls->execute_lists);
  find(loaded, "zeCommandListCreate", &calls->create_list);
  find(loaded, "zeCommandListDestroy", &calls->destroy_list);
  find(loaded, "zeCommandListClose", &calls->close_list);
  find(loaded, "zeCommandListReset", &calls->reset_list);
  find(loaded, "zeCommandListAppendBarrier", &calls->append_barrier);
  find(loaded, "zeCommandListAppendMemoryCopy", &calls->append_copy);
  find(loaded, "zeFenceCreate", &calls->create_fence);
  find(loaded, "zeFenceDestroy", &calls->destroy_fence);
  find(loaded, "zeFenceHostSynchronize", &calls->wait_fence);
  find(loaded, "zeFenceQueryStatus", &calls->query_fence);
  find(loaded, "zeFenceReset", &calls->reset_fence);
  return {};
}

Outcome find_calls_of_process(const Calls **calls) {
  static std::mutex mutex;
  static Calls found;
  static bool is_found = false;
  const std::scoped_lock lock(mutex);
  if (!is_found) {
    Outcome outcome = find_calls(kLoader, &found);
    if (!outcome.is_success()) return outcome;
    is_found = true;
  }
  *calls = &found;
  return {};
}

Outcome check_ipc_calls(const Calls &calls) {
  if (calls.get_properties == nullptr) return missing("zeMemGetAllocProperties");
  if (calls.get_range == nullptr) return missing("zeMemGetAddressRange");
  if (calls.get_ipc_handle == nullptr) return missing("zeMemGetIpcHandle");
  if (calls.open_ipc_handle == nullptr) return missing("zeMemOpenIpcHandle");
  if (calls.close_ipc_handle == nullptr) return missing("zeMemCloseIpcHandle");
  return {};
}

Outcome check_event_calls(const Calls &calls) {
  if (calls.create_event_pool == nullptr) return missing("zeEventPoolCreate");
  if (calls.destroy_event_pool == nullptr) return missing("zeEventPoolDestroy");
  if (calls.create_event == nullptr) return missing("zeEventCreate");
  if (calls.destroy_event == nullptr) return missing("zeEventDestroy");
  if (calls.signal_event == nullptr) return missing("zeEventHostSignal");
  return {};
}

Outcome check_list_calls(const Calls &calls) {
  if (calls.get_queue_groups == nullptr) return missing("zeDeviceGetCommandQueueGroupProperties");
  if (calls.create_queue == nullptr) return missing("zeCommandQueueCreate");
  if (calls.destroy_queue == nullptr) return missing("zeCommandQueueDestroy");
  if (calls.execute_lists == nullptr) return missing("zeCommandQueueExecuteCommandLists");
  if (calls.create_list == nullptr) return missing("zeCommandListCreate");
  if (calls.destroy_list == nullptr) return missing("zeCommandListDestroy");
  if (calls.close_list == nullptr) return missing("zeCommandListClose");
  if (calls.reset_list == nullptr) return missing("zeCommandListReset");
  if (calls.append_barrier == nullptr) return missing("zeCommandListAppendBarrier");
  if (calls.append_copy == nullptr) return missing("zeCommandListAppendMemoryCopy");
  if (calls.create_fence == nullptr) return missing("zeFenceCreate");
  if (calls.destroy_fence == nullptr) return missing("zeFenceDestroy");
  if (calls.wait_fence == nullptr) return missing("zeFenceHostSynchronize");
  if (calls.query_fence == nullptr) return missing("zeFenceQueryStatus");
  if (calls.reset_fence == nullptr) return missing("zeFenceReset");
  return {};
}

Outcome outcome_of(const char *call, Result native) {
  if (native == 0) return {};
  char code[16];
  std::snprintf(code, sizeof code, "0x%08x", static_cast<uint32_t>(native));
  return {meaning_of(native), std::string(call) + ": " + code + " (" + name_of(native) + ")"};
}

Outcome find_range(const Calls &calls, Context context, const void *address, NativeRange *range) {
  if (calls.get_range == nullptr) return missing("zeMemGetAddressRange");
  if (calls.get_properties == nullptr) return missing("zeMemGetAllocProperties");
  void *begin = nullptr;
  size_t size_bytes = 0;
  Outcome outcome = outcome_of("zeMemGetAddressRange", calls.get_range(context, address, &begin, &size_bytes));
  if (!outcome.is_success()) return outcome;
  AllocationProperties properties;
  Device device = nullptr;
  outcome = outcome_of("zeMemGetAllocProperties", calls.get_properties(context, address, &properties, &device));
  if (!outcome.is_success()) return outcome;
  *range = {reinterpret_cast<std::uintptr_t>(begin), size_bytes, properties.id};
  return {};
}

}  // namespace sluice::backends::sycl::level_zero
