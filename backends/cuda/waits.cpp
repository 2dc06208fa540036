// SPDX-License-Identifier: BSD-3-Clause
// The waits that are noted, and memory that is given back later.
#include "waits.h"

#include <utility>

namespace sluice::backends::cuda {

void wait_enqueued(const uint64_t *word, uint64_t least) {
  note_wait(word, least);
}

void waits_enqueued(std::span<const sluice_stream_receive_t> receives) {
  note_waits(receives);
}

sluice_result_t give_back_now(int32_t device, const char *name, CUresult when_gone,
                              const std::function<CUresult()> &call) {
  CUcontext context = nullptr;
  bool is_retained = false;
  if (find_context(device, &context, &is_retained) != SLUICE_SUCCESS) return SLUICE_SUCCESS;
  sluice_result_t result = SLUICE_SUCCESS;
  {
    const ContextScope scope(context);
    const CUresult native = scope.result() == SLUICE_SUCCESS ? call() : CUDA_ERROR_INVALID_CONTEXT;
    const bool is_gone = native == CUDA_ERROR_DEINITIALIZED || native == CUDA_ERROR_CONTEXT_IS_DESTROYED ||
                         native == CUDA_ERROR_INVALID_CONTEXT || native == when_gone;
    result = is_gone ? SLUICE_SUCCESS : translate(name, native);
  }
  release_context(device, is_retained);
  return result;
}

sluice_result_t give_back(int32_t device, const char *name, CUresult when_gone, std::function<CUresult()> call) {
  {
    const Quiet quiet;
    if (quiet.is_kept()) return give_back_now(device, name, when_gone, call);
  }
  release_later([device, name, when_gone, call = std::move(call)] {
    if (give_back_now(device, name, when_gone, call) != SLUICE_SUCCESS) log_line(1, error_text());
  });
  return SLUICE_SUCCESS;
}

}  // namespace sluice::backends::cuda
