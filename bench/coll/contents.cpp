// SPDX-License-Identifier: BSD-3-Clause
// What the buffers of a checked collective hold.
#include "bench/coll/contents.hpp"

#include <fmt/format.h>

#include "bench/memory/numbers.hpp"
#include "bench/memory/pattern.hpp"

namespace sluice::bench {
namespace {

// Hands each block's bytes to `action`, until one of them returns a text.
template <class Bytes, class Action>
std::string for_each_block(Bytes buffer, const std::vector<Block> &blocks, std::uint64_t element_size, Action action) {
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    const Block &block = blocks[i];
    const std::string text = action(i, block, buffer.subspan(block.begin * element_size, block.n * element_size));
    if (!text.empty()) {
      return text;
    }
  }
  return "";
}

Pattern bytes_for(const Block &block, std::uint64_t iteration) {
  return {static_cast<std::uint32_t>(block.rank), iteration, block.message};
}

Numbers numbers_for(const Block &block, const Contents &contents) {
  return {contents.type, contents.operation, {block.rank, block.n_ranks, contents.n_ranks}, contents.iteration};
}

}  // namespace

std::uint64_t Contents::bytes_of(const std::vector<Block> &blocks) const {
  return blocks.empty() ? 0 : (blocks.back().begin + blocks.back().n) * element_bytes(type);
}

void Contents::fill(std::span<std::byte> buffer, const std::vector<Block> &blocks) const {
  for_each_block(buffer, blocks, element_bytes(type), [&](std::size_t, const Block &block, std::span<std::byte> bytes) {
    if (is_reduction) {
      numbers_for(block, *this).fill(bytes, block.element);
    } else {
      bytes_for(block, iteration).fill(bytes);
    }
    return std::string();
  });
}

void Contents::poison(std::span<std::byte> buffer, const std::vector<Block> &blocks) const {
  fill(buffer, blocks);
  complement(buffer);
}

Expectations Contents::expectations(const std::vector<Block> &blocks) const {
  const std::uint64_t n_bytes = element_bytes(type);
  Expectations all;
  for (const Block &block : blocks) {
    const sluice_check_source_t source =
        is_reduction ? numbers_for(block, *this).source() : bytes_for(block, iteration).source();
    all.push_back({block.begin * n_bytes, block.n * n_bytes, source, is_reduction ? block.element * n_bytes : 0});
  }
  return all;
}

std::string Contents::find_error(std::span<const std::byte> buffer, const std::vector<Block> &blocks) const {
  return for_each_block(
      buffer, blocks, element_bytes(type), [&](std::size_t i, const Block &block, std::span<const std::byte> bytes) {
        const std::string wrong = is_reduction ? numbers_for(block, *this).find_error(bytes, block.element)
                                               : bytes_for(block, iteration).find_error(bytes);
        const std::string whose = block.n_ranks == 1
                                      ? fmt::format("of rank {}", block.rank)
                                      : fmt::format("of ranks {} to {}", block.rank, block.rank + block.n_ranks - 1);
        return wrong.empty() ? "" : fmt::format("block {} ({}), {}", i, whose, wrong);
      });
}

}  // namespace sluice::bench
