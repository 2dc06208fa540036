// SPDX-License-Identifier: BSD-3-Clause
#include "opencl.h"

#include <dlfcn.h>

#include <memory>
#include <string>

namespace sluice::emulated_driver {
namespace {

template <typename Function>
bool find(void *library, const char *name, Function *function) {
  *function = reinterpret_cast<Function>(dlsym(library, name));
  return *function != nullptr;
}

bool find_functions(void *library, OpenCl *found) {
  return find(library, "clCreateProgramWithIL", &found->create_program) &&
         find(library, "clCreateProgramWithBinary", &found->create_built_program) &&
         find(library, "clGetProgramInfo", &found->program_info) &&
         find(library, "clSetProgramSpecializationConstant", &found->set_constant) &&
         find(library, "clBuildProgram", &found->build) && find(library, "clGetProgramBuildInfo", &found->build_info) &&
         find(library, "clReleaseProgram", &found->release_program) &&
         find(library, "clCreateKernel", &found->create_kernel) &&
         find(library, "clReleaseKernel", &found->release_kernel) &&
         find(library, "clGetKernelInfo", &found->kernel_info) &&
         find(library, "clGetKernelWorkGroupInfo", &found->group_info) &&
         find(library, "clSetKernelArg", &found->set_argument) &&
         find(library, "clCreateCommandQueueWithProperties", &found->create_queue) &&
         find(library, "clReleaseCommandQueue", &found->release_queue) &&
         find(library, "clEnqueueNDRangeKernel", &found->launch) && find(library, "clFinish", &found->finish);
}

const OpenCl *open_runtime() {
  auto made = std::make_unique<OpenCl>();
  // By itself, not by OpenCL's loader, which may be the program's, with a choice of devices of its own.
  void *const library = dlopen("libintelocl.so", RTLD_NOW | RTLD_LOCAL);
  decltype(&clGetPlatformIDs) get_platforms = nullptr;
  decltype(&clGetDeviceIDs) get_devices = nullptr;
  decltype(&clCreateContext) create_context = nullptr;
  decltype(&clGetExtensionFunctionAddressForPlatform) get_extension = nullptr;
  if (library == nullptr || !find_functions(library, made.get()) ||
      !find(library, "clGetPlatformIDs", &get_platforms) || !find(library, "clGetDeviceIDs", &get_devices) ||
      !find(library, "clCreateContext", &create_context) ||
      !find(library, "clGetExtensionFunctionAddressForPlatform", &get_extension)) {
    return nullptr;
  }
  cl_platform_id platform = nullptr;
  if (get_platforms(1, &platform, nullptr) != CL_SUCCESS ||
      get_devices(platform, CL_DEVICE_TYPE_CPU, 1, &made->device, nullptr) != CL_SUCCESS) {
    return nullptr;
  }
  made->set_pointer =
      reinterpret_cast<clSetKernelArgMemPointerINTEL_fn>(get_extension(platform, "clSetKernelArgMemPointerINTEL"));
  cl_int error = CL_SUCCESS;
  made->context = create_context(nullptr, 1, &made->device, nullptr, nullptr, &error);
  return error == CL_SUCCESS && made->set_pointer != nullptr ? made.release() : nullptr;
}

}  // namespace

const OpenCl *opencl() {
  static const OpenCl *const runtime = open_runtime();
  return runtime;
}

}  // namespace sluice::emulated_driver
