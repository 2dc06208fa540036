// SPDX-License-Identifier: BSD-3-Clause
// The table of the driver-based backend, its life, and its errors.
#include "module.h"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <string>
#include <utility>

#include "../knob_range.h"
#include "piece_socket.h"
#include "waits.h"

namespace sluice::backends::cuda {

Driver g_driver;
IpcChoice g_ipc_choice;
SyncMode g_sync_mode = SyncMode::kNone;
Launches g_launches = Launches::kGraph;
Signals g_signals = Signals::kAuto;
ProgramMemory g_program_memory = ProgramMemory::kPlain;
std::string g_nccl;

namespace {

constexpr sluice_backend_knob_t kKnobs[] = {
#define CUDA_KNOB(name, default_value, range, doc) {"SLUICE_CUDA_" #name, default_value, doc},
#include "knobs.def"
#undef CUDA_KNOB
};

constexpr Knob kRanges[] = {
#define CUDA_KNOB(name, default_value, range, doc) {"SLUICE_CUDA_" #name, default_value, range},
#include "knobs.def"
#undef CUDA_KNOB
};

// The knob's text, its default when the host says nothing.
std::string_view knob_text(const char *name) {
  return find_in_force(g_services, kRanges, name);
}

// The value that one of a knob's words stands for.
template <typename Value, size_t n>
void read_word(const char *name, const std::pair<std::string_view, Value> (&words)[n], Value *value) {
  const std::string_view text = knob_text(name);
  for (const auto &[word, meaning] : words) {
    if (word == text) *value = meaning;
  }
}

void read_ipc_choice() {
  std::string_view text = knob_text("SLUICE_CUDA_IPC");
  const bool is_all = text == "auto";
  g_ipc_choice = {is_all, is_all, is_all};
  while (!text.empty()) {
    const std::string_view word = text.substr(0, text.find(','));
    g_ipc_choice.driver |= word == "driver";
    g_ipc_choice.fabric |= word == "fabric";
    g_ipc_choice.descriptor |= word == "fd";
    text.remove_prefix(std::min(word.size() + 1, text.size()));
  }
}

void read_knobs() {
  static constexpr std::pair<std::string_view, SyncMode> kSyncs[] = {
      {"none", SyncMode::kNone}, {"default", SyncMode::kDefault}, {"device", SyncMode::kDevice}};
  static constexpr std::pair<std::string_view, Signals> kSignals[] = {
      {"auto", Signals::kAuto}, {"memory", Signals::kMemory}, {"kernels", Signals::kKernels}, {"off", Signals::kNone}};
  static constexpr std::pair<std::string_view, Launches> kLaunches[] = {{"kernel", Launches::kKernel},
                                                                        {"graph", Launches::kGraph}};
  read_word("SLUICE_CUDA_SYNC", kSyncs, &g_sync_mode);
  read_word("SLUICE_CUDA_LAUNCH", kLaunches, &g_launches);
  read_word("SLUICE_CUDA_STREAMS", kSignals, &g_signals);
  read_ipc_choice();
}

// What benchmarks and tests say, who are programs that use the module beside Sluice: no knobs of Sluice.
void read_variables_of_programs() {
  static constexpr std::pair<std::string_view, ProgramMemory> kMemories[] = {
      {"plain", ProgramMemory::kPlain},
      {"pieces", ProgramMemory::kPieces},
      {"fabric_pieces", ProgramMemory::kFabricPieces},
      {"private_pieces", ProgramMemory::kPrivatePieces},
      {"pool", ProgramMemory::kPool}};
  const char *memory = std::getenv("SLUICE_BENCH_CUDA_MEMORY");  // NOLINT(concurrency-mt-unsafe): as the knobs
  const auto *const known = std::ranges::find(kMemories, memory != nullptr ? memory : "plain",
                                              &std::pair<std::string_view, ProgramMemory>::first);
  if (known == std::end(kMemories)) {
    log_line(1, (std::string("SLUICE_BENCH_CUDA_MEMORY is ") + memory +
                 "; allowed is plain|pieces|fabric_pieces|private_pieces|pool; plain is used")
                    .c_str());
  }
  g_program_memory = known != std::end(kMemories) ? known->second : ProgramMemory::kPlain;
  const char *nccl = std::getenv("SLUICE_BENCH_NCCL");  // NOLINT(concurrency-mt-unsafe): as the knobs
  g_nccl = nccl != nullptr ? nccl : "libnccl.so.2";
}

std::atomic<int> g_n_users{0};  // that called init() and not fini() yet

// A driver that the program has loaded and not initialised stays so until a device is asked for. A driver that nobody
// loaded is loaded here: the module is opened then only because the user named it.
sluice_result_t init(const sluice_host_services_t *services) {
  g_services = services;
  report_wrong_knobs(services, kRanges);
  read_knobs();
  read_variables_of_programs();
  std::string why = open_driver(&g_driver, false);
  const bool is_loaded_here = !why.empty();
  if (is_loaded_here) why = open_driver(&g_driver, true);
  if (!why.empty()) return fail(SLUICE_ERROR_NO_DEVICE, why);
  int count = 0;
  const CUresult native = g_driver.cuDeviceGetCount(&count);
  const bool is_idle = native == CUDA_ERROR_NOT_INITIALIZED && !is_loaded_here;
  if (!is_idle && device_count() <= 0) return SLUICE_ERROR_NO_DEVICE;
  ++g_n_users;
  return SLUICE_SUCCESS;
}

// Queues and memory belong to their users and retained contexts to their queues; the module itself holds the thread
// that hands memory over.
void fini() {
  run_releases();
  if (--g_n_users <= 0) stop_serving_pieces();
  g_services = nullptr;
}

}  // namespace

sluice_result_t translate(const char *call, CUresult native) {
  switch (native) {
    case CUDA_SUCCESS:
      return SLUICE_SUCCESS;
    case CUDA_ERROR_OUT_OF_MEMORY:
      return fail(SLUICE_ERROR_OUT_OF_MEMORY, native_text(g_driver, call, native));
    case CUDA_ERROR_INVALID_VALUE:
      return fail(SLUICE_ERROR_INVALID_ARGUMENT, native_text(g_driver, call, native));
    case CUDA_ERROR_NO_DEVICE:
    case CUDA_ERROR_INVALID_DEVICE:
      return fail(SLUICE_ERROR_NO_DEVICE, native_text(g_driver, call, native));
    case CUDA_ERROR_NOT_SUPPORTED:
      return fail(SLUICE_ERROR_UNSUPPORTED, native_text(g_driver, call, native));
    default:
      return fail(SLUICE_ERROR_NATIVE, native_text(g_driver, call, native));
  }
}

}  // namespace sluice::backends::cuda

#ifndef SLUICE_CUDA_HAS_KERNELS
#undef SLUICE_GROUP_reduce
#define SLUICE_GROUP_reduce(name) nullptr
#undef SLUICE_GROUP_kernel_copies
#define SLUICE_GROUP_kernel_copies(name) nullptr
#undef SLUICE_GROUP_pack
#define SLUICE_GROUP_pack(name) nullptr
#undef SLUICE_GROUP_channel
#define SLUICE_GROUP_channel(name) nullptr
#undef SLUICE_GROUP_wait
#define SLUICE_GROUP_wait(name) nullptr
#endif

#define SLUICE_MODULE_NAMESPACE cuda
#define SLUICE_MODULE_NAME "cuda"
#include "../exported_table.inc"
