// SPDX-License-Identifier: BSD-3-Clause
// Owns the memory of other processes that is mapped here, and the choice among the ways to it (the mechanisms of
// ipc_handle.h). The driver's own handle names an allocation of cuMemAlloc; memory of cuMemCreate goes piece by piece;
// pools and managed memory have no way, and are refused with a text.
#include <algorithm>
#include <cstring>
#include <iterator>
#include <map>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "ipc_handle.h"
#include "mappings.h"
#include "module.h"
#include "piece_socket.h"
#include "pieces.h"
#include "waits.h"

namespace sluice::backends::cuda {

namespace {

bool has_driver_calls() {
  return g_driver.cuIpcGetMemHandle != nullptr && g_driver.cuIpcOpenMemHandle != nullptr &&
         g_driver.cuIpcCloseMemHandle != nullptr && g_driver.cuDeviceGetUuid != nullptr;
}

sluice_result_t check_calls(Mechanism mechanism) {
  if (mechanism == Mechanism::kDriverHandle && !has_driver_calls()) {
    return fail(SLUICE_ERROR_UNSUPPORTED, "the driver has no cuIpcGetMemHandle; install a newer one");
  }
  if (mechanism != Mechanism::kDriverHandle && !has_piece_calls()) {
    return fail(SLUICE_ERROR_UNSUPPORTED, "the driver has no cuMemImportFromShareableHandle; install a newer one");
  }
  return SLUICE_SUCCESS;
}

// ---- export ----

struct Allocation {
  unsigned type = 0;
  unsigned is_managed = 0;
  unsigned has_driver_handle = 0;
  int device = -1;
  unsigned long long buffer_id = 0;
  CUdeviceptr begin = 0;
  size_t size_bytes = 0;
  CUmemoryPool pool = nullptr;
};

// SLUICE_SUCCESS when the address is in device memory that one of the mechanisms may take.
sluice_result_t describe_allocation(CUdeviceptr address, Allocation *found) {
  CUpointer_attribute attributes[] = {CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
                                      CU_POINTER_ATTRIBUTE_IS_MANAGED,
                                      CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE,
                                      CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL,
                                      CU_POINTER_ATTRIBUTE_BUFFER_ID,
                                      CU_POINTER_ATTRIBUTE_RANGE_START_ADDR,
                                      CU_POINTER_ATTRIBUTE_RANGE_SIZE,
                                      CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE};
  void *values[] = {&found->type,      &found->is_managed, &found->has_driver_handle, &found->device,
                    &found->buffer_id, &found->begin,      &found->size_bytes,        &found->pool};
  const CUresult native = g_driver.cuPointerGetAttributes(std::size(attributes), attributes, values, address);
  if (native != CUDA_SUCCESS || found->type != CU_MEMORYTYPE_DEVICE || found->is_managed != 0) {
    return fail(SLUICE_ERROR_UNSUPPORTED, found->is_managed != 0
                                              ? "managed memory has no handle for other processes"
                                              : "the address is in no device memory that this process made");
  }
  if (found->has_driver_handle != 0 || found->pool == nullptr) return SLUICE_SUCCESS;
  return fail(SLUICE_ERROR_UNSUPPORTED,
              "memory of a stream-ordered pool (cuMemAllocAsync) has no handle for other processes; use cuMemAlloc "
              "for buffers that are sent often");
}

sluice_result_t export_by_driver(const Allocation &allocation, CUdeviceptr address, sluice_ipc_handle_t *handle,
                                 uint64_t *base_offset, uint64_t *size_bytes) {
  if (!g_ipc_choice.driver) return fail(SLUICE_ERROR_UNSUPPORTED, "SLUICE_CUDA_IPC forbids the driver's own handles");
  sluice_result_t result = check_calls(Mechanism::kDriverHandle);
  if (result != SLUICE_SUCCESS) return result;
  HandleLayout layout = {};
  const CUresult native = g_driver.cuIpcGetMemHandle(&layout.way.driver_handle, allocation.begin);
  // Whatever the reason, this memory cannot be exported, and the copy through the host will show a defect by itself.
  if (native != CUDA_SUCCESS) {
    return fail(SLUICE_ERROR_UNSUPPORTED, native_text(g_driver, "cuIpcGetMemHandle", native));
  }
  layout.mechanism = Mechanism::kDriverHandle;
  layout.size_bytes = allocation.size_bytes;
  layout.buffer_id = allocation.buffer_id;
  result = write_handle(allocation.device, &layout, handle);
  if (result != SLUICE_SUCCESS) return result;
  *base_offset = address - allocation.begin;
  *size_bytes = allocation.size_bytes;
  return SLUICE_SUCCESS;
}

// What was exported last from the piece that begins at an address. Such memory has no number that would tell that a
// handle is still right, so the pieces are looked at again for every message, and the handle is made anew only when
// they have changed. A range that grew keeps its length: messages of two lengths must not make the other side map anew
// each time.
struct KnownRange {
  uint64_t identity;
  uint64_t size_bytes;
  sluice_ipc_handle_t handle;
};
constexpr size_t kMostKnownRanges = 4096;
std::mutex g_known_mutex;

std::map<CUdeviceptr, KnownRange> &known_ranges() {
  static auto *all = new std::map<CUdeviceptr, KnownRange>();  // never destroyed, as mappings()
  return *all;
}

sluice_result_t write_piece_handle(const std::vector<Piece> &pieces, int32_t device, KnownRange *range) {
  HandleLayout layout = {};
  layout.size_bytes = range->size_bytes;
  layout.buffer_id = range->identity;
  if (pieces.size() == 1 && allows(pieces.front(), PieceWay::kFabric)) {
    Piece fabric_only = pieces.front();
    fabric_only.handle_types = kFabricTypes;
    SharedPiece shared;
    int none = -1;
    if (share_piece(fabric_only, &shared, &none) == SLUICE_SUCCESS) {
      layout.mechanism = Mechanism::kFabricHandle;
      std::memcpy(layout.way.fabric_handle, shared.fabric_handle, sizeof shared.fabric_handle);
      return write_handle(device, &layout, &range->handle);
    }
  }
  layout.mechanism = Mechanism::kPieces;
  layout.way.pieces = {
      pieces.front().begin, range->size_bytes, range->identity, device, static_cast<uint32_t>(pieces.size()), {0, 0}};
  const sluice_result_t result = serve_pieces(layout.way.pieces.socket_name);
  return result == SLUICE_SUCCESS ? write_handle(device, &layout, &range->handle) : result;
}

// The pieces that hold `wanted_bytes` from `address` on, or as many as follow each other there.
sluice_result_t export_pieces(CUdeviceptr address, uint64_t wanted_bytes, int32_t device, sluice_ipc_handle_t *handle,
                              uint64_t *base_offset, uint64_t *size_bytes) {
  sluice_result_t result = check_calls(Mechanism::kPieces);
  Piece first;
  if (result == SLUICE_SUCCESS) result = find_piece(address, device, &first);
  if (result != SLUICE_SUCCESS) return result;
  const std::scoped_lock lock(g_known_mutex);
  const auto known = known_ranges().find(first.begin);
  const uint64_t known_bytes = known != known_ranges().end() ? known->second.size_bytes : 0;
  std::vector<Piece> pieces;
  result = find_pieces(address, std::max(address + wanted_bytes, first.begin + known_bytes), device, &pieces);
  if (result != SLUICE_SUCCESS) return result;
  KnownRange range = {identity_of(pieces), pieces.back().begin + pieces.back().size_bytes - first.begin, {}};
  if (known != known_ranges().end() && known->second.identity == range.identity) {
    range = known->second;
  } else {
    result = write_piece_handle(pieces, device, &range);
    if (result != SLUICE_SUCCESS) return result;
    if (known_ranges().size() >= kMostKnownRanges) known_ranges().clear();  // made again when wanted again
    known_ranges()[first.begin] = range;
  }
  *handle = range.handle;
  *base_offset = address - first.begin;
  *size_bytes = range.size_bytes;
  return SLUICE_SUCCESS;
}

// ---- open ----

// This process's number of the exporter's device, which may show it under another number or not at all; -1.
int32_t index_of(const CUuuid &device) {
  const int32_t count = device_count();
  for (int32_t i = 0; i < count; ++i) {
    CUdevice ordinal = 0;
    CUuuid uuid = {};
    const bool is_known =
        g_driver.cuDeviceGet(&ordinal, i) == CUDA_SUCCESS && g_driver.cuDeviceGetUuid(&uuid, ordinal) == CUDA_SUCCESS;
    if (is_known && std::memcmp(uuid.bytes, device.bytes, sizeof uuid.bytes) == 0) return i;
  }
  return -1;
}

// A device that is not visible is left to the driver, which may know better.
sluice_result_t check_reach(int32_t device, int32_t owner) {
  if (owner < 0 || owner == device || g_driver.cuDeviceCanAccessPeer == nullptr) return SLUICE_SUCCESS;
  int can_access = 0;
  const CUresult native = g_driver.cuDeviceCanAccessPeer(&can_access, device, owner);
  if (native != CUDA_SUCCESS) return translate("cuDeviceCanAccessPeer", native);
  if (can_access != 0) return SLUICE_SUCCESS;
  return fail(SLUICE_ERROR_UNSUPPORTED, "device " + std::to_string(device) + " does not reach the memory of device " +
                                            std::to_string(owner) + " (cuDeviceCanAccessPeer)");
}

// The lock is held.
sluice_result_t translate_open(CUresult native, int32_t owner) {
  if (native == CUDA_SUCCESS) return SLUICE_SUCCESS;
  const std::string text = native_text(g_driver, "cuIpcOpenMemHandle", native);
  // What is in the way may be a mapping that goes when no stream waits any more.
  const bool may_go = std::ranges::any_of(mappings(), [](const auto &entry) { return entry.second.n_closing > 0; });
  if (native == CUDA_ERROR_ALREADY_MAPPED && may_go) return fail(SLUICE_NOT_READY, text);
  if (native == CUDA_ERROR_ALREADY_MAPPED) {
    return fail(SLUICE_ERROR_UNSUPPORTED, text + "; the program has opened this memory itself");
  }
  if (owner < 0) {
    return fail(SLUICE_ERROR_UNSUPPORTED, text + "; the exporter's device is not visible here (CUDA_VISIBLE_DEVICES)");
  }
  switch (native) {
    case CUDA_ERROR_PEER_ACCESS_UNSUPPORTED:
    case CUDA_ERROR_TOO_MANY_PEERS:
    case CUDA_ERROR_NOT_SUPPORTED:
      return fail(SLUICE_ERROR_UNSUPPORTED, text);
    default:
      return fail(SLUICE_ERROR_NATIVE, text + "; the exporter may have freed the memory or ended");
  }
}

// The lock is held over the driver's call, so that an address that is closed and given again at once is not mistaken.
sluice_result_t open_by_driver(const HandleLayout &layout, int32_t owner, Mapping **mapping, int32_t device,
                               void **base) {
  CUdeviceptr address = 0;
  const CUresult native =
      g_driver.cuIpcOpenMemHandle(&address, layout.way.driver_handle, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS);
  const sluice_result_t result = translate_open(native, owner);
  if (result != SLUICE_SUCCESS) return result;
  *base = reinterpret_cast<void *>(address);
  *mapping = &mappings()[{device, *base}];
  return SLUICE_SUCCESS;
}

sluice_result_t open_by_fabric(const HandleLayout &layout, int32_t device, void **base) {
  SharedPiece shared;
  shared.way = PieceWay::kFabric;
  shared.size_bytes = layout.size_bytes;
  std::memcpy(shared.fabric_handle, layout.way.fabric_handle, sizeof shared.fabric_handle);
  PieceMapping mapping;
  sluice_result_t result = mapping.reserve(layout.size_bytes);
  if (result == SLUICE_SUCCESS) result = mapping.add(shared, -1);
  return result == SLUICE_SUCCESS ? mapping.finish(device, base) : result;
}

CUdeviceptr range_begin_of(const void *address) {
  const auto first = reinterpret_cast<CUdeviceptr>(address);
  CUdeviceptr begin = 0;
  const CUresult native = g_driver.cuPointerGetAttribute(&begin, CU_POINTER_ATTRIBUTE_RANGE_START_ADDR, first);
  return native == CUDA_SUCCESS ? begin : first;
}

// How much the driver has mapped from `base` on, in the range that begins at `begin`: what the handle says, or less. A
// driver that does not say leaves it at the handle's word.
uint64_t mapped_bytes(const void *base, CUdeviceptr begin, uint64_t told_bytes) {
  const auto first = reinterpret_cast<CUdeviceptr>(base);
  size_t whole_bytes = 0;
  const CUresult native = g_driver.cuPointerGetAttribute(&whole_bytes, CU_POINTER_ATTRIBUTE_RANGE_SIZE, first);
  if (native != CUDA_SUCCESS) return told_bytes;
  return first - begin < whole_bytes ? std::min<uint64_t>(told_bytes, whole_bytes - (first - begin)) : 0;
}

sluice_result_t open_in(CUcontext context, bool is_retained, int32_t device, const HandleLayout &layout, void **base,
                        uint64_t *size_bytes) {
  const ContextScope scope(context);
  if (scope.result() != SLUICE_SUCCESS) return scope.result();
  const int32_t owner = index_of(layout.device);
  sluice_result_t result = check_reach(device, owner);
  // Another process is asked without the lock: it may be asking this one.
  if (result == SLUICE_SUCCESS && layout.mechanism == Mechanism::kPieces) result = fetch_pieces(layout, device, base);
  if (result == SLUICE_SUCCESS && layout.mechanism == Mechanism::kFabricHandle) {
    result = open_by_fabric(layout, device, base);
  }
  if (result != SLUICE_SUCCESS) return result;
  const std::scoped_lock lock(mappings_mutex());
  Mapping *mapping = nullptr;
  if (layout.mechanism == Mechanism::kDriverHandle) {
    result = open_by_driver(layout, owner, &mapping, device, base);
    if (result != SLUICE_SUCCESS) return result;
  } else {
    mapping = &mappings()[{device, *base}];
    mapping->piece_bytes = layout.size_bytes;
  }
  mapping->context = context;
  mapping->range_begin = range_begin_of(*base);
  // Pieces fill the whole of what was reserved for them.
  *size_bytes =
      mapping->piece_bytes > 0 ? mapping->piece_bytes : mapped_bytes(*base, mapping->range_begin, layout.size_bytes);
  mapping->size_bytes = *size_bytes;
  // Without it the driver is asked for each address.
  if (g_driver.cuCtxGetId == nullptr || g_driver.cuCtxGetId(context, &mapping->context_number) != CUDA_SUCCESS) {
    mapping->context_number = 0;
  }
  ++mapping->n_opened;
  mapping->n_retained += is_retained ? 1 : 0;
  return SLUICE_SUCCESS;
}

// A context that the program has destroyed, and a driver that is shut down, have let go of the mapping themselves.
bool is_gone(CUresult native) {
  return native == CUDA_ERROR_DEINITIALIZED || native == CUDA_ERROR_CONTEXT_IS_DESTROYED ||
         native == CUDA_ERROR_INVALID_CONTEXT;
}

sluice_result_t close_in(const Mapping &mapping, void *base) {
  if (mapping.piece_bytes > 0) return unmap_pieces(base, mapping.piece_bytes);
  CUcontext current = nullptr;
  const CUresult asked = g_driver.cuCtxGetCurrent(&current);
  if (is_gone(asked)) return SLUICE_SUCCESS;
  const ContextScope scope(mapping.context);
  if (scope.result() != SLUICE_SUCCESS) return SLUICE_SUCCESS;  // the context is no more
  const CUresult native = g_driver.cuIpcCloseMemHandle(reinterpret_cast<CUdeviceptr>(base));
  return is_gone(native) ? SLUICE_SUCCESS : translate("cuIpcCloseMemHandle", native);
}

// The lock is held.
sluice_result_t close_one(std::map<MappingKey, Mapping>::iterator entry) {
  Mapping &mapping = entry->second;
  --mapping.n_closing;
  const sluice_result_t result = close_in(mapping, entry->first.second);
  if (result != SLUICE_SUCCESS) return result;
  if (mapping.n_retained > 0) {
    release_context(entry->first.first, true);
    --mapping.n_retained;
  }
  if (--mapping.n_opened == 0) mappings().erase(entry);
  return SLUICE_SUCCESS;
}

}  // namespace

sluice_result_t ipc_export(const void *address, sluice_ipc_handle_t *handle, uint64_t *base_offset,
                           uint64_t *size_bytes) {
  if (handle == nullptr || base_offset == nullptr || size_bytes == nullptr) {
    return fail(SLUICE_ERROR_INVALID_ARGUMENT, "ipc_export: null pointer");
  }
  const auto first = reinterpret_cast<CUdeviceptr>(address);
  // Not known: all that follows.
  const uint64_t wanted_bytes = *size_bytes == 0 ? SIZE_MAX - first : std::min<uint64_t>(*size_bytes, SIZE_MAX - first);
  Allocation allocation;
  sluice_result_t result = describe_allocation(first, &allocation);
  CUcontext context = nullptr;
  bool is_retained = false;
  if (result == SLUICE_SUCCESS) result = find_context(allocation.device, &context, &is_retained);
  if (result != SLUICE_SUCCESS) return result;
  {
    const ContextScope scope(context);
    result = scope.result();
    if (result == SLUICE_SUCCESS) {
      result = allocation.has_driver_handle != 0
                   ? export_by_driver(allocation, first, handle, base_offset, size_bytes)
                   : export_pieces(first, wanted_bytes, allocation.device, handle, base_offset, size_bytes);
    }
  }
  release_context(allocation.device, is_retained);
  return result;
}

sluice_result_t ipc_open(int32_t device, const sluice_ipc_handle_t *handle, void **base, uint64_t *size_bytes) {
  const sluice_result_t given = check_opening(handle, base, size_bytes);
  if (given != SLUICE_SUCCESS) return given;
  run_releases();
  HandleLayout layout = {};
  sluice_result_t result = read_handle(*handle, &layout);
  if (result == SLUICE_SUCCESS) result = check_calls(layout.mechanism);
  CUcontext context = nullptr;
  bool is_retained = false;
  if (result == SLUICE_SUCCESS) result = find_context(device, &context, &is_retained);
  if (result != SLUICE_SUCCESS) return result;
  result = open_in(context, is_retained, device, layout, base, size_bytes);
  if (result != SLUICE_SUCCESS) release_context(device, is_retained);
  return result;
}

sluice_result_t ipc_close(int32_t device, void *base) {
  {
    const Quiet quiet;
    const std::scoped_lock lock(mappings_mutex());
    const auto found = mappings().find({device, base});
    if (found == mappings().end() || found->second.n_opened == found->second.n_closing) {
      return fail(SLUICE_ERROR_INVALID_ARGUMENT,
                  "this address was not opened by ipc_open for device " + std::to_string(device) + ", or is closed");
    }
    ++found->second.n_closing;
    if (quiet.is_kept()) return close_one(found);
  }
  release_later([device, base] {
    const std::scoped_lock lock(mappings_mutex());
    const auto found = mappings().find({device, base});
    if (found != mappings().end() && close_one(found) != SLUICE_SUCCESS) log_line(1, error_text());
  });
  return SLUICE_SUCCESS;
}

}  // namespace sluice::backends::cuda
