// SPDX-License-Identifier: BSD-3-Clause
// What a benchmark has kernels do: look at memory where it lies, and keep a device busy.
#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "../memory_check.h"
#include "kernels.h"
#include "module.h"
#include "work.hpp"

namespace sluice::backends::cuda {
namespace {

// More blocks for each processor gain nothing.
constexpr unsigned kBlocksPerProcessor = 2;

// The kernel for the program's current device, in its current context.
sluice_result_t find_here(const KernelText &text, Kernel *kernel) {
  int32_t device = 0;
  const sluice_result_t result = program_device(&device);
  if (result != SLUICE_SUCCESS) return result;
  if (!can_run_kernels(device)) {
    return fail(SLUICE_ERROR_UNSUPPORTED,
                "this device or its driver does not run kernels of this module, which are for "
                "compute capability 7.5 and later");
  }
  return find_kernel(text, device, kernel);
}

// Device memory of the current context, given back at the end. Not program_alloc's, which a knob may make of pieces.
class DeviceMemory {
 public:
  explicit DeviceMemory(size_t size_bytes) : result_(g_driver.cuMemAlloc(&address_, size_bytes)) {}
  DeviceMemory(const DeviceMemory &) = delete;
  DeviceMemory &operator=(const DeviceMemory &) = delete;
  ~DeviceMemory() {
    if (result_ == CUDA_SUCCESS && g_driver.cuMemFree(address_) != CUDA_SUCCESS) {
      log_line(1, "memory for the tables of a check could not be given back");
    }
  }

  CUresult result() const { return result_; }
  CUdeviceptr address() const { return address_; }

 private:
  CUdeviceptr address_ = 0;
  CUresult result_;
};

// All in the default stream, behind whatever the program's blocking copies have begun there.
sluice_result_t run_check(const sluice_memory_check_t &check, const Kernel &kernel, sluice_check_finding_t *finding) {
  const uint64_t n_wanted = CheckTables::n_words(check) / kBlockThreads + 1;
  const unsigned n_blocks = static_cast<unsigned>(
      std::min<uint64_t>(n_wanted, std::min(kernel.most_blocks, kernel.n_processors * kBlocksPerProcessor)));
  const size_t n_items = size_t{n_blocks} * kBlockThreads;
  std::vector<uint64_t> image(CheckTables::size_bytes(check, n_items) / sizeof(uint64_t));
  const auto image_address = reinterpret_cast<CUdeviceptr>(image.data());
  const size_t image_bytes = image.size() * sizeof(uint64_t);
  kernels::CheckTask task = CheckTables::fill(check, n_items, image.data());
  const DeviceMemory tables(image_bytes);
  sluice_result_t result = translate("cuMemAlloc", tables.result());
  if (result != SLUICE_SUCCESS) return result;
  task = CheckTables::moved(task, image.data(), reinterpret_cast<void *>(tables.address()));
  result = translate("cuMemcpy", g_driver.cuMemcpy(tables.address(), image_address, image_bytes));
  if (result != SLUICE_SUCCESS) return result;
  void *arguments[] = {&task};
  result = translate("cuLaunchKernel", g_driver.cuLaunchKernel(kernel.function, n_blocks, 1, 1, kBlockThreads, 1, 1, 0,
                                                               CU_STREAM_LEGACY, arguments, nullptr));
  if (result != SLUICE_SUCCESS) return result;
  result =
      translate("cuMemcpy", g_driver.cuMemcpy(image_address, tables.address(), n_items * sizeof(kernels::CheckShare)));
  const auto *shares = reinterpret_cast<const kernels::CheckShare *>(image.data());
  if (result == SLUICE_SUCCESS) *finding = CheckTables::finding(shares, n_items);
  return result;
}

}  // namespace

sluice_result_t check_memory(const sluice_memory_check_t *check, sluice_check_finding_t *finding) {
  const Outcome known = examine_check(check, finding);
  if (!known.is_success()) return fail(known.result, known.text);
  *finding = {kernels::kNothingWrong, 0};
  if (check->n_segments == 0) return SLUICE_SUCCESS;
  Kernel kernel;
  const sluice_result_t result = find_here(check_text(), &kernel);
  return result == SLUICE_SUCCESS ? run_check(*check, kernel, finding) : result;
}

}  // namespace sluice::backends::cuda

