// SPDX-License-Identifier: BSD-3-Clause
#include "ops/coll/call/call_bytes.hpp"

#include <cstddef>

#include "ops/datatype/layout_of.hpp"
#include "wire/host.hpp"

namespace sluice::ops::coll {
namespace {

// Bytes of `count` elements of one block; none for arguments that are no good.
std::optional<std::uint64_t> bytes_of(std::int64_t count, MPI_Datatype type) {
  if (count < 0) return std::nullopt;
  const std::optional<std::uint64_t> element = element_bytes(type);
  if (!element) return std::nullopt;
  std::uint64_t bytes = 0;
  if (__builtin_mul_overflow(static_cast<std::uint64_t>(count), *element, &bytes)) return kAnyLength;
  return bytes;
}

// Bytes of all blocks, one for each rank; not between groups, where there are as many as the other one has ranks.
std::optional<std::uint64_t> bytes_of_all(const Argument &blocks, const Member &member) {
  if (blocks.counts.is_null() || member.is_inter) return std::nullopt;
  std::int64_t elements = 0;
  for (std::size_t i = 0; i < static_cast<std::size_t>(member.size); ++i) {
    if (blocks.counts.at(i) < 0 || __builtin_add_overflow(elements, blocks.counts.at(i), &elements)) {
      return std::nullopt;
    }
  }
  return bytes_of(elements, blocks.type);
}

// Of a reduction: what each rank puts in.
std::optional<std::uint64_t> bytes_of_input(const Call &call, const Member &member) {
  if (call.pattern == Pattern::kReduce && (call.root < 0 || call.root >= member.size)) return std::nullopt;
  const Argument &given = call.input();
  if (call.pattern != Pattern::kReduceScatter) return bytes_of(given.count, given.type);
  if (call.recv.counts.is_named()) return bytes_of_all(call.recv, member);
  const std::optional<std::uint64_t> bytes = bytes_of(call.recv.count, call.recv.type);
  std::uint64_t all = 0;
  if (!bytes) return std::nullopt;
  return __builtin_mul_overflow(*bytes, static_cast<std::uint64_t>(member.size), &all) ? kAnyLength : all;
}

// The argument that says how long each block is, where all blocks are of one length.
const Argument &argument_of_block(const Call &call, const Member &member) noexcept {
  const Pattern pattern = call.pattern;
  const bool is_root = call.root == member.rank;
  if (pattern == Pattern::kGather) return is_root ? call.recv : call.send;
  if (pattern == Pattern::kScatter) return is_root ? call.send : call.recv;
  return call.recv;
}

}  // namespace

std::optional<std::uint64_t> element_bytes(MPI_Datatype type) {
  transfer::LayoutPtr layout;
  if (named_layout(type, &layout)) return layout->size_bytes;
  MPI_Count size = 0;
  if (!is_valid(type) || wire::host().MPI_Type_size_x(type, &size) != MPI_SUCCESS || size < 0) return std::nullopt;
  return static_cast<std::uint64_t>(size);
}

std::optional<std::uint64_t> common_bytes(const Call &call, const Member &member) {
  if (is_reduction(call.pattern)) return bytes_of_input(call, member);
  // Who has no neighbours may give any count, and only neighbours have to agree.
  if (is_of_neighbors(call.pattern)) return kAnyLength;
  const Argument &block = argument_of_block(call, member);
  if (call.pattern == Pattern::kAllgather && block.counts.is_named()) {
    return bytes_of_all(block, member);  // all ranks have all lengths
  }
  const Argument &root = call.pattern == Pattern::kScatter ? call.send : call.recv;
  if (root.counts.is_named() || root.has_types) return kAnyLength;
  const std::optional<std::uint64_t> bytes = bytes_of(block.count, block.type);
  if (!bytes || call.pattern == Pattern::kBroadcast) return bytes;
  std::uint64_t all = 0;
  return __builtin_mul_overflow(*bytes, static_cast<std::uint64_t>(member.size), &all) ? kAnyLength : all;
}

}  // namespace sluice::ops::coll
