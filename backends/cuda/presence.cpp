// SPDX-License-Identifier: BSD-3-Clause
// Whether other processes work on a device, too: each holds a lock on a file of that device, which the system takes
// back when the process ends, however it does.
#include "presence.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <map>
#include <mutex>
#include <string>

#include "module.h"

namespace sluice::backends::cuda {
namespace {

// The first byte, shared.
struct flock lock_of(short type) {
  struct flock lock = {};
  lock.l_type = type;
  lock.l_whence = SEEK_SET;
  lock.l_len = 1;
  return lock;
}

// -1 and a line in the log when there is no such file.
int open_file(int32_t device) {
  CUdevice ordinal = 0;
  char address[32] = "";
  if (g_driver.cuDeviceGet(&ordinal, device) != CUDA_SUCCESS ||
      g_driver.cuDeviceGetPCIBusId(address, sizeof address, ordinal) != CUDA_SUCCESS) {
    return -1;
  }
  const std::string path = "/dev/shm/sluice_cuda-" + std::to_string(geteuid()) + "-" + address;
  const int file = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
  struct flock lock = lock_of(F_RDLCK);
  if (file >= 0 && fcntl(file, F_OFD_SETLK, &lock) == 0) return file;
  const int code = errno;
  log_line(3, (path + ": " + strerror(code) + "; a device is taken for one that processes share").c_str());
  if (file >= 0) close(file);
  return -1;
}

// The file of a device, opened by the first call and held until the process ends.
int file_of(int32_t device) {
  static std::mutex mutex;
  static auto *files = new std::map<int32_t, int>();
  const std::scoped_lock lock(mutex);
  const auto found = files->find(device);
  if (found != files->end()) return found->second;
  return files->emplace(device, open_file(device)).first->second;
}

}  // namespace

void presence_hold(int32_t device) {
  static_cast<void>(file_of(device));
}

bool is_alone(int32_t device) {
  const int file = file_of(device);
  struct flock lock = lock_of(F_WRLCK);
  return file >= 0 && fcntl(file, F_OFD_GETLK, &lock) == 0 && lock.l_type == F_UNLCK;
}

bool is_shared_at_once(int32_t device) {
  // CU_DEVICE_ATTRIBUTE_MPS_ENABLED, which older headers do not name.
  constexpr auto kIsByService = static_cast<CUdevice_attribute>(133);
  CUdevice ordinal = 0;
  int is_by_service = 0;
  return g_driver.cuDeviceGet(&ordinal, device) == CUDA_SUCCESS &&
         g_driver.cuDeviceGetAttribute(&is_by_service, kIsByService, ordinal) == CUDA_SUCCESS && is_by_service != 0;
}

}  // namespace sluice::backends::cuda