// A stream of its own, and memory for what the items leave.
struct sluice_work {
  CUcontext context = nullptr;
  sluice::backends::cuda::Kernel kernel;
  CUstream stream = nullptr;
  CUdeviceptr results = 0;
};

namespace sluice::backends::cuda {

namespace {

// One block of a moderate size on each processor: all of them are busy, and none is full.
constexpr unsigned kWorkThreads = 128;

// Tries all; the first error is the one to tell.
sluice_result_t give_back(const sluice_work_t &work) {
  sluice_result_t result = SLUICE_SUCCESS;
  if (work.stream != nullptr) {
    result = translate("cuStreamSynchronize", g_driver.cuStreamSynchronize(work.stream));
    const sluice_result_t ended = translate("cuStreamDestroy", g_driver.cuStreamDestroy(work.stream));
    if (result == SLUICE_SUCCESS) result = ended;
  }
  if (work.results != 0) {
    const sluice_result_t freed = translate("cuMemFree", g_driver.cuMemFree(work.results));
    if (result == SLUICE_SUCCESS) result = freed;
  }
  return result;
}

}  // namespace

sluice_result_t work_create(sluice_work_t **work) {
  *work = nullptr;
  auto made = std::make_unique<sluice_work_t>();
  sluice_result_t result = find_here(work_text(), &made->kernel);
  if (result == SLUICE_SUCCESS) result = translate("cuCtxGetCurrent", g_driver.cuCtxGetCurrent(&made->context));
  const size_t n_items = size_t{made->kernel.n_processors} * kWorkThreads;
  if (result == SLUICE_SUCCESS) {
    result = translate("cuMemAlloc", g_driver.cuMemAlloc(&made->results, n_items * sizeof(uint64_t)));
  }
  if (result == SLUICE_SUCCESS) {
    result = translate("cuStreamCreate", g_driver.cuStreamCreate(&made->stream, CU_STREAM_NON_BLOCKING));
  }
  if (result != SLUICE_SUCCESS) {
    const std::string text = error_text();
    static_cast<void>(give_back(*made));
    return fail(result, text);
  }
  *work = made.release();
  return SLUICE_SUCCESS;
}

sluice_result_t work_enqueue(sluice_work_t *work, uint64_t n_steps) {
  const ContextScope scope(work->context);
  if (scope.result() != SLUICE_SUCCESS) return scope.result();
  kernels::WorkTask task = {n_steps, reinterpret_cast<uint64_t *>(work->results)};
  void *arguments[] = {&task};
  return translate("cuLaunchKernel", g_driver.cuLaunchKernel(work->kernel.function, work->kernel.n_processors, 1, 1,
                                                             kWorkThreads, 1, 1, 0, work->stream, arguments, nullptr));
}

sluice_result_t work_wait(sluice_work_t *work, uint64_t *result) {
  const ContextScope scope(work->context);
  if (scope.result() != SLUICE_SUCCESS) return scope.result();
  const sluice_result_t ended = translate("cuStreamSynchronize", g_driver.cuStreamSynchronize(work->stream));
  if (ended != SLUICE_SUCCESS || result == nullptr) return ended;
  return translate("cuMemcpy",
                   g_driver.cuMemcpy(reinterpret_cast<CUdeviceptr>(result), work->results, sizeof(*result)));
}

sluice_result_t work_destroy(sluice_work_t *work) {
  const std::unique_ptr<sluice_work_t> owned(work);
  const ContextScope scope(owned->context);
  return scope.result() == SLUICE_SUCCESS ? give_back(*owned) : scope.result();
}

}  // namespace sluice::backends::cuda
