// SPDX-License-Identifier: BSD-3-Clause
// The loop-back runtime's life, devices and errors, named and typed by the vendor's header.
#include <cstdio>

#include "loopback.h"

using loopback::current;
using loopback::kDevices;

namespace {

bool is_device(int device) {
  return device >= 0 && device < kDevices;
}

}  // namespace

hipError_t hipInit(unsigned /*flags*/) {
  return hipSuccess;
}
hipError_t hipRuntimeGetVersion(int *version) {
  *version = 70'000'000;
  return hipSuccess;
}
const char *hipGetErrorName(hipError_t error) {
  return error == hipSuccess ? "hipSuccess" : "hipErrorOfLoopback";
}
const char *hipGetErrorString(hipError_t error) {
  switch (error) {
    case hipSuccess:
      return "no error";
    case hipErrorInvalidValue:
      return "invalid argument";
    case hipErrorOutOfMemory:
      return "out of memory";
    case hipErrorInvalidDevice:
      return "invalid device ordinal";
    case hipErrorIllegalAddress:
      return "an illegal memory access was encountered";
    default:
      return "another error of the loop-back runtime";
  }
}

hipError_t hipGetDeviceCount(int *count) {
  *count = kDevices;
  return hipSuccess;
}
hipError_t hipGetDevice(int *device) {
  *device = current();
  return hipSuccess;
}
hipError_t hipSetDevice(int device) {
  if (!is_device(device)) return hipErrorInvalidDevice;
  current() = device;
  return hipSuccess;
}
hipError_t hipDeviceGet(hipDevice_t *ordinal, int device) {
  *ordinal = device;
  return is_device(device) ? hipSuccess : hipErrorInvalidDevice;
}
hipError_t hipDeviceGetName(char *name, int length, hipDevice_t device) {
  std::snprintf(name, static_cast<size_t>(length), "loop-back device %d (host memory)", device);
  return hipSuccess;
}
hipError_t hipDeviceTotalMem(size_t *size_bytes, hipDevice_t /*device*/) {
  *size_bytes = size_t{1} << 30U;
  return hipSuccess;
}
hipError_t hipDeviceGetPCIBusId(char *id, int length, int device) {
  std::snprintf(id, static_cast<size_t>(length), "0000:E%d:00.0", device);
  return is_device(device) ? hipSuccess : hipErrorInvalidDevice;
}
hipError_t hipDeviceGetAttribute(int *value, hipDeviceAttribute_t attribute, int device) {
  *value = attribute == hipDeviceAttributeMultiprocessorCount ? 8 : 1;
  if (attribute == hipDeviceAttributeCanUseStreamWaitValue && loopback::refuses("operations")) *value = 0;
  return is_device(device) ? hipSuccess : hipErrorInvalidDevice;
}
hipError_t hipDeviceCanAccessPeer(int *can_access, int device, int peer) {
  *can_access = device != peer ? 1 : 0;
  return is_device(device) && is_device(peer) ? hipSuccess : hipErrorInvalidDevice;
}
hipError_t hipThreadExchangeStreamCaptureMode(hipStreamCaptureMode *mode) {
  thread_local hipStreamCaptureMode t_mode = hipStreamCaptureModeGlobal;
  const hipStreamCaptureMode before = t_mode;
  t_mode = *mode;
  *mode = before;
  return hipSuccess;
}
