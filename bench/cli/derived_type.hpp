// SPDX-License-Identifier: BSD-3-Clause
// The derived datatype that messages are made of (-D, --ddt).
#pragma once

#include <cstdint>
#include <string>

namespace sluice::bench {

enum class TypeKind { bytes, contiguous, vector, subarray, hindexed, structure };

// bytes: so many MPI_CHAR, and no derived type.
struct DerivedType {
  TypeKind kind = TypeKind::bytes;
  std::uint64_t stride_bytes = 128;  // from one block to the next; at least block_bytes
  std::uint64_t block_bytes = 64;

  bool is_derived() const { return kind != TypeKind::bytes; }
  bool has_gaps() const { return kind != TypeKind::bytes && kind != TypeKind::contiguous; }
};

// Reads KIND or KIND:STRIDE:BLOCK (sizes in bytes, suffixes as everywhere), OSU's words cont and vect among the kinds;
// "" is bytes. Throws OptionError.
DerivedType parse_derived_type(const std::string &text);

// A message is 0 bytes, one block or a part of it, or whole blocks. Throws OptionError.
void require_whole_blocks(const DerivedType &type, std::uint64_t size_bytes);

// The word of the kind, for JSON and headings: "bytes", "contiguous", ..., "struct".
const char *word_of(TypeKind kind);

// "vector: blocks of 64 bytes, 128 bytes apart".
std::string describe(const DerivedType &type);

}  // namespace sluice::bench
