// SPDX-License-Identifier: BSD-3-Clause
// What a benchmark asks besides the contract: memory in use, memory looked at in place, and work.
#include "sluice/testing/probe.h"

#include <algorithm>
#include <functional>
#include <memory>

#include "../memory_check.h"
#include "check_kernel.h"
#include "runtime.h"

// A queue of its own, and memory for what the items leave, which the host reads.
struct sluice_work {
  ::sycl::queue queue;
  ::sycl::kernel kernel;
  std::unique_ptr<uint64_t, std::function<void(uint64_t *)>> results;
  size_t n_items;
  size_t group;
};

namespace sluice::backends::sycl {
namespace {

constexpr size_t kGroupItems = 128;
constexpr size_t kMostItems = 16384;

// The device itself, by all processes; only GPUs tell.
sluice_result_t memory_in_use(int32_t device, uint64_t *size_bytes) {
  const sluice_result_t known = check_device(device);
  if (known != SLUICE_SUCCESS) return known;
  return guarded("get_info", [&] {
    const ::sycl::device &of = Runtime::start().devices()[static_cast<size_t>(device)];
    if (!of.has(::sycl::aspect::ext_intel_free_memory)) {
      return fail(SLUICE_ERROR_UNSUPPORTED, "the runtime does not tell how much memory of this device is free");
    }
    const uint64_t all_bytes = of.get_info<::sycl::info::device::global_mem_size>();
    *size_bytes = all_bytes - of.get_info<::sycl::ext::intel::info::device::free_memory>();
    return SLUICE_SUCCESS;
  });
}

size_t items_for(const ::sycl::device &device, uint64_t n_words) {
  const size_t group = std::min(kGroupItems, device.get_info<::sycl::info::device::max_work_group_size>());
  const size_t n_wanted = static_cast<size_t>(std::min<uint64_t>(n_words, kMostItems));
  return std::max<size_t>(1, (n_wanted + group - 1) / group) * group;
}

sluice_result_t run(int32_t index, const sluice_memory_check_t &check, sluice_check_finding_t *finding) {
  const ::sycl::device &device = Runtime::start().devices()[static_cast<size_t>(index)];
  const ::sycl::context &context = Runtime::start().default_context(index).context;
  std::optional<::sycl::kernel> kernel;
  const sluice_result_t found = find_probe_kernel(ProbeKernel::kCheck, context, device, &kernel);
  if (found != SLUICE_SUCCESS) return found;
  const size_t n_items = items_for(device, CheckTables::n_words(check));
  const size_t group = std::min(kGroupItems, device.get_info<::sycl::info::device::max_work_group_size>());
  const auto give_back = [&context](void *memory) { ::sycl::free(memory, context); };
  const std::unique_ptr<void, decltype(give_back)> tables(
      ::sycl::malloc_host(CheckTables::size_bytes(check, n_items), context), give_back);
  if (tables == nullptr) return fail(SLUICE_ERROR_OUT_OF_MEMORY, "malloc_host gave no memory for the check's tables");
  const kernels::CheckTask task = CheckTables::fill(check, n_items, tables.get());
  ::sycl::queue queue(context, device, ::sycl::property::queue::in_order());
  queue
      .submit([&](::sycl::handler &handler) {
        set_task(&handler, task);
        handler.parallel_for(::sycl::nd_range<1>(n_items, group), *kernel);
      })
      .wait_and_throw();
  *finding = CheckTables::finding(task.shares, n_items);
  return SLUICE_SUCCESS;
}

sluice_result_t check_memory(const sluice_memory_check_t *check, sluice_check_finding_t *finding) {
  const Outcome known = examine_check(check, finding);
  if (!known.is_success()) return fail(known.result, known.text);
  *finding = {kernels::kNothingWrong, 0};
  const int32_t device = program_device();
  const sluice_result_t there = check_device(device);
  if (there != SLUICE_SUCCESS || check->n_segments == 0) return there;
  return guarded("check of memory", [&] { return run(device, *check, finding); });
}

// One group on each of the device's units: all of them are busy, and none is full.
sluice_result_t make_work(int32_t index, sluice_work_t **work) {
  const ::sycl::device &device = Runtime::start().devices()[static_cast<size_t>(index)];
  const ::sycl::context &context = Runtime::start().default_context(index).context;
  std::optional<::sycl::kernel> kernel;
  const sluice_result_t found = find_probe_kernel(ProbeKernel::kWork, context, device, &kernel);
  if (found != SLUICE_SUCCESS || !kernel) return found;
  const size_t group = std::min(kGroupItems, device.get_info<::sycl::info::device::max_work_group_size>());
  const size_t n_items = group * std::max<size_t>(1, device.get_info<::sycl::info::device::max_compute_units>());
  auto *const memory = ::sycl::malloc_host<uint64_t>(n_items, context);
  if (memory == nullptr) return fail(SLUICE_ERROR_OUT_OF_MEMORY, "malloc_host gave no memory for the work's results");
  const auto give_back = [context](uint64_t *results) { ::sycl::free(results, context); };
  *work = new sluice_work_t{::sycl::queue(context, device, ::sycl::property::queue::in_order()),
                            *kernel,
                            {memory, give_back},
                            n_items,
                            group};
  return SLUICE_SUCCESS;
}

sluice_result_t work_create(sluice_work_t **work) {
  *work = nullptr;
  const int32_t device = program_device();
  const sluice_result_t there = check_device(device);
  return there == SLUICE_SUCCESS ? guarded("work", [&] { return make_work(device, work); }) : there;
}

sluice_result_t work_enqueue(sluice_work_t *work, uint64_t n_steps) {
  return guarded("work", [&] {
    work->queue.submit([&](::sycl::handler &handler) {
      set_task(&handler, kernels::WorkTask{n_steps, work->results.get()});
      handler.parallel_for(::sycl::nd_range<1>(work->n_items, work->group), work->kernel);
    });
    return SLUICE_SUCCESS;
  });
}

sluice_result_t work_wait(sluice_work_t *work, uint64_t *result) {
  return guarded("work", [&] {
    work->queue.wait_and_throw();
    if (result != nullptr) *result = *work->results;
    return SLUICE_SUCCESS;
  });
}

sluice_result_t work_destroy(sluice_work_t *work) {
  const std::unique_ptr<sluice_work_t> owned(work);
  return work_wait(work, nullptr);
}

}  // namespace
}  // namespace sluice::backends::sycl

#define SLUICE_MODULE_NAMESPACE sycl
#include "../exported_probe.inc"
