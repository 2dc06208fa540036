// SPDX-License-Identifier: BSD-3-Clause
// What a benchmark has kernels do: look at memory where it lies, and keep a device busy.
#include <algorithm>
#include <memory>
#include <new>
#include <string>
#include <vector>

#include "../memory_check.h"
#include "launch.h"
#include "work.hpp"

namespace sluice::backends::hip {
namespace {

// The kernel for the program's current device.
sluice_result_t find_here(const KernelBody &body, int32_t *device, Kernel *kernel) {
  int current = 0;
  const sluice_result_t result = translate("hipGetDevice", g_runtime.hipGetDevice(&current));
  if (result != SLUICE_SUCCESS) return result;
  *device = current;
  if (!can_run_kernels(current)) {
    return fail(SLUICE_ERROR_UNSUPPORTED, "no kernels here: the runtime's compiler (libhiprtc) is not there");
  }
  return find_kernel(current, body, kernel);
}

// Memory and a stream of the current device, given back in one go; the first error is the one to tell.
class Resources {
 public:
  Resources() = default;
  ~Resources() { static_cast<void>(give_back()); }
  Resources(const Resources &) = delete;
  Resources &operator=(const Resources &) = delete;

  // flags: hipStreamDefault for a stream that comes behind what the program does in the default one.
  sluice_result_t make(size_t size_bytes, unsigned flags) {
    const sluice_result_t result = program_alloc(SLUICE_MEMORY_DEVICE, size_bytes, &memory_);
    if (result != SLUICE_SUCCESS) return result;
    return translate("hipStreamCreateWithFlags", g_runtime.hipStreamCreateWithFlags(&stream_, flags));
  }
  sluice_result_t give_back() {
    sluice_result_t result = SLUICE_SUCCESS;
    const auto note = [&result](sluice_result_t next) { result = result == SLUICE_SUCCESS ? next : result; };
    if (stream_ != nullptr) {
      note(wait());
      note(translate("hipStreamDestroy", g_runtime.hipStreamDestroy(stream_)));
      stream_ = nullptr;
    }
    if (memory_ != nullptr) note(translate("hipFree", g_runtime.hipFree(memory_)));
    memory_ = nullptr;
    return result;
  }
  sluice_result_t wait() const { return translate("hipStreamSynchronize", g_runtime.hipStreamSynchronize(stream_)); }
  void *memory() const { return memory_; }
  hipStream_t stream() const { return stream_; }

 private:
  void *memory_ = nullptr;
  hipStream_t stream_ = nullptr;
};

sluice_result_t run_check(const sluice_memory_check_t &check, const Kernel &kernel, sluice_check_finding_t *finding) {
  const uint64_t n_wanted = CheckTables::n_words(check) / kBlockThreads + 1;
  const auto n_blocks = static_cast<unsigned>(std::min<uint64_t>(n_wanted, kernel.most_blocks));
  const size_t n_items = size_t{n_blocks} * kBlockThreads;
  std::vector<uint64_t> image(CheckTables::size_bytes(check, n_items) / sizeof(uint64_t));
  kernels::CheckTask task = CheckTables::fill(check, n_items, image.data());
  Resources tables;
  sluice_result_t result = tables.make(image.size() * sizeof(uint64_t), hipStreamDefault);
  if (result != SLUICE_SUCCESS) return result;
  task = CheckTables::moved(task, image.data(), tables.memory());
  result = program_copy(tables.memory(), image.data(), image.size() * sizeof(uint64_t));
  if (result == SLUICE_SUCCESS) result = launch_in(tables.stream(), kernel, n_blocks, kBlockThreads, &task);
  if (result == SLUICE_SUCCESS) result = tables.wait();
  if (result == SLUICE_SUCCESS) {
    result = program_copy(image.data(), tables.memory(), n_items * sizeof(kernels::CheckShare));
  }
  if (result != SLUICE_SUCCESS) return result;
  *finding = CheckTables::finding(reinterpret_cast<const kernels::CheckShare *>(image.data()), n_items);
  return tables.give_back();
}

}  // namespace

sluice_result_t check_memory(const sluice_memory_check_t *check, sluice_check_finding_t *finding) {
  const Outcome known = examine_check(check, finding);
  if (!known.is_success()) return fail(known.result, known.text);
  *finding = {kernels::kNothingWrong, 0};
  if (check->n_segments == 0) return SLUICE_SUCCESS;
  int32_t device = 0;
  Kernel kernel;
  const sluice_result_t result = find_here(check_body(), &device, &kernel);
  return result == SLUICE_SUCCESS ? run_check(*check, kernel, finding) : result;
}

}  // namespace sluice::backends::hip

// A stream of its own, and memory for what the items leave.
struct sluice_work {
  int32_t device = 0;
  sluice::backends::hip::Kernel kernel;
  sluice::backends::hip::Resources resources;
};

namespace sluice::backends::hip {

// One block of a moderate size on each processor: all of them are busy, and none is full.
static constexpr unsigned kWorkThreads = 128;

sluice_result_t work_create(sluice_work_t **work) {
  *work = nullptr;
  std::unique_ptr<sluice_work_t> made(new (std::nothrow) sluice_work_t());
  if (made == nullptr) return fail(SLUICE_ERROR_OUT_OF_MEMORY, "no memory for what keeps a device busy");
  sluice_result_t result = find_here(work_body(), &made->device, &made->kernel);
  const size_t n_items = size_t{made->kernel.n_processors} * kWorkThreads;
  if (result == SLUICE_SUCCESS) result = made->resources.make(n_items * sizeof(uint64_t), hipStreamNonBlocking);
  if (result == SLUICE_SUCCESS) *work = made.release();
  return result;
}

sluice_result_t work_enqueue(sluice_work_t *work, uint64_t n_steps) {
  const DeviceScope scope(work->device);
  if (scope.result() != SLUICE_SUCCESS) return scope.result();
  kernels::WorkTask task = {n_steps, static_cast<uint64_t *>(work->resources.memory())};
  return launch_in(work->resources.stream(), work->kernel, work->kernel.n_processors, kWorkThreads, &task);
}

sluice_result_t work_wait(sluice_work_t *work, uint64_t *result) {
  const DeviceScope scope(work->device);
  if (scope.result() != SLUICE_SUCCESS) return scope.result();
  const sluice_result_t ended = work->resources.wait();
  if (ended != SLUICE_SUCCESS || result == nullptr) return ended;
  return program_copy(result, work->resources.memory(), sizeof(*result));
}

sluice_result_t work_destroy(sluice_work_t *work) {
  const std::unique_ptr<sluice_work_t> owned(work);
  const DeviceScope scope(owned->device);
  if (scope.result() != SLUICE_SUCCESS) return scope.result();
  return owned->resources.give_back();
}

}  // namespace sluice::backends::hip
