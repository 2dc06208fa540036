// SPDX-License-Identifier: BSD-3-Clause
// The derived datatype that messages are made of.
#include "bench/cli/derived_type.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <vector>

#include "bench/cli/option_error.hpp"
#include "bench/cli/sizes.hpp"

namespace sluice::bench {
namespace {

struct KindWord {
  const char *word;
  TypeKind kind;
};

// The first word of a kind is its name.
constexpr std::array kKinds{KindWord{"bytes", TypeKind::bytes},       KindWord{"contiguous", TypeKind::contiguous},
                            KindWord{"cont", TypeKind::contiguous},   KindWord{"vector", TypeKind::vector},
                            KindWord{"vect", TypeKind::vector},       KindWord{"subarray", TypeKind::subarray},
                            KindWord{"hindexed", TypeKind::hindexed}, KindWord{"struct", TypeKind::structure}};
constexpr std::uint64_t kLongestStride = std::uint64_t{1} << 40;
constexpr std::uint64_t kLongestRow = std::uint64_t{1} << 30;  // MPI_Type_create_subarray takes ints
constexpr std::uint64_t kDoubleBytes = 8;

[[noreturn]] void refuse(const std::string &text, const std::string &reason) {
  throw OptionError(fmt::format("--ddt: '{}': {}", text, reason));
}

void require_strides(const DerivedType &type, const std::string &text) {
  const std::uint64_t longest = type.kind == TypeKind::subarray ? kLongestRow : kLongestStride;
  if (type.block_bytes == 0 || type.stride_bytes < type.block_bytes || type.stride_bytes > longest) {
    refuse(text, fmt::format("blocks have 1 byte or more, and strides as many or more, up to {}", longest));
  }
  if (type.kind == TypeKind::structure && type.stride_bytes % kDoubleBytes != 0) {
    refuse(text, "the stride of a struct is a multiple of 8: it holds doubles");
  }
}

}  // namespace

DerivedType parse_derived_type(const std::string &text) {
  DerivedType type;
  if (text.empty()) {
    return type;
  }
  const std::vector<std::string> parts = CLI::detail::split(text, ':');
  const auto found = std::find_if(kKinds.begin(), kKinds.end(), [&](const KindWord &k) { return k.word == parts[0]; });
  if (parts[0] == "indx") {
    refuse(text, "blocks are not read from a file: hindexed:STRIDE:BLOCK has blocks of unequal length");
  }
  if (found == kKinds.end()) {
    refuse(text, "no such type; there are bytes, contiguous, vector, subarray, hindexed, struct");
  }
  type.kind = found->kind;
  if (parts.size() == 1) {
    return type;
  }
  if (parts.size() != 3 || !type.has_gaps()) {
    refuse(text, "vector, subarray, hindexed and struct take :STRIDE:BLOCK, in bytes, and the others nothing");
  }
  type.stride_bytes = parse_bytes("--ddt", parts[1]);
  type.block_bytes = parse_bytes("--ddt", parts[2]);
  require_strides(type, text);
  return type;
}

void require_whole_blocks(const DerivedType &type, std::uint64_t size_bytes) {
  if (type.has_gaps() && size_bytes > type.block_bytes && size_bytes % type.block_bytes != 0) {
    throw OptionError(fmt::format("--ddt {}: sizes above one block are multiples of {}, its block, not {}",
                                  word_of(type.kind), type.block_bytes, size_bytes));
  }
}

const char *word_of(TypeKind kind) {
  const auto found = std::find_if(kKinds.begin(), kKinds.end(), [kind](const KindWord &k) { return k.kind == kind; });
  return found != kKinds.end() ? found->word : "";
}

std::string describe(const DerivedType &type) {
  if (!type.has_gaps()) {
    return word_of(type.kind);
  }
  return fmt::format("{}: blocks of {} bytes, {} bytes apart", word_of(type.kind), type.block_bytes, type.stride_bytes);
}

}  // namespace sluice::bench
