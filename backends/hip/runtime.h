// SPDX-License-Identifier: BSD-3-Clause
// Owns the entry points of the vendor's runtime library, found at run time: nothing of it is linked.
#pragma once

#include <hip/hip_runtime_api.h>

#include <string>

// clang-format off
// Every runtime since release 5.2 has these. None takes or gives a structure whose layout changed between releases
// (hipDeviceProp_t, hipPointerAttribute_t) or a number that did (hipMemoryType).
#define SLUICE_HIP_REQUIRED(X) \
  X(hipInit) X(hipRuntimeGetVersion) X(hipGetErrorName) X(hipGetErrorString) \
  X(hipGetDeviceCount) X(hipGetDevice) X(hipSetDevice) X(hipDeviceGet) X(hipDeviceGetName) X(hipDeviceTotalMem) \
  X(hipDeviceGetPCIBusId) X(hipDeviceGetAttribute) X(hipDeviceSynchronize) X(hipMemGetInfo) \
  X(hipThreadExchangeStreamCaptureMode) X(hipDrvPointerGetAttributes) X(hipMemGetAddressRange) \
  X(hipFree) X(hipHostFree) X(hipHostRegister) X(hipHostUnregister) X(hipHostGetDevicePointer) \
  X(hipMemcpy) X(hipMemcpyAsync) X(hipStreamCreateWithFlags) X(hipStreamDestroy) X(hipStreamSynchronize) \
  X(hipEventCreateWithFlags) X(hipEventDestroy) X(hipEventRecord) X(hipEventQuery) X(hipEventSynchronize)
// Absent ones are null, and what needs them is not offered.
#define SLUICE_HIP_OPTIONAL(X) \
  X(hipIpcGetMemHandle) X(hipIpcOpenMemHandle) X(hipIpcCloseMemHandle) X(hipDeviceCanAccessPeer) \
  X(hipModuleLoadData) X(hipModuleGetFunction) X(hipModuleLaunchKernel) \
  X(hipModuleOccupancyMaxActiveBlocksPerMultiprocessor) \
  X(hipStreamWriteValue64) X(hipStreamWaitValue64) X(hipGetStreamDeviceId) X(hipStreamIsCapturing) \
  X(hipStreamWaitEvent)
// clang-format on

namespace sluice::backends::hip {

struct Runtime {
  // Overloaded by templates for C++: the C functions are meant.
  hipError_t (*hipMalloc)(void **memory, size_t size_bytes) = nullptr;
  hipError_t (*hipMallocManaged)(void **memory, size_t size_bytes, unsigned flags) = nullptr;
  hipError_t (*hipHostMalloc)(void **memory, size_t size_bytes, unsigned flags) = nullptr;
// NOLINTNEXTLINE(bugprone-macro-parentheses): the name of a member cannot stand in parentheses
#define SLUICE_HIP_MEMBER(name) decltype(&::name) name = nullptr;
  SLUICE_HIP_REQUIRED(SLUICE_HIP_MEMBER)
  SLUICE_HIP_OPTIONAL(SLUICE_HIP_MEMBER)
#undef SLUICE_HIP_MEMBER
};

// Finds the runtime's functions. load: whether to load the library when the process does not have it yet; else its
// absence is an error. Empty on success, else what is missing and what to do. Setup cost; any thread; keeps the library
// loaded for the rest of the process, as its own clean-up at exit needs it to.
std::string open_runtime(Runtime *runtime, bool load);

// "hipMemcpyAsync: hipErrorInvalidValue (invalid argument)". Never fails.
std::string native_text(const Runtime &runtime, const char *call, hipError_t result);

}  // namespace sluice::backends::hip
