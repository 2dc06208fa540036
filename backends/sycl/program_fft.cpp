// SPDX-License-Identifier: BSD-3-Clause
// Fourier transforms for programs, on devices that are the host's cores: the host's library, run by the queue.
#include "sluice/program_fft.h"

#include <memory>
#include <string>
#include <utility>

#include "../host_fft.h"
#include "runtime.h"

struct sluice_program_fft_plan {
  std::unique_ptr<sluice::backends::HostTransforms> transforms;
  ::sycl::queue *queue;
};

namespace sluice::backends::sycl {
namespace {

sluice_result_t check_is_cpu(const ::sycl::device &device) {
  if (device.is_cpu()) return SLUICE_SUCCESS;
  return fail(SLUICE_ERROR_UNSUPPORTED,
              "this module transforms on CPU devices only, by the host's library: it does not call oneMKL for other "
              "devices");
}

const char *library() {
  const int32_t device = program_device();
  const char *name = nullptr;
  guarded("library for transforms", [&] {
    sluice_result_t result = check_device(device);
    if (result == SLUICE_SUCCESS) result = check_is_cpu(Runtime::start().devices()[static_cast<size_t>(device)]);
    if (result != SLUICE_SUCCESS) return result;
    std::string error;
    name = HostTransforms::library(&error);
    return name != nullptr ? SLUICE_SUCCESS : fail(SLUICE_ERROR_UNSUPPORTED, error);
  });
  return name;
}

sluice_result_t plan_create(void *native, const sluice_program_fft_batch_t *batch, sluice_program_fft_plan_t **plan) {
  auto *queue = static_cast<::sycl::queue *>(native);
  return guarded("plan for transforms", [&] {
    const sluice_result_t result = check_is_cpu(queue->get_device());
    if (result != SLUICE_SUCCESS) return result;
    std::string error;
    auto transforms = HostTransforms::make(*batch, &error);
    if (!transforms) return fail(SLUICE_ERROR_UNSUPPORTED, error);
    *plan = new sluice_program_fft_plan{std::move(transforms), queue};
    return SLUICE_SUCCESS;
  });
}

sluice_result_t plan_destroy(sluice_program_fft_plan_t *plan) {
  delete plan;
  return SLUICE_SUCCESS;
}

// Memory of a CPU device is the host's.
sluice_result_t enqueue(sluice_program_fft_plan_t *plan, void *data, int32_t is_inverse) {
  return guarded("transforms", [&] {
    plan->queue->submit([&](::sycl::handler &handler) {
      handler.host_task(
          [transforms = plan->transforms.get(), data, is_inverse] { transforms->run(data, is_inverse != 0); });
    });
    return SLUICE_SUCCESS;
  });
}

constexpr sluice_program_fft_t kTransforms = {
    .api_version = SLUICE_PROGRAM_FFT_API_VERSION,
    .struct_size = sizeof(sluice_program_fft_t),
    .library = library,
    .plan_create = plan_create,
    .plan_destroy = plan_destroy,
    .enqueue = enqueue,
};

}  // namespace
}  // namespace sluice::backends::sycl

extern "C" __attribute__((visibility("default"))) const sluice_program_fft_t *sluice_backend_program_fft() {
  return &sluice::backends::sycl::kTransforms;
}
