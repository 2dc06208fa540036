// SPDX-License-Identifier: BSD-3-Clause
// Messages between devices for programs, by the vendor's library, looked for when it is first asked for.
#include "sluice/testing/program_exchange.h"

#include <dlfcn.h>

#include <algorithm>
#include <iterator>
#include <string>
#include <type_traits>

#include "module.h"

struct sluice_program_exchange_group {
  void *native;  // the library's
  CUstream stream;
  uint32_t n_ranks;
};

namespace sluice::backends::cuda {
namespace {

// As much of NCCL's C interface as is used, which has been the same since 2.18; its header is not needed here. Every
// call but the two that give a text returns 0 or the number of an error.
struct NcclId {
  char bytes[128];
};
using NcclGroup = void *;
constexpr int kBytes = 0;  // ncclInt8
constexpr int kOldest = 21800;

static_assert(sizeof(NcclId) == sizeof(sluice_program_exchange_id_t));

struct Library {
  int (*get_version)(int *version) = nullptr;
  const char *(*get_error_string)(int result) = nullptr;
  const char *(*get_last_error)(NcclGroup group) = nullptr;
  int (*get_unique_id)(NcclId *id) = nullptr;
  int (*comm_init_rank)(NcclGroup *group, int n_ranks, NcclId id, int rank) = nullptr;
  int (*comm_destroy)(NcclGroup group) = nullptr;
  int (*comm_abort)(NcclGroup group) = nullptr;
  int (*group_start)() = nullptr;
  int (*group_end)() = nullptr;
  int (*send)(const void *data, size_t count, int type, int peer, NcclGroup group, CUstream stream) = nullptr;
  int (*receive)(void *data, size_t count, int type, int peer, NcclGroup group, CUstream stream) = nullptr;
  std::string name;   // with its version
  std::string error;  // why there is none

  Library();

