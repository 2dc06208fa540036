// SPDX-License-Identifier: BSD-3-Clause
// The OpenCL loader, devices, contexts.
#include "runtime.h"

#include <dlfcn.h>

#include <mutex>

namespace sluice::backends::opencl {

Functions g_functions;

namespace {

std::mutex g_mutex;  // of the devices' contexts and queues
thread_local int32_t t_device = 0;

// Empty on success, else what is missing and what to do.
std::string find_functions() {
  void *loader = dlopen("libOpenCL.so.1", RTLD_NOW | RTLD_GLOBAL);
  if (loader == nullptr) {
    return std::string(
               "no libOpenCL.so.1: install ocl-icd-libopencl1, or put the oneAPI runtime's folder into "
               "LD_LIBRARY_PATH (") +
           dlerror() + ")";
  }
  std::string missing;
#define SLUICE_OPENCL_FIND(name)                                                         \
  g_functions.name = reinterpret_cast<decltype(g_functions.name)>(dlsym(loader, #name)); \
  if (g_functions.name == nullptr) missing += (missing.empty() ? "" : ", ") + std::string(#name);
  SLUICE_OPENCL_FUNCTIONS(SLUICE_OPENCL_FIND)
#undef SLUICE_OPENCL_FIND
  return missing.empty() ? "" : "libOpenCL.so.1 has no " + missing + ": it is older than OpenCL 2.0";
}

bool has_usm(cl_device_id device) {
  size_t size_bytes = 0;
  if (g_functions.clGetDeviceInfo(device, CL_DEVICE_EXTENSIONS, 0, nullptr, &size_bytes) != CL_SUCCESS) return false;
  std::string names(size_bytes, '\0');
  if (g_functions.clGetDeviceInfo(device, CL_DEVICE_EXTENSIONS, size_bytes, names.data(), nullptr) != CL_SUCCESS) {
    return false;
  }
  return names.find("cl_intel_unified_shared_memory") != std::string::npos;
}

template <typename Function>
Function find_extension(cl_platform_id platform, const char *name) {
  return reinterpret_cast<Function>(g_functions.clGetExtensionFunctionAddressForPlatform(platform, name));
}

void add_device(cl_platform_id platform, cl_device_id id) {
  Device device;
  device.platform = platform;
  device.id = id;
  cl_device_type type = 0;
  device.is_cpu = g_functions.clGetDeviceInfo(id, CL_DEVICE_TYPE, sizeof type, &type, nullptr) == CL_SUCCESS &&
                  (type & CL_DEVICE_TYPE_CPU) != 0;
  if (has_usm(id)) {
    device.alloc_device = find_extension<clDeviceMemAllocINTEL_fn>(platform, "clDeviceMemAllocINTEL");
    device.alloc_shared = find_extension<clSharedMemAllocINTEL_fn>(platform, "clSharedMemAllocINTEL");
    device.free_usm = find_extension<clMemBlockingFreeINTEL_fn>(platform, "clMemBlockingFreeINTEL");
    device.enqueue_memcpy = find_extension<clEnqueueMemcpyINTEL_fn>(platform, "clEnqueueMemcpyINTEL");
    device.set_pointer = find_extension<clSetKernelArgMemPointerINTEL_fn>(platform, "clSetKernelArgMemPointerINTEL");
  }
  devices().push_back(device);
}

sluice_result_t list_devices() {
  cl_uint n_platforms = 0;
  // Without a runtime the loader says that there is no platform, by a number of its own.
  if (g_functions.clGetPlatformIDs(0, nullptr, &n_platforms) != CL_SUCCESS || n_platforms == 0) {
    return fail(SLUICE_ERROR_NO_DEVICE,
                "the OpenCL loader finds no runtime: look at /etc/OpenCL/vendors and OCL_ICD_FILENAMES");
  }
  std::vector<cl_platform_id> platforms(n_platforms);
  const sluice_result_t listed =
      translate("clGetPlatformIDs", g_functions.clGetPlatformIDs(n_platforms, platforms.data(), nullptr));
  if (listed != SLUICE_SUCCESS) return listed;
  for (cl_platform_id platform : platforms) {
    cl_uint n = 0;
    if (g_functions.clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 0, nullptr, &n) != CL_SUCCESS || n == 0) continue;
    std::vector<cl_device_id> ids(n);
    const cl_int native = g_functions.clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, n, ids.data(), nullptr);
    if (native != CL_SUCCESS) return translate("clGetDeviceIDs", native);
    for (cl_device_id id : ids) add_device(platform, id);
  }
  return devices().empty() ? fail(SLUICE_ERROR_NO_DEVICE, "the OpenCL runtimes here show no device") : SLUICE_SUCCESS;
}

sluice_result_t make_queue(Device *device) {
  cl_int native = CL_SUCCESS;
  device->context = g_functions.clCreateContext(nullptr, 1, &device->id, nullptr, nullptr, &native);
  if (native != CL_SUCCESS) return translate("clCreateContext", native);
  device->queue = g_functions.clCreateCommandQueueWithProperties(device->context, device->id, nullptr, &native);
  return translate("clCreateCommandQueueWithProperties", native);
}

}  // namespace

std::vector<Device> &devices() {
  static auto *const all = new std::vector<Device>();
  return *all;
}

sluice_result_t open_runtime() {
  const std::scoped_lock lock(g_mutex);
  if (!devices().empty()) return SLUICE_SUCCESS;
  const std::string missing = find_functions();
  return missing.empty() ? list_devices() : fail(SLUICE_ERROR_NO_DEVICE, missing);
}

Device *current_device() {
  const std::scoped_lock lock(g_mutex);
  Device &device = devices()[static_cast<size_t>(t_device)];
  return device.queue != nullptr || make_queue(&device) == SLUICE_SUCCESS ? &device : nullptr;
}

sluice_result_t program_set_device(int32_t index) {
  if (index < 0 || static_cast<size_t>(index) >= devices().size()) {
    return fail(SLUICE_ERROR_NO_DEVICE, "there is no device " + std::to_string(index) + "; the runtimes show " +
                                            std::to_string(devices().size()));
  }
  t_device = index;
  return current_device() != nullptr ? SLUICE_SUCCESS : SLUICE_ERROR_NATIVE;
}

}  // namespace sluice::backends::opencl
