// SPDX-License-Identifier: BSD-3-Clause
// Triggers and waits by kernels of one work-item (SLUICE_CUDA_STREAMS), as arXiv 2208.04817, section V.F has
// them beside the driver's operations.
#include "kernels.h"
#include "presence.h"
#include "signal.hpp"
#include "stream.h"

namespace sluice::backends::cuda {
namespace {

constexpr KernelText kTrigger =
#include "trigger.inc"
    ;
constexpr KernelText kAwait =
#include "await.inc"
    ;

sluice_result_t launch(sluice_stream *stream, const KernelText &text, const Kernel &kernel, CUdeviceptr address,
                       uint64_t value) {
  kernels::SignalTask task = {reinterpret_cast<volatile uint64_t *>(address), value};
  return launch_kernel({&text, kernel.function, 1, 1, &task}, graphs_of(stream), stream->stream);
}

void prepare(const KernelText &text, const Kernel &kernel, KernelGraphs *graphs) {
  kernels::SignalTask task = {};
  prepare_graph({&text, kernel.function, 1, 1, &task}, graphs);
}

}  // namespace

sluice_result_t prepare_signals(sluice_stream *stream) {
  if (!can_run_kernels(stream->device)) {
    return fail(SLUICE_ERROR_UNSUPPORTED,
                "this device or its driver does not run kernels of this module; set "
                "SLUICE_CUDA_STREAMS=auto");
  }
  sluice_result_t result = find_kernel(kTrigger, stream->device, &stream->trigger);
  if (result == SLUICE_SUCCESS) result = find_kernel(kAwait, stream->device, &stream->await);
  if (result != SLUICE_SUCCESS) return result;
  if (g_signals == Signals::kKernels) prepare(kTrigger, stream->trigger, graphs_of(stream));
  prepare(kAwait, stream->await, graphs_of(stream));
  return SLUICE_SUCCESS;
}

// Processes that share a device have it by turns of milliseconds, and a kernel that waits takes the whole of its turn;
// not with the vendor's multi-process service.
bool waits_by_kernel(sluice_stream *stream) {
  constexpr uint64_t kWaitsBetweenLooks = 256;
  if (g_signals != Signals::kAuto) return g_signals == Signals::kKernels;
  if (stream->await.function == nullptr) return false;
  if (stream->n_waits++ % kWaitsBetweenLooks == 0) {
    stream->has_no_turns = is_alone(stream->device) || is_shared_at_once(stream->device);
  }
  return stream->has_no_turns;
}

sluice_result_t launch_trigger(sluice_stream *stream, CUdeviceptr address, uint64_t value) {
  return launch(stream, kTrigger, stream->trigger, address, value);
}

sluice_result_t launch_await(sluice_stream *stream, CUdeviceptr address, uint64_t least) {
  return launch(stream, kAwait, stream->await, address, least);
}

}  // namespace sluice::backends::cuda
