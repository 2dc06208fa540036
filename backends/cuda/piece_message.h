// SPDX-License-Identifier: BSD-3-Clause
// What the two ends of a piece socket say to each other.
#pragma once

#include <cstdint>

#include "../descriptor_socket.h"
#include "pieces.h"

namespace sluice::backends::cuda {

// Pieces of one answer.
inline constexpr uint32_t kPiecesAtOnce = kMostDescriptors;

struct PieceQuestion {
  uint64_t magic;
  PieceRange range;
  uint32_t first;  // of the pieces that are wanted now
  uint32_t zero;
};

struct PieceAnswer {
  uint64_t magic;
  uint32_t result;  // a sluice_result_t; the text says more
  uint32_t n_pieces;
  char text[240];
  SharedPiece pieces[kPiecesAtOnce];
};

inline constexpr uint64_t kPieceMagic = 0x31534543454950ULL;  // "PIECES1"

}  // namespace sluice::backends::cuda
