// SPDX-License-Identifier: BSD-3-Clause
// Fourier transforms for programs: the host's library, run by the device's queues.
#include "sluice/testing/program_fft.h"

#include <string>

#include "../host_fft.h"
#include "module.h"

struct sluice_program_fft_plan {
  std::unique_ptr<sluice::backends::HostTransforms> transforms;
  emu_queue_t *queue;
};

namespace sluice::backends::emu {
namespace {

// The arguments of a launch, which the queue keeps.
struct Launch {
  const HostTransforms *transforms;
  bool is_inverse;
};

void run(const void *arguments, void *const *memory) {
  const auto *launch = static_cast<const Launch *>(arguments);
  launch->transforms->run(memory[0], launch->is_inverse);
}

const char *library() {
  std::string error;
  const char *name = HostTransforms::library(&error);
  if (name == nullptr) fail(SLUICE_ERROR_UNSUPPORTED, error);
  return name;
}

sluice_result_t plan_create(void *native, const sluice_program_fft_batch_t *batch, sluice_program_fft_plan_t **plan) {
  std::string error;
  auto transforms = HostTransforms::make(*batch, &error);
  if (!transforms) return fail(SLUICE_ERROR_UNSUPPORTED, error);
  *plan = new sluice_program_fft_plan{std::move(transforms), static_cast<emu_queue_t *>(native)};
  return SLUICE_SUCCESS;
}

sluice_result_t plan_destroy(sluice_program_fft_plan_t *plan) {
  delete plan;
  return SLUICE_SUCCESS;
}

sluice_result_t enqueue(sluice_program_fft_plan_t *plan, void *data, int32_t is_inverse) {
  const Launch launch{plan->transforms.get(), is_inverse != 0};
  const emu_range_t range{data, plan->transforms->size_bytes()};
  return translate(emu_launch_async(plan->queue, run, &launch, sizeof(launch), &range, 1, 1));
}

}  // namespace
}  // namespace sluice::backends::emu

#define SLUICE_MODULE_NAMESPACE emu
#include "../exported_program_fft.inc"
