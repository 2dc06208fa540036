// SPDX-License-Identifier: BSD-3-Clause
// Kernels: their arguments, and their launches, which a queue's thread hands to the CPU runtime and waits for.
//
// A kernel is given the program's own addresses, also inside of memory, which the CPU cannot touch. So all device
// memory of the process is opened to the CPU while a kernel runs: in that time a stray access of the host's is not
// caught.
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <numeric>

#include "commands.h"
#include "modules.h"
#include "runtime/runtime.h"

namespace sluice::emulated_driver {
namespace {

Kernel &kernel_of(ze_kernel_handle_t handle) noexcept {
  return *object<Kernel>(handle);
}

ze_result_t kernel_create(ze_module_handle_t module_handle, const ze_kernel_desc_t *desc,
                          ze_kernel_handle_t *handle) noexcept {
  return guarded([&] {
    const OpenCl &cl = *opencl();
    const Module &module = *object<Module>(module_handle);
    const auto found = module.kernels.find(desc->pKernelName);
    if (found == module.kernels.end()) return ZE_RESULT_ERROR_INVALID_KERNEL_NAME;
    auto kernel = std::make_unique<Kernel>();
    kernel->name = desc->pKernelName;
    auto built = std::make_shared<BuiltKernel>();
    cl_int error = CL_SUCCESS;
    built->kernel = cl.create_kernel(module.program, desc->pKernelName, &error);
    if (error != CL_SUCCESS) return ZE_RESULT_ERROR_INVALID_KERNEL_NAME;
    cl_uint n_arguments = 0;
    if (cl.kernel_info(built->kernel, CL_KERNEL_NUM_ARGS, sizeof n_arguments, &n_arguments, nullptr) != CL_SUCCESS) {
      return ZE_RESULT_ERROR_UNKNOWN;
    }
    built->sorts = found->second;
    built->sorts.resize(n_arguments, ArgumentSort::kValue);
    kernel->state.built = std::move(built);
    kernel->state.arguments.resize(n_arguments);
    *handle = handle_of<ze_kernel_handle_t>(kernel.release());
    return ZE_RESULT_SUCCESS;
  });
}

ze_result_t kernel_destroy(ze_kernel_handle_t handle) noexcept {
  const std::unique_ptr<Kernel> kernel(object<Kernel>(handle));
  return ZE_RESULT_SUCCESS;
}

ze_result_t kernel_cache_config(ze_kernel_handle_t /*handle*/, ze_cache_config_flags_t /*flags*/) noexcept {
  return ZE_RESULT_SUCCESS;
}

ze_result_t kernel_group_size(ze_kernel_handle_t handle, uint32_t x, uint32_t y, uint32_t z) noexcept {
  if (x == 0 || y == 0 || z == 0) return ZE_RESULT_ERROR_INVALID_GROUP_SIZE_DIMENSION;
  kernel_of(handle).state.group_size = {x, y, z};
  return ZE_RESULT_SUCCESS;
}

// The longest that divides the number of items, up to 256 in the first dimension.
ze_result_t kernel_suggest_group_size(ze_kernel_handle_t /*handle*/, uint32_t items_x, uint32_t /*items_y*/,
                                      uint32_t /*items_z*/, uint32_t *x, uint32_t *y, uint32_t *z) noexcept {
  constexpr uint32_t kLongest = 256;
  *x = std::gcd(items_x, kLongest);
  *y = *z = 1;
  return ZE_RESULT_SUCCESS;
}

ze_result_t kernel_most_groups(ze_kernel_handle_t /*handle*/, uint32_t *n_groups) noexcept {
  *n_groups = 1;  // the CPU runtime promises no two groups at one time
  return ZE_RESULT_SUCCESS;
}

ze_result_t kernel_argument(ze_kernel_handle_t handle, uint32_t index, size_t size_bytes, const void *value) noexcept {
  return guarded([&] {
    LaunchState &state = kernel_of(handle).state;
    if (index >= state.arguments.size()) return ZE_RESULT_ERROR_INVALID_KERNEL_ARGUMENT_INDEX;
    Argument &argument = state.arguments[index];
    argument.size_bytes = size_bytes;
    argument.is_set = true;
    argument.value.clear();
    const auto *bytes = static_cast<const std::byte *>(value);
    if (bytes != nullptr) {
      argument.value.assign(bytes, bytes + size_bytes);
    } else if (state.built->sorts[index] != ArgumentSort::kGroupMemory) {
      argument.value.assign(size_bytes, std::byte{0});
    }
    return ZE_RESULT_SUCCESS;
  });
}

ze_result_t kernel_set_indirect(ze_kernel_handle_t handle, ze_kernel_indirect_access_flags_t flags) noexcept {
  kernel_of(handle).indirect = flags;
  return ZE_RESULT_SUCCESS;
}

ze_result_t kernel_get_indirect(ze_kernel_handle_t handle, ze_kernel_indirect_access_flags_t *flags) noexcept {
  *flags = kernel_of(handle).indirect;
  return ZE_RESULT_SUCCESS;
}

ze_result_t kernel_attributes(ze_kernel_handle_t /*handle*/, uint32_t *size_bytes, char **text) noexcept {
  static char empty[] = "";
  *size_bytes = 1;
  if (text != nullptr) *text = empty;
  return ZE_RESULT_SUCCESS;
}

ze_result_t kernel_properties(ze_kernel_handle_t handle, ze_kernel_properties_t *out) noexcept {
  const OpenCl &cl = *opencl();
  const Kernel &kernel = kernel_of(handle);
  std::size_t required[3] = {};
  if (cl.group_info(kernel.state.built->kernel, cl.device, CL_KERNEL_COMPILE_WORK_GROUP_SIZE, sizeof required, required,
                    nullptr) != CL_SUCCESS) {
    return ZE_RESULT_ERROR_UNKNOWN;
  }
  out->numKernelArgs = static_cast<uint32_t>(kernel.state.arguments.size());
  out->requiredGroupSizeX = static_cast<uint32_t>(required[0]);
  out->requiredGroupSizeY = static_cast<uint32_t>(required[1]);
  out->requiredGroupSizeZ = static_cast<uint32_t>(required[2]);
  out->requiredNumSubGroups = 0;
  out->requiredSubgroupSize = 0;
  out->maxSubgroupSize = 32;
  out->maxNumSubgroups = 32;
  out->localMemSize = out->privateMemSize = out->spillMemSize = 0;
  std::memset(&out->uuid, 0, sizeof out->uuid);
  return ZE_RESULT_SUCCESS;
}

ze_result_t kernel_name(ze_kernel_handle_t handle, size_t *size_bytes, char *name) noexcept {
  const Kernel &kernel = kernel_of(handle);
  if (name != nullptr) std::snprintf(name, *size_bytes, "%s", kernel.name.c_str());
  *size_bytes = kernel.name.size() + 1;
  return ZE_RESULT_SUCCESS;
}

ze_result_t kernel_offset(ze_kernel_handle_t handle, uint32_t x, uint32_t y, uint32_t z) noexcept {
  kernel_of(handle).state.offset = {x, y, z};
  return ZE_RESULT_SUCCESS;
}

// ---- launches ----

struct Launch {
  LaunchState state;
  std::array<std::size_t, 3> n_items = {1, 1, 1};
};

bool set_arguments(const OpenCl &cl, const LaunchState &state) {
  for (std::size_t i = 0; i < state.arguments.size(); ++i) {
    const Argument &argument = state.arguments[i];
    const auto index = static_cast<cl_uint>(i);
    cl_int error = CL_INVALID_ARG_VALUE;
    if (!argument.is_set) return false;
    if (state.built->sorts[i] == ArgumentSort::kAddress && argument.value.size() == sizeof(void *)) {
      void *address = nullptr;
      std::memcpy(static_cast<void *>(&address), argument.value.data(), sizeof address);
      error = cl.set_pointer(state.built->kernel, index, address);
    } else {
      error = cl.set_argument(state.built->kernel, index, argument.size_bytes,
                              argument.value.empty() ? nullptr : argument.value.data());
    }
    if (error != CL_SUCCESS) return false;
  }
  return true;
}

// A queue of the CPU runtime's for the calling thread, which is one of the emulated device's queues.
cl_command_queue queue_of_thread(const OpenCl &cl) {
  struct Owned {
    const OpenCl *runtime = nullptr;
    cl_command_queue queue = nullptr;
    ~Owned() {
      if (queue != nullptr) runtime->release_queue(queue);
    }
  };
  thread_local Owned owned;
  if (owned.queue == nullptr) {
    owned.runtime = &cl;
    owned.queue = cl.create_queue(cl.context, cl.device, nullptr, nullptr);
  }
  return owned.queue;
}

// What a queue holds of a launch until it has run it.
using Held = const std::shared_ptr<const Launch>;

emu_result_t run(const void *arguments) {
  const std::unique_ptr<Held> held(argument_of<Held *>(arguments));
  const Launch *const launch = held->get();
  const OpenCl &cl = *opencl();
  emurt::Runtime *runtime = nullptr;
  if (const emu_result_t result = emurt::Runtime::enter(&runtime); result != EMU_SUCCESS) return result;
  const cl_command_queue queue = queue_of_thread(cl);
  if (queue == nullptr) return EMU_ERROR_QUEUE_FAILED;
  const emurt::MemoryTable::OpenToCpu open(runtime->memory());
  {
    const std::scoped_lock lock(launch->state.built->mutex);
    if (!set_arguments(cl, launch->state)) return EMU_ERROR_COPY_FAILED;
    if (cl.launch(queue, launch->state.built->kernel, 3, launch->state.offset.data(), launch->n_items.data(),
                  launch->state.group_size.data(), 0, nullptr, nullptr) != CL_SUCCESS) {
      return EMU_ERROR_COPY_FAILED;
    }
  }
  return cl.finish(queue) == CL_SUCCESS ? EMU_SUCCESS : EMU_ERROR_COPY_FAILED;
}

ze_result_t append_kernel(ze_command_list_handle_t list, ze_kernel_handle_t kernel, const ze_group_count_t *groups,
                          ze_event_handle_t signal, uint32_t n_waits, ze_event_handle_t *waits) noexcept {
  return guarded([&] {
    auto launch = std::make_shared<Launch>();
    launch->state = kernel_of(kernel).state;
    const std::array<uint32_t, 3> n_groups = {groups->groupCountX, groups->groupCountY, groups->groupCountZ};
    for (std::size_t i = 0; i < n_groups.size(); ++i) launch->n_items[i] = n_groups[i] * launch->state.group_size[i];
    const bool is_empty = std::ranges::count(n_groups, 0U) != 0;
    return append(list, signal, n_waits, waits, [launch, is_empty](emu_queue_t *queue) -> emu_result_t {
      if (is_empty) return EMU_SUCCESS;
      auto held = std::make_unique<Held>(launch);
      Held *const argument = held.get();
      const emu_result_t result = enqueue_call(queue, run, argument);
      if (result == EMU_SUCCESS) {
        [[maybe_unused]] const Held *const given = held.release();  // to run()
      }
      return result;
    });
  });
}

}  // namespace

void fill_kernel_commands(ze_command_list_dditable_t *table) noexcept {
  table->pfnAppendLaunchKernel = append_kernel;
  table->pfnAppendLaunchCooperativeKernel = append_kernel;
}

void fill(ze_kernel_dditable_t *table) noexcept {
  table->pfnCreate = kernel_create;
  table->pfnDestroy = kernel_destroy;
  table->pfnSetCacheConfig = kernel_cache_config;
  table->pfnSetGroupSize = kernel_group_size;
  table->pfnSuggestGroupSize = kernel_suggest_group_size;
  table->pfnSuggestMaxCooperativeGroupCount = kernel_most_groups;
  table->pfnSetArgumentValue = kernel_argument;
  table->pfnSetIndirectAccess = kernel_set_indirect;
  table->pfnGetIndirectAccess = kernel_get_indirect;
  table->pfnGetSourceAttributes = kernel_attributes;
  table->pfnGetProperties = kernel_properties;
  table->pfnGetName = kernel_name;
}

void fill(ze_kernel_exp_dditable_t *table) noexcept {
  table->pfnSetGlobalOffsetExp = kernel_offset;
}

}  // namespace sluice::emulated_driver
