// SPDX-License-Identifier: BSD-3-Clause
// Memory of cuMemCreate, as PyTorch's expandable segments use it: a range of addresses that one or several pieces of
// physical memory are mapped to, one behind the other.
#pragma once

#include <cstdint>
#include <vector>

#include "ipc_handle.h"
#include "module.h"

namespace sluice::backends::cuda {

// How one piece gets into another process.
enum class PieceWay : uint32_t { kDescriptor = 1, kFabric = 2 };

// Bits of Piece::handle_types; numbers, since headers before 12.4 have no name for the second.
inline constexpr unsigned long long kDescriptorTypes = 1;
inline constexpr unsigned long long kFabricTypes = 8;

// A piece as it is mapped here.
struct Piece {
  CUdeviceptr begin = 0;
  size_t size_bytes = 0;
  unsigned long long buffer_id = 0;
  unsigned long long handle_types = 0;  // that it was made for; 0: it can be exported by none
};

// A piece on its way: the handle in bytes, or the descriptor.
struct SharedPiece {
  uint64_t size_bytes = 0;
  PieceWay way = PieceWay::kDescriptor;
  uint32_t zero = 0;
  unsigned char fabric_handle[64] = {};
};

// The driver has the calls for such memory.
bool has_piece_calls();

// The most pieces of one range: 20 GiB in pieces of 20 MiB, as PyTorch makes them.
inline constexpr size_t kMostPieces = 1024;

// The piece of device `device` that holds `address`. A context must be current.
sluice_result_t find_piece(CUdeviceptr address, int32_t device, Piece *piece);
// The pieces of device `device` from the one that holds `address` on that can be exported and follow each other, until
// they reach `end` or kMostPieces. Fails when the first one cannot be exported, with the reason.
sluice_result_t find_pieces(CUdeviceptr address, CUdeviceptr end, int32_t device, std::vector<Piece> *pieces);
uint64_t identity_of(const std::vector<Piece> &pieces);
// The ways that SLUICE_CUDA_IPC leaves, and this piece was made for.
bool allows(const Piece &piece, PieceWay way);

// *descriptor is the caller's to close; -1 when the piece goes by fabric.
sluice_result_t share_piece(const Piece &piece, SharedPiece *shared, int *descriptor);

// Maps shared pieces one behind the other for `device`; descriptors[i] is of pieces[i], or -1, and stays the caller's.
class PieceMapping {
 public:
  PieceMapping() = default;
  ~PieceMapping();
  PieceMapping(const PieceMapping &) = delete;
  PieceMapping &operator=(const PieceMapping &) = delete;

  // Reserves addresses for all.
  sluice_result_t reserve(size_t size_bytes);
  sluice_result_t add(const SharedPiece &shared, int descriptor);
  // All pieces are there: lets `device` use them. From here on the memory is the caller's, who calls unmap_pieces().
  sluice_result_t finish(int32_t device, void **base);

 private:
  CUdeviceptr base_ = 0;
  size_t reserved_bytes_ = 0;
  size_t mapped_bytes_ = 0;
};

sluice_result_t unmap_pieces(void *base, size_t size_bytes);

}  // namespace sluice::backends::cuda
