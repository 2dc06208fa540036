// SPDX-License-Identifier: BSD-3-Clause
// Owns the order between the program's blocking copies and this module's queues.
//
// A blocking copy from pageable memory may return while its last part is still on its way to the device (CUDA driver
// API, "API synchronization behavior"), in the program's default stream, with which the module's streams are not
// ordered: a copy down right after it could read what was there before. Seen on H200: the last bytes of 1 MiB were old.
//
// The driver can be told to finish such copies before they return, one allocation at a time (SYNC_MEMOPS). That holds
// for those to come. Those that are on their way when an allocation is first seen are waited for: they are the first
// work in the default stream, because the program was blocked until all before was done, so they end within the time of
// one staging buffer, whatever the program has launched since.
#include <array>
#include <atomic>
#include <chrono>
#include <iterator>

#include "module.h"
#include "waits.h"

namespace sluice::backends::cuda {

namespace {

// Several times what the driver's staging buffers take over the bus; not longer, since the stream may also be busy with
// a kernel of the program that waits for this very message.
constexpr std::chrono::microseconds kPatience{300};

// Allocations whose copies are finished on return, by a hash of their number, which the driver uses only once: twice
// the number, plus one for pieces. An entry that is replaced by another is found out anew.
constexpr size_t kEntries = 4096;
std::array<std::atomic<unsigned long long>, kEntries> g_settled;

std::atomic<unsigned long long> &entry_of(unsigned long long buffer_id) {
  return g_settled[(buffer_id * 0x9E3779B97F4A7C15ULL) >> 52U];
}

void wait_for(CUstream stream) {
  const auto begin = std::chrono::steady_clock::now();
  // Anything but "not ready" ends the wait: an error is for the copy itself to say.
  while (g_driver.cuStreamQuery(stream) == CUDA_ERROR_NOT_READY &&
         std::chrono::steady_clock::now() - begin < kPatience) {
    __builtin_ia32_pause();
  }
}

// Whether the thread's own default stream can be asked. The first question of a thread makes the stream, and the driver
// may hold that up while a stream waits (docs/adr/0032). `context` is current.
bool can_ask_own_stream(CUcontext context) {
  thread_local CUcontext asked_in = nullptr;
  if (asked_in == context) return true;
  const Quiet quiet;
  if (!quiet.is_kept()) return false;
  static_cast<void>(g_driver.cuStreamQuery(CU_STREAM_PER_THREAD));
  asked_in = context;
  return true;
}

// Where the stream cannot be asked, the longest time that a copy may take passes.
void wait_for_own_stream(CUcontext context) {
  if (can_ask_own_stream(context)) return wait_for(CU_STREAM_PER_THREAD);
  const auto end = std::chrono::steady_clock::now() + kPatience;
  while (std::chrono::steady_clock::now() < end) __builtin_ia32_pause();
}

// For memory that does not take the attribute, or takes it without effect (of cuMemCreate, of stream-ordered pools):
// all blocking copies of the current context finish before they return, from now on. Waiting for them would not do:
// where processes share a device, a copy may wait for milliseconds for its turn (seen on H200).
bool tell_context() {
#if CUDA_VERSION >= 12010
  unsigned flags = 0;
  if (g_driver.cuCtxGetFlags == nullptr || g_driver.cuCtxSetFlags == nullptr ||
      g_driver.cuCtxGetFlags(&flags) != CUDA_SUCCESS) {
    return false;
  }
  return (flags & CU_CTX_SYNC_MEMOPS) != 0 || g_driver.cuCtxSetFlags(flags | CU_CTX_SYNC_MEMOPS) == CUDA_SUCCESS;
#else
  return false;
#endif
}

enum class Origin { kPlain, kPool, kPieces };

// Memory of cuMemCreate is of no context, or made to be exported otherwise than by the driver's own handles.
Origin origin_of(CUdeviceptr address) {
  CUcontext context = nullptr;
  CUmemoryPool pool = nullptr;
  unsigned has_driver_handle = 1;
  unsigned long long handle_types = 0;
  CUpointer_attribute attributes[] = {CU_POINTER_ATTRIBUTE_CONTEXT, CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE,
                                      CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE,
                                      CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES};
  void *values[] = {&context, &pool, &has_driver_handle, &handle_types};
  const CUresult native = g_driver.cuPointerGetAttributes(std::size(attributes), attributes, values, address);
  if (native != CUDA_SUCCESS) return Origin::kPlain;
  if (pool != nullptr) return Origin::kPool;
  return has_driver_handle == 0 && (context == nullptr || handle_types != 0) ? Origin::kPieces : Origin::kPlain;
}

}  // namespace

bool settle(const void *address, unsigned long long buffer_id) {
  std::atomic<unsigned long long> &entry = entry_of(buffer_id);
  const unsigned long long known = entry.load(std::memory_order_acquire);
  if (known >> 1U == buffer_id && known != 0) return (known & 1U) != 0;
  const auto pointer = reinterpret_cast<CUdeviceptr>(address);
  const Origin origin = origin_of(pointer);
  const bool is_of_pieces = origin == Origin::kPieces;
  // Memory that belongs to no context (of cuMemCreate) was copied to in the thread's current one.
  CUcontext context = nullptr;
  if (g_driver.cuPointerGetAttribute(&context, CU_POINTER_ATTRIBUTE_CONTEXT, pointer) != CUDA_SUCCESS ||
      context == nullptr) {
    if (g_driver.cuCtxGetCurrent(&context) != CUDA_SUCCESS || context == nullptr) return is_of_pieces;
  }
  const ContextScope scope(context);
  if (scope.result() != SLUICE_SUCCESS) return is_of_pieces;
  unsigned is_on = 1;
  const bool takes_attribute =
      origin == Origin::kPlain &&
      g_driver.cuPointerSetAttribute(&is_on, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, pointer) == CUDA_SUCCESS;
  const bool is_told = takes_attribute || tell_context();
  wait_for(CU_STREAM_LEGACY);
  wait_for_own_stream(context);
  // With a driver that has neither, it is waited for each time.
  if (is_told) entry.store(buffer_id << 1U | (is_of_pieces ? 1U : 0U), std::memory_order_release);
  return is_of_pieces;
}

// A wait that fails is no error here: the device's fault shows in the copy, in the driver's words.
void wait_for_program(const void *address) {
  CUcontext context = nullptr;
  const auto pointer = reinterpret_cast<CUdeviceptr>(address);
  if (g_driver.cuPointerGetAttribute(&context, CU_POINTER_ATTRIBUTE_CONTEXT, pointer) != CUDA_SUCCESS ||
      context == nullptr) {
    if (g_driver.cuCtxGetCurrent(&context) != CUDA_SUCCESS || context == nullptr) return;
  }
  const ContextScope scope(context);
  if (scope.result() != SLUICE_SUCCESS) return;
  if (g_sync_mode == SyncMode::kDevice) {
    if (g_driver.cuCtxSynchronize() != CUDA_SUCCESS) log_line(3, "cuCtxSynchronize failed");
    return;
  }
  for (const CUstream stream : {CU_STREAM_LEGACY, CU_STREAM_PER_THREAD}) {
    if (g_driver.cuStreamSynchronize(stream) != CUDA_SUCCESS) log_line(3, "cuStreamSynchronize failed");
  }
}

}  // namespace sluice::backends::cuda
