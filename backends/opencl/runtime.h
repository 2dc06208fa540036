// SPDX-License-Identifier: BSD-3-Clause
// Owns the entry points of the OpenCL loader, found at run time, and the devices with a context and a queue for each.
#pragma once

// The newest version whose functions are used; none that it deprecates.
#define CL_TARGET_OPENCL_VERSION 220
#include <CL/cl.h>
#include <CL/cl_ext.h>

#include <string>
#include <vector>

#include "../module_state.h"
#include "sluice/backend.h"

namespace sluice::backends::opencl {

// clang-format off
#define SLUICE_OPENCL_FUNCTIONS(X) \
  X(clGetPlatformIDs) X(clGetPlatformInfo) X(clGetDeviceIDs) X(clGetDeviceInfo) X(clCreateContext) \
  X(clCreateCommandQueueWithProperties) X(clReleaseCommandQueue) X(clFinish) X(clCreateBuffer) X(clReleaseMemObject) \
  X(clEnqueueMapBuffer) X(clEnqueueUnmapMemObject) X(clGetExtensionFunctionAddressForPlatform) \
  X(clCreateProgramWithSource) X(clBuildProgram) X(clGetProgramBuildInfo) X(clReleaseProgram) X(clCreateKernel) \
  X(clSetKernelArg) X(clEnqueueNDRangeKernel)
// clang-format on

struct Functions {
// NOLINTNEXTLINE(bugprone-macro-parentheses): the name of a member cannot stand in parentheses
#define SLUICE_OPENCL_MEMBER(name) decltype(&::name) name = nullptr;
  SLUICE_OPENCL_FUNCTIONS(SLUICE_OPENCL_MEMBER)
#undef SLUICE_OPENCL_MEMBER
};

// A device; its context and queue are made when it is chosen first.
struct Device {
  cl_platform_id platform = nullptr;
  cl_device_id id = nullptr;
  bool is_cpu = false;
  cl_context context = nullptr;
  cl_command_queue queue = nullptr;
  // Of the extension cl_intel_unified_shared_memory; null without it.
  clDeviceMemAllocINTEL_fn alloc_device = nullptr;
  clSharedMemAllocINTEL_fn alloc_shared = nullptr;
  clMemBlockingFreeINTEL_fn free_usm = nullptr;
  clEnqueueMemcpyINTEL_fn enqueue_memcpy = nullptr;
  clSetKernelArgMemPointerINTEL_fn set_pointer = nullptr;
};

// Found once, left to the end of the process.
extern Functions g_functions;
std::vector<Device> &devices();

// SLUICE_SUCCESS for CL_SUCCESS, else what the number means to Sluice, with call and number as the text.
sluice_result_t translate(const char *call, cl_int native);

// Loads the loader and lists devices, once.
sluice_result_t open_runtime();
// The device of this thread with its context and queue; null with a text kept.
Device *current_device();
sluice_result_t program_set_device(int32_t index);

}  // namespace sluice::backends::opencl