 private:
  bool find_all(void *library);
};

constexpr const char *kRemedy =
    ": let SLUICE_BENCH_NCCL name a libnccl.so.2 of 2.18 or later (PyTorch's package nvidia-nccl has one), or add its "
    "folder to LD_LIBRARY_PATH";

// The first function that is missing is named.
bool Library::find_all(void *library) {
  const auto find = [&](const char *symbol, auto *function) {
    *function = reinterpret_cast<std::remove_pointer_t<decltype(function)>>(dlsym(library, symbol));
    if (*function == nullptr) error = g_nccl + " has no " + symbol + kRemedy;
    return *function != nullptr;
  };
  return find("ncclGetVersion", &get_version) && find("ncclGetErrorString", &get_error_string) &&
         find("ncclGetLastError", &get_last_error) && find("ncclGetUniqueId", &get_unique_id) &&
         find("ncclCommInitRank", &comm_init_rank) && find("ncclCommDestroy", &comm_destroy) &&
         find("ncclCommAbort", &comm_abort) && find("ncclGroupStart", &group_start) &&
         find("ncclGroupEnd", &group_end) && find("ncclSend", &send) && find("ncclRecv", &receive);
}

Library::Library() {
  void *library = dlopen(g_nccl.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    const char *why = dlerror();
    error = std::string("NCCL cannot be loaded (") + (why != nullptr ? why : g_nccl.c_str()) + ")" + kRemedy;
    return;
  }
  if (!find_all(library)) return;
  int version = 0;
  const int result = get_version(&version);
  if (result != 0) {
    error = std::string("ncclGetVersion: ") + get_error_string(result);
    return;
  }
  // Numbered so since 2.9.
  const std::string number =
      std::to_string(version / 10000) + "." + std::to_string(version / 100 % 100) + "." + std::to_string(version % 100);
  if (version < kOldest) {
    error = "the " + g_nccl + " that was found is NCCL " + number + ", which is too old" + kRemedy;
    return;
  }
  name = "NCCL " + number;
}

// The handle of the library is never closed: it holds memory of contexts.
const Library &known() {
  static const auto *const library = new Library();
  return *library;
}

// What the number means, and what the library said last, in one line.
sluice_result_t translate_nccl(const char *call, int result) {
  if (result == 0) return SLUICE_SUCCESS;
  const char *meaning = known().get_error_string(result);
  const char *last = known().get_last_error(nullptr);
  std::string text =
      std::string(call) + ": " + std::to_string(result) + " (" + (meaning != nullptr ? meaning : "") + ")";
  if (last != nullptr && *last != '\0') text += std::string(": ") + last;
  std::replace(text.begin(), text.end(), '\n', ' ');
  return fail(SLUICE_ERROR_NATIVE, text);
}

const char *library() {
  if (known().error.empty()) return known().name.c_str();
  fail(SLUICE_ERROR_UNSUPPORTED, known().error);
  return nullptr;
}

sluice_result_t id_create(sluice_program_exchange_id_t *id) {
  if (!known().error.empty()) return fail(SLUICE_ERROR_UNSUPPORTED, known().error);
  NcclId made = {};
  const sluice_result_t result = translate_nccl("ncclGetUniqueId", known().get_unique_id(&made));
  std::copy(std::begin(made.bytes), std::end(made.bytes), id->bytes);
  return result;
}

sluice_result_t group_create(void *native_stream, const sluice_program_exchange_id_t *id, uint32_t n_ranks,
                             uint32_t rank, sluice_program_exchange_group_t **group) {
  *group = nullptr;
  if (!known().error.empty()) return fail(SLUICE_ERROR_UNSUPPORTED, known().error);
  NcclId name = {};
  std::copy(std::begin(id->bytes), std::end(id->bytes), name.bytes);
  NcclGroup native = nullptr;
  const sluice_result_t result = translate_nccl(
      "ncclCommInitRank", known().comm_init_rank(&native, static_cast<int>(n_ranks), name, static_cast<int>(rank)));
  if (result != SLUICE_SUCCESS) return result;
  *group = new sluice_program_exchange_group{native, static_cast<CUstream>(native_stream), n_ranks};
  return SLUICE_SUCCESS;
}

sluice_result_t group_destroy(sluice_program_exchange_group_t *group) {
  const NcclGroup native = group->native;
  delete group;
  return translate_nccl("ncclCommDestroy", known().comm_destroy(native));
}

sluice_result_t group_abandon(sluice_program_exchange_group_t *group) {
  const NcclGroup native = group->native;
  delete group;
  return translate_nccl("ncclCommAbort", known().comm_abort(native));
}

// Between the start of a group of calls and its end.
sluice_result_t add_parts(const sluice_program_exchange_group_t &group, const sluice_program_exchange_parts_t &parts) {
  const auto *sent = static_cast<const char *>(parts.sent);
  auto *received = static_cast<char *>(parts.received);
  for (uint32_t rank = 0; rank < group.n_ranks; ++rank) {
    const int peer = static_cast<int>(rank);
    if (parts.sent_sizes[rank] > 0) {
      const sluice_result_t result =
          translate_nccl("ncclSend", known().send(sent + parts.sent_displacements[rank], parts.sent_sizes[rank], kBytes,
                                                  peer, group.native, group.stream));
      if (result != SLUICE_SUCCESS) return result;
    }
    if (parts.received_sizes[rank] > 0) {
      const sluice_result_t result = translate_nccl(
          "ncclRecv", known().receive(received + parts.received_displacements[rank], parts.received_sizes[rank], kBytes,
                                      peer, group.native, group.stream));
      if (result != SLUICE_SUCCESS) return result;
    }
  }
  return SLUICE_SUCCESS;
}

sluice_result_t enqueue(sluice_program_exchange_group_t *group, const sluice_program_exchange_parts_t *parts) {
  const sluice_result_t started = translate_nccl("ncclGroupStart", known().group_start());
  if (started != SLUICE_SUCCESS) return started;
  const sluice_result_t added = add_parts(*group, *parts);
  // What was started has to be ended; of two errors the first says why.
  const int ended = known().group_end();
  return added != SLUICE_SUCCESS ? added : translate_nccl("ncclGroupEnd", ended);
}

constexpr sluice_program_exchange_t kExchange = {
    .api_version = SLUICE_PROGRAM_EXCHANGE_API_VERSION,
    .struct_size = sizeof(sluice_program_exchange_t),
    .library = library,
    .id_create = id_create,
    .group_create = group_create,
    .group_destroy = group_destroy,
    .group_abandon = group_abandon,
    .enqueue = enqueue,
};

}  // namespace
}  // namespace sluice::backends::cuda

extern "C" __attribute__((visibility("default"))) const sluice_program_exchange_t *sluice_backend_program_exchange() {
  return &sluice::backends::cuda::kExchange;
}
