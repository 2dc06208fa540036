// SPDX-License-Identifier: BSD-3-Clause
// Finds, exports and maps pieces of memory of cuMemCreate.
#include "pieces.h"

#include <cstring>
#include <iterator>
#include <string>

namespace sluice::backends::cuda {

namespace {

constexpr auto kFabricType = static_cast<CUmemAllocationHandleType>(kFabricTypes);
constexpr CUmemAllocationHandleType kDescriptorType = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
static_assert(kDescriptorTypes == static_cast<unsigned long long>(kDescriptorType));

sluice_result_t refuse(CUresult native, const char *call) {
  return fail(SLUICE_ERROR_UNSUPPORTED, native_text(g_driver, call, native));
}

}  // namespace

bool has_piece_calls() {
  return g_driver.cuMemGetAddressRange != nullptr && g_driver.cuMemRetainAllocationHandle != nullptr &&
         g_driver.cuMemRelease != nullptr && g_driver.cuMemExportToShareableHandle != nullptr &&
         g_driver.cuMemImportFromShareableHandle != nullptr && g_driver.cuMemAddressReserve != nullptr &&
         g_driver.cuMemAddressFree != nullptr && g_driver.cuMemMap != nullptr && g_driver.cuMemUnmap != nullptr &&
         g_driver.cuMemSetAccess != nullptr && g_driver.cuDeviceGetUuid != nullptr;
}

// The attributes of a range are those of all addresses that were reserved together; the piece itself is what
// cuMemGetAddressRange says.
sluice_result_t find_piece(CUdeviceptr address, int32_t device, Piece *piece) {
  int owner = -1;
  CUmemoryPool pool = nullptr;
  CUpointer_attribute attributes[] = {CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE,
                                      CU_POINTER_ATTRIBUTE_BUFFER_ID, CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES};
  void *values[] = {&owner, &pool, &piece->buffer_id, &piece->handle_types};
  CUresult native = g_driver.cuPointerGetAttributes(std::size(attributes), attributes, values, address);
  if (native != CUDA_SUCCESS) return refuse(native, "cuPointerGetAttributes");
  if (owner != device || pool != nullptr) {
    return fail(SLUICE_ERROR_UNSUPPORTED, "the address is in no memory of cuMemCreate of this device");
  }
  native = g_driver.cuMemGetAddressRange(&piece->begin, &piece->size_bytes, address);
  if (native != CUDA_SUCCESS) return refuse(native, "cuMemGetAddressRange");
  if (address - piece->begin < piece->size_bytes) return SLUICE_SUCCESS;
  return fail(SLUICE_ERROR_UNSUPPORTED, "nothing is mapped to the address");
}

sluice_result_t find_pieces(CUdeviceptr address, CUdeviceptr end, int32_t device, std::vector<Piece> *pieces) {
  pieces->clear();
  do {
    Piece piece;
    const CUdeviceptr at = pieces->empty() ? address : pieces->back().begin + pieces->back().size_bytes;
    const sluice_result_t result = find_piece(at, device, &piece);
    const bool is_shareable =
        result == SLUICE_SUCCESS && (allows(piece, PieceWay::kDescriptor) || allows(piece, PieceWay::kFabric));
    if (is_shareable && (pieces->empty() || piece.begin == at)) {
      pieces->push_back(piece);
      continue;
    }
    if (!pieces->empty()) return SLUICE_SUCCESS;  // as far as it goes
    if (result != SLUICE_SUCCESS) return result;
    return fail(SLUICE_ERROR_UNSUPPORTED,
                "this memory of cuMemCreate was not made to be exported (requestedHandleTypes of its properties), or "
                "SLUICE_CUDA_IPC forbids it; PyTorch's expandable segments ask for it by themselves");
  } while (pieces->back().begin + pieces->back().size_bytes < end && pieces->size() < kMostPieces);
  return SLUICE_SUCCESS;
}

uint64_t identity_of(const std::vector<Piece> &pieces) {
  uint64_t sum = 14695981039346656037ULL;  // FNV-1a on words
  for (const Piece &piece : pieces) {
    for (const uint64_t word : {static_cast<uint64_t>(piece.begin), static_cast<uint64_t>(piece.size_bytes),
                                static_cast<uint64_t>(piece.buffer_id)}) {
      sum = (sum ^ word) * 1099511628211ULL;
    }
  }
  return sum;
}

bool allows(const Piece &piece, PieceWay way) {
  if (way == PieceWay::kFabric) return g_ipc_choice.fabric && (piece.handle_types & kFabricTypes) != 0;
  return g_ipc_choice.descriptor && (piece.handle_types & kDescriptorTypes) != 0;
}

sluice_result_t share_piece(const Piece &piece, SharedPiece *shared, int *descriptor) {
  *shared = {};
  *descriptor = -1;
  shared->size_bytes = piece.size_bytes;
  CUmemGenericAllocationHandle memory = 0;
  CUresult native = g_driver.cuMemRetainAllocationHandle(&memory, reinterpret_cast<void *>(piece.begin));
  if (native != CUDA_SUCCESS) return refuse(native, "cuMemRetainAllocationHandle");
  native = CUDA_ERROR_NOT_SUPPORTED;
  if (allows(piece, PieceWay::kDescriptor)) {
    shared->way = PieceWay::kDescriptor;
    native = g_driver.cuMemExportToShareableHandle(descriptor, memory, kDescriptorType, 0);
  }
  if (native != CUDA_SUCCESS && allows(piece, PieceWay::kFabric)) {
    shared->way = PieceWay::kFabric;
    *descriptor = -1;
    native = g_driver.cuMemExportToShareableHandle(shared->fabric_handle, memory, kFabricType, 0);
  }
  const CUresult released = g_driver.cuMemRelease(memory);
  if (native != CUDA_SUCCESS) return refuse(native, "cuMemExportToShareableHandle");
  // The reference of the mapping is still there, so this cannot be the last.
  if (released != CUDA_SUCCESS) log_line(3, native_text(g_driver, "cuMemRelease", released).c_str());
  return SLUICE_SUCCESS;
}

PieceMapping::~PieceMapping() {
  if (base_ == 0) return;
  if (mapped_bytes_ > 0 && g_driver.cuMemUnmap(base_, mapped_bytes_) != CUDA_SUCCESS) {
    log_line(3, "pieces of another process that were mapped in part could not be unmapped");
  }
  if (g_driver.cuMemAddressFree(base_, reserved_bytes_) != CUDA_SUCCESS) {
    log_line(3, "addresses that were reserved for another process's memory could not be given back");
  }
}

sluice_result_t PieceMapping::reserve(size_t size_bytes) {
  const CUresult native = g_driver.cuMemAddressReserve(&base_, size_bytes, 0, 0, 0);
  if (native != CUDA_SUCCESS) {
    base_ = 0;
    return refuse(native, "cuMemAddressReserve");
  }
  reserved_bytes_ = size_bytes;
  return SLUICE_SUCCESS;
}

sluice_result_t PieceMapping::add(const SharedPiece &shared, int descriptor) {
  if (shared.size_bytes == 0 || shared.size_bytes > reserved_bytes_ - mapped_bytes_) {
    return fail(SLUICE_ERROR_NATIVE, "the other process sent a piece of memory that its handle does not speak of");
  }
  CUmemGenericAllocationHandle memory = 0;
  unsigned char fabric_handle[sizeof shared.fabric_handle];
  std::memcpy(fabric_handle, shared.fabric_handle, sizeof fabric_handle);
  const bool is_fabric = shared.way == PieceWay::kFabric;
  // The driver takes a descriptor's number in the place of a pointer.
  void *source = is_fabric ? static_cast<void *>(fabric_handle)
                           : reinterpret_cast<void *>(static_cast<uintptr_t>(static_cast<unsigned>(descriptor)));
  if (!is_fabric && descriptor < 0) return fail(SLUICE_ERROR_NATIVE, "a piece of memory came without its descriptor");
  CUresult native = g_driver.cuMemImportFromShareableHandle(&memory, source, is_fabric ? kFabricType : kDescriptorType);
  if (native != CUDA_SUCCESS) return refuse(native, "cuMemImportFromShareableHandle");
  native = g_driver.cuMemMap(base_ + mapped_bytes_, shared.size_bytes, 0, memory, 0);
  // The mapping has a reference of its own.
  const CUresult released = g_driver.cuMemRelease(memory);
  if (native != CUDA_SUCCESS) return refuse(native, "cuMemMap");
  mapped_bytes_ += shared.size_bytes;
  if (released != CUDA_SUCCESS) return translate("cuMemRelease", released);
  return SLUICE_SUCCESS;
}

sluice_result_t PieceMapping::finish(int32_t device, void **base) {
  if (mapped_bytes_ != reserved_bytes_) {
    return fail(SLUICE_ERROR_NATIVE, "the other process sent less memory than its handle speaks of");
  }
  CUmemAccessDesc access = {};
  access.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  access.location.id = device;
  access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
  const CUresult native = g_driver.cuMemSetAccess(base_, mapped_bytes_, &access, 1);
  if (native != CUDA_SUCCESS) {
    return fail(SLUICE_ERROR_UNSUPPORTED, native_text(g_driver, "cuMemSetAccess", native) + "; device " +
                                              std::to_string(device) + " does not reach that memory");
  }
  *base = reinterpret_cast<void *>(base_);
  base_ = 0;
  return SLUICE_SUCCESS;
}

sluice_result_t unmap_pieces(void *base, size_t size_bytes) {
  const auto address = reinterpret_cast<CUdeviceptr>(base);
  const CUresult unmapped = g_driver.cuMemUnmap(address, size_bytes);
  if (unmapped == CUDA_ERROR_DEINITIALIZED) return SLUICE_SUCCESS;
  if (unmapped != CUDA_SUCCESS) return translate("cuMemUnmap", unmapped);
  return translate("cuMemAddressFree", g_driver.cuMemAddressFree(address, size_bytes));
}

}  // namespace sluice::backends::cuda
