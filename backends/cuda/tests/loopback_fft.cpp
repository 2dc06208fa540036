// SPDX-License-Identifier: BSD-3-Clause
// A library of transforms beside the loop-back driver, with the names and numbers of the vendor's: it runs the host's
// library in the driver's streams. It examines the calls of the module, not the vendor's library.
#include <map>
#include <memory>
#include <mutex>

#include "host_fft.h"
#include "loopback.h"

namespace {

constexpr int kSuccess = 0;
constexpr int kInvalidPlan = 1;
constexpr int kInvalidType = 3;
constexpr int kInvalidValue = 4;
constexpr int kSingle = 0x29;
constexpr int kDouble = 0x69;

struct Plan {
  CUstream stream = nullptr;
  int type = 0;
  std::unique_ptr<sluice::backends::HostTransforms> transforms;
};

std::mutex g_mutex;

std::map<int, Plan> &plans() {
  static auto *const all = new std::map<int, Plan>();
  return *all;
}

// Runs in the stream's own thread; the plan outlives that, as the vendor's must.
int run(int handle, int type, void *in, void *out, int direction) {
  const std::scoped_lock lock(g_mutex);
  const auto found = plans().find(handle);
  if (found == plans().end() || found->second.transforms == nullptr) return kInvalidPlan;
  Plan &plan = found->second;
  if (plan.type != type) return kInvalidType;
  if (in != out || (direction != -1 && direction != 1) || plan.stream == nullptr) return kInvalidValue;
  plan.stream->enqueue([transforms = plan.transforms.get(), out, direction] { transforms->run(out, direction == 1); });
  return kSuccess;
}

}  // namespace

extern "C" {

int cufftGetVersion(int *version) {
  *version = 12034;
  return kSuccess;
}

int cufftCreate(int *handle) {
  static int last = 0;
  const std::scoped_lock lock(g_mutex);
  *handle = ++last;
  plans()[*handle];
  return loopback::current() == nullptr ? kInvalidValue : kSuccess;
}

int cufftDestroy(int handle) {
  const std::scoped_lock lock(g_mutex);
  return plans().erase(handle) == 1 ? kSuccess : kInvalidPlan;
}

int cufftSetStream(int handle, CUstream stream) {
  const std::scoped_lock lock(g_mutex);
  const auto found = plans().find(handle);
  if (found == plans().end()) return kInvalidPlan;
  found->second.stream = stream;
  return kSuccess;
}

// As the vendor's: without the size of what the points are embedded in, strides are not looked at.
int cufftMakePlanMany64(int handle, int rank, long long *n, long long *in_embed, long long in_stride,
                        long long in_distance, long long *out_embed, long long out_stride, long long out_distance,
                        int type, long long n_batches, size_t *work_bytes) {
  const std::scoped_lock lock(g_mutex);
  const auto found = plans().find(handle);
  if (found == plans().end()) return kInvalidPlan;
  if (type != kSingle && type != kDouble) return kInvalidType;
  const bool is_in_place = in_stride == out_stride && in_distance == out_distance;
  if (rank != 1 || n[0] < 1 || in_embed == nullptr || out_embed == nullptr || !is_in_place || in_stride < 1 ||
      in_distance < 1 || n_batches < 1 || work_bytes == nullptr) {
    return kInvalidValue;
  }
  const sluice_program_fft_batch_t batch = {static_cast<uint64_t>(n[0]), static_cast<uint64_t>(in_stride),
                                            static_cast<uint64_t>(n_batches), static_cast<uint64_t>(in_distance),
                                            type == kDouble ? uint64_t{1} : uint64_t{0}};
  std::string error;
  found->second.transforms = sluice::backends::HostTransforms::make(batch, &error);
  found->second.type = type;
  *work_bytes = 0;
  return found->second.transforms != nullptr ? kSuccess : kInvalidValue;
}

int cufftExecC2C(int handle, void *in, void *out, int direction) {
  return run(handle, kSingle, in, out, direction);
}

int cufftExecZ2Z(int handle, void *in, void *out, int direction) {
  return run(handle, kDouble, in, out, direction);
}
}
