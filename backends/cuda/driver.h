// SPDX-License-Identifier: BSD-3-Clause
// Owns the entry points of the vendor's driver library, found at run time: nothing of it is linked.
#pragma once

#include <cuda.h>

#include <string>

// clang-format off
// Every driver of version 12.0 or later has these.
#define SLUICE_CUDA_REQUIRED(X) \
  X(cuInit) X(cuDriverGetVersion) X(cuGetErrorName) X(cuGetErrorString) \
  X(cuDeviceGetCount) X(cuDeviceGet) X(cuDeviceGetName) X(cuDeviceGetAttribute) X(cuDeviceTotalMem) \
  X(cuDeviceGetPCIBusId) X(cuDevicePrimaryCtxGetState) X(cuDevicePrimaryCtxRetain) X(cuDevicePrimaryCtxRelease) \
  X(cuCtxPushCurrent) X(cuCtxPopCurrent) X(cuCtxGetCurrent) X(cuCtxSetCurrent) X(cuCtxGetDevice) X(cuCtxSynchronize) \
  X(cuPointerGetAttribute) X(cuPointerGetAttributes) X(cuPointerSetAttribute) X(cuThreadExchangeStreamCaptureMode) \
  X(cuMemAlloc) X(cuMemFree) X(cuMemAllocManaged) X(cuMemHostAlloc) X(cuMemFreeHost) \
  X(cuMemHostRegister) X(cuMemHostUnregister) X(cuMemHostGetDevicePointer) X(cuMemcpy) X(cuMemcpyAsync) \
  X(cuMemcpyDtoHAsync) X(cuMemcpyHtoDAsync) \
  X(cuStreamCreate) X(cuStreamDestroy) X(cuStreamSynchronize) X(cuStreamQuery) \
  X(cuEventCreate) X(cuEventDestroy) X(cuEventRecord) X(cuEventQuery) X(cuEventSynchronize)
// Absent ones are null, and what needs them is not offered.
#if CUDA_VERSION >= 13000
#define SLUICE_CUDA_BATCH(X) X(cuMemcpyBatchAsync)
#else  // the first form of this call, with one parameter more, is not used
#define SLUICE_CUDA_BATCH(X)
#endif
#if CUDA_VERSION >= 12010
#define SLUICE_CUDA_FLAGS(X) X(cuCtxGetFlags) X(cuCtxSetFlags)
#else
#define SLUICE_CUDA_FLAGS(X)
#endif
#define SLUICE_CUDA_OPTIONAL(X) \
  SLUICE_CUDA_BATCH(X) SLUICE_CUDA_FLAGS(X) X(cuStreamWriteValue64) X(cuStreamWaitValue64) X(cuStreamBatchMemOp) \
  X(cuStreamGetCtx) X(cuStreamIsCapturing) X(cuStreamGetCaptureInfo) X(cuStreamUpdateCaptureDependencies) \
  X(cuStreamBeginCapture) X(cuStreamEndCapture) X(cuGraphDestroyNode) \
  X(cuCtxGetStreamPriorityRange) X(cuStreamCreateWithPriority) X(cuStreamWaitEvent) \
  X(cuIpcGetMemHandle) X(cuIpcOpenMemHandle) X(cuIpcCloseMemHandle) X(cuDeviceGetUuid) X(cuDeviceCanAccessPeer) \
  X(cuMemGetAddressRange) X(cuMemRetainAllocationHandle) X(cuMemRelease) \
  X(cuMemExportToShareableHandle) X(cuMemImportFromShareableHandle) \
  X(cuMemAddressReserve) X(cuMemAddressFree) X(cuMemMap) X(cuMemUnmap) X(cuMemSetAccess) \
  X(cuMemCreate) X(cuMemGetAllocationGranularity) X(cuMemAllocAsync) X(cuMemFreeAsync) \
  X(cuModuleLoadData) X(cuModuleGetFunction) X(cuLaunchKernel) X(cuOccupancyMaxActiveBlocksPerMultiprocessor) \
  X(cuCtxGetId) X(cuMemGetInfo) \
  X(cuGraphCreate) X(cuGraphDestroy) X(cuGraphAddKernelNode) X(cuGraphInstantiate) X(cuGraphExecDestroy) X(cuGraphLaunch) \
  X(cuGraphExecKernelNodeSetParams)
// What only the benchmarks of this folder compare.
#define SLUICE_CUDA_COMPARED(X) \
  X(cuMemcpyDtoH) X(cuMemcpyHtoD) X(cuGraphAddMemcpyNode) X(cuGraphExecMemcpyNodeSetParams)
// clang-format on

namespace sluice::backends::cuda {

struct Driver {
// The header's macros give each name its version ("cuMemAlloc" is "cuMemAlloc_v2"), here and wherever it is used.
// NOLINTNEXTLINE(bugprone-macro-parentheses): the name of a member cannot stand in parentheses
#define SLUICE_CUDA_MEMBER(name) decltype(&::name) name = nullptr;
  SLUICE_CUDA_REQUIRED(SLUICE_CUDA_MEMBER)
  SLUICE_CUDA_OPTIONAL(SLUICE_CUDA_MEMBER)
  SLUICE_CUDA_COMPARED(SLUICE_CUDA_MEMBER)
#undef SLUICE_CUDA_MEMBER
};

// Finds the driver's functions. load: whether to load the library when the process does not have it yet; else its
// absence is an error. Empty on success, else what is missing and what to do. Setup cost; any thread; keeps the library
// loaded for the rest of the process, as its own clean-up at exit needs it to.
std::string open_driver(Driver *driver, bool load);

// "cuMemcpyAsync: CUDA_ERROR_INVALID_VALUE (invalid argument)". Never fails.
std::string native_text(const Driver &driver, const char *call, CUresult result);

}  // namespace sluice::backends::cuda
