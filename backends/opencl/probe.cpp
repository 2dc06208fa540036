// SPDX-License-Identifier: BSD-3-Clause
// Memory looked at in place, by the body of kernels/check.hpp.
#include "sluice/testing/probe.h"

#include <algorithm>
#include <mutex>

#include "../memory_check.h"
#include "allocations.h"
#include "check_kernel.h"

namespace sluice::backends::opencl {
namespace {

constexpr size_t kMostItems = 16384;

// Shared USM for the tables: the host writes them, the kernel leaves its shares in them.
class Tables {
 public:
  explicit Tables(Device *device, size_t size_bytes)
      : result_(allocate_usm(device, SLUICE_MEMORY_SHARED, size_bytes, &memory_)) {}
  Tables(const Tables &) = delete;
  Tables &operator=(const Tables &) = delete;
  ~Tables() {
    if (result_ == SLUICE_SUCCESS) static_cast<void>(program_free(memory_));
  }

  sluice_result_t result() const { return result_; }
  void *data() const { return memory_; }

 private:
  void *memory_ = nullptr;
  sluice_result_t result_;
};

cl_int set_task(const Device &device, cl_kernel kernel, const kernels::CheckTask &task) {
  cl_int native = device.set_pointer(kernel, 0, task.memory);
  if (native == CL_SUCCESS) native = device.set_pointer(kernel, 1, task.sources);
  if (native == CL_SUCCESS) native = device.set_pointer(kernel, 2, task.segments);
  if (native == CL_SUCCESS) native = g_functions.clSetKernelArg(kernel, 3, sizeof task.n_segments, &task.n_segments);
  if (native == CL_SUCCESS) native = g_functions.clSetKernelArg(kernel, 4, sizeof task.n_words, &task.n_words);
  return native == CL_SUCCESS ? device.set_pointer(kernel, 5, task.shares) : native;
}

sluice_result_t run(Device *device, const sluice_memory_check_t &check, sluice_check_finding_t *finding) {
  static std::mutex mutex;  // a kernel's arguments are part of it
  const std::scoped_lock lock(mutex);
  cl_kernel kernel = nullptr;
  const sluice_result_t found = find_check_kernel(*device, &kernel);
  if (found != SLUICE_SUCCESS) return found;
  const size_t n_items = std::clamp<size_t>(CheckTables::n_words(check), 1, kMostItems);
  const Tables tables(device, CheckTables::size_bytes(check, n_items));
  if (tables.result() != SLUICE_SUCCESS) return tables.result();
  const kernels::CheckTask task = CheckTables::fill(check, n_items, tables.data());
  sluice_result_t result = translate("clSetKernelArg", set_task(*device, kernel, task));
  if (result == SLUICE_SUCCESS) {
    result = translate(
        "clEnqueueNDRangeKernel",
        g_functions.clEnqueueNDRangeKernel(device->queue, kernel, 1, nullptr, &n_items, nullptr, 0, nullptr, nullptr));
  }
  if (result == SLUICE_SUCCESS) result = translate("clFinish", g_functions.clFinish(device->queue));
  if (result == SLUICE_SUCCESS) *finding = CheckTables::finding(task.shares, n_items);
  return result;
}

sluice_result_t check_memory(const sluice_memory_check_t *check, sluice_check_finding_t *finding) {
  const Outcome known = examine_check(check, finding);
  if (!known.is_success()) return fail(known.result, known.text);
  *finding = {kernels::kNothingWrong, 0};
  Device *device = current_device();
  if (device == nullptr) return SLUICE_ERROR_NATIVE;
  if (device->set_pointer == nullptr) {
    return fail(SLUICE_ERROR_UNSUPPORTED, "this runtime has no USM, which the kernel that checks memory takes");
  }
  return check->n_segments == 0 ? SLUICE_SUCCESS : run(device, *check, finding);
}

constexpr sluice_probe_t kProbe = {
    .api_version = SLUICE_PROBE_API_VERSION,
    .struct_size = sizeof(sluice_probe_t),
    .memory_in_use = nullptr,  // nobody tells
    .check_memory = check_memory,
    .work_create = nullptr,
    .work_enqueue = nullptr,
    .work_wait = nullptr,
    .work_destroy = nullptr,
};

}  // namespace
}  // namespace sluice::backends::opencl

extern "C" __attribute__((visibility("default"))) const sluice_probe_t *sluice_backend_probe() {
  return &sluice::backends::opencl::kProbe;
}
