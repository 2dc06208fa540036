// SPDX-License-Identifier: BSD-3-Clause
// The sides of a program's stream: messages that go there run as soon as what precedes them in the program's stream is
// done, beside what follows it (docs/adr/0052).
#include "stream.h"
#include "waits.h"

namespace sluice::backends::cuda {

namespace {

sluice_result_t make(StreamSide *side) {
  int least = 0;
  int greatest = 0;
  // First of all that is ready: its kernels are short, and somebody waits for them.
  sluice_result_t result =
      translate("cuCtxGetStreamPriorityRange", g_driver.cuCtxGetStreamPriorityRange(&least, &greatest));
  if (result != SLUICE_SUCCESS) return result;
  result = translate("cuStreamCreateWithPriority",
                     g_driver.cuStreamCreateWithPriority(&side->stream, CU_STREAM_NON_BLOCKING, greatest));
  for (CUevent *event : {&side->before, &side->behind}) {
    if (result == SLUICE_SUCCESS) {
      result = translate("cuEventCreate", g_driver.cuEventCreate(event, CU_EVENT_DISABLE_TIMING));
    }
  }
  return result;
}

}  // namespace

// A side that shares a connection with a stream of the program's that waits would stand behind it, where a send in the
// stream itself would not.
sluice_result_t side_open(const sluice_stream &stream, StreamSide *side) {
  if (side->stream != nullptr) return SLUICE_SUCCESS;
  const bool has_functions = g_driver.cuCtxGetStreamPriorityRange != nullptr &&
                             g_driver.cuStreamCreateWithPriority != nullptr && g_driver.cuStreamWaitEvent != nullptr;
  if (side->is_refused || !has_functions || has_few_connections(stream.device)) {
    side->is_refused = true;
    return fail(
        SLUICE_ERROR_UNSUPPORTED,
        "this stream has no side for messages: the driver has no such streams, or the multi-process service gives "
        "few connections (set CUDA_DEVICE_MAX_CONNECTIONS=32)");
  }
  const Quiet quiet;
  if (!quiet.is_kept()) return fail(SLUICE_NOT_READY, "the side is made when no stream waits (docs/adr/0032)");
  const sluice_result_t result = make(side);
  if (result == SLUICE_SUCCESS) return result;
  log_line(3, error_text());
  if (side_close(side) != SLUICE_SUCCESS) log_line(1, error_text());
  side->is_refused = true;
  return result;
}

sluice_result_t side_follow(const sluice_stream &stream, const StreamSide &side) {
  return stream_wait_for(side.before, stream.stream, side.stream);
}

sluice_result_t side_follow_with_sends(const sluice_stream &stream) {
  return translate("cuStreamWaitEvent",
                   g_driver.cuStreamWaitEvent(stream.receiving_side.stream, stream.side.before, 0));
}

// Each wait for an event keeps the program's stream a microsecond, so that waits for one only: the side of receives,
// which has more to wait for, waits for the other.
sluice_result_t side_join_both(const sluice_stream &stream) {
  const StreamSide &receiving = stream.receiving_side;
  const sluice_result_t result = stream_wait_for(stream.side.behind, stream.side.stream, receiving.stream);
  return result == SLUICE_SUCCESS ? side_join(stream, receiving) : result;
}

sluice_result_t side_join(const sluice_stream &stream, const StreamSide &side) {
  return stream_wait_for(side.behind, side.stream, stream.stream);
}

// The driver keeps a stream and its events until what is under way there has run.
sluice_result_t side_close(StreamSide *side) {
  sluice_result_t result = graphs_close(&side->graphs);
  const auto close = [&](const char *call, CUresult native) {
    if (native != CUDA_SUCCESS && result == SLUICE_SUCCESS) result = translate(call, native);
  };
  if (side->stream != nullptr) close("cuStreamDestroy", g_driver.cuStreamDestroy(side->stream));
  for (const CUevent event : {side->before, side->behind}) {
    if (event != nullptr) close("cuEventDestroy", g_driver.cuEventDestroy(event));
  }
  *side = {};
  return result;
}

}  // namespace sluice::backends::cuda
