// SPDX-License-Identifier: BSD-3-Clause
// The CPU runtime that computes the kernels: OpenCL's functions, found in the runtime's library when a module is first
// made, and the one context on its device.
#pragma once

#define CL_TARGET_OPENCL_VERSION 300
#include <CL/cl.h>
#include <CL/cl_ext.h>

namespace sluice::emulated_driver {

struct OpenCl {
  decltype(&clCreateProgramWithIL) create_program = nullptr;
  decltype(&clCreateProgramWithBinary) create_built_program = nullptr;
  decltype(&clGetProgramInfo) program_info = nullptr;
  decltype(&clSetProgramSpecializationConstant) set_constant = nullptr;
  decltype(&clBuildProgram) build = nullptr;
  decltype(&clGetProgramBuildInfo) build_info = nullptr;
  decltype(&clReleaseProgram) release_program = nullptr;
  decltype(&clCreateKernel) create_kernel = nullptr;
  decltype(&clReleaseKernel) release_kernel = nullptr;
  decltype(&clGetKernelInfo) kernel_info = nullptr;
  decltype(&clGetKernelWorkGroupInfo) group_info = nullptr;
  decltype(&clSetKernelArg) set_argument = nullptr;
  clSetKernelArgMemPointerINTEL_fn set_pointer = nullptr;
  decltype(&clCreateCommandQueueWithProperties) create_queue = nullptr;
  decltype(&clReleaseCommandQueue) release_queue = nullptr;
  decltype(&clEnqueueNDRangeKernel) launch = nullptr;
  decltype(&clFinish) finish = nullptr;

  cl_device_id device = nullptr;
  cl_context context = nullptr;
};

// Null: the CPU runtime (libintelocl.so) is not to be found; set LD_LIBRARY_PATH to its folder.
const OpenCl *opencl();

}  // namespace sluice::emulated_driver
