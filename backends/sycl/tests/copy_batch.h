// SPDX-License-Identifier: BSD-3-Clause
// A batch of copies of uneven lengths, some of none, between pieces of two buffers, and the check of every byte: what
// was to be copied by a pattern, all else by its poison.
#pragma once

#include <algorithm>
#include <cstddef>
#include <random>
#include <string>
#include <vector>

#include "sluice/backend.h"

namespace sluice::tests {

class CopyBatch {
 public:
  CopyBatch(std::size_t n_copies, unsigned seed) {
    std::mt19937 random(seed);
    for (std::size_t i = 0; i < n_copies; ++i) {
      pieces_.push_back({bytes_ + random() % 5, i % 7 == 3 ? 0 : 1 + random() % 300});
      bytes_ = pieces_.back().at + pieces_.back().size_bytes + 1;
    }
    src_.resize(bytes_);
    for (std::size_t i = 0; i < bytes_; ++i) src_[i] = pattern(i, seed);
    expected_.assign(bytes_, kPoison);
    for (const Piece &piece : pieces_)
      std::copy_n(src_.data() + piece.at, piece.size_bytes, expected_.data() + piece.at);
    std::ranges::shuffle(pieces_, random);
  }

  std::size_t size_bytes() const { return bytes_; }
  const unsigned char *src() const { return src_.data(); }

  // Buffers of size_bytes() bytes.
  static void poison(unsigned char *buffer, std::size_t size_bytes) { std::fill_n(buffer, size_bytes, kPoison); }
  std::vector<sluice_copy_t> copies(unsigned char *dst, const unsigned char *src) const {
    std::vector<sluice_copy_t> list;
    for (const Piece &piece : pieces_) list.push_back({dst + piece.at, src + piece.at, piece.size_bytes});
    return list;
  }
  // "" when the buffer has what was copied and poison elsewhere, else the first byte that is wrong.
  std::string problem(const unsigned char *buffer) const {
    const auto [wrong, right] = std::mismatch(buffer, buffer + bytes_, expected_.begin());
    if (right == expected_.end()) return "";
    return "byte " + std::to_string(wrong - buffer) + " of " + std::to_string(bytes_) + " is " +
           std::to_string(*wrong) + ", not " + std::to_string(*right);
  }

 private:
  static constexpr unsigned char kPoison = 0xA5;
  struct Piece {
    std::size_t at;
    std::size_t size_bytes;
  };

  // Never the poison.
  static unsigned char pattern(std::size_t at, unsigned seed) {
    return static_cast<unsigned char>((at * 131 + seed * 29 + at / 251) % 0xA0);
  }

  std::vector<Piece> pieces_;
  std::size_t bytes_ = 0;
  std::vector<unsigned char> src_;
  std::vector<unsigned char> expected_;
};

}  // namespace sluice::tests
