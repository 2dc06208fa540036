// SPDX-License-Identifier: BSD-3-Clause
#include "tests/layout/buffers.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <limits>

namespace sluice::tests {
namespace {

constexpr std::int64_t kMargin = 32;
constexpr unsigned kGapSalt = 0xA5;

std::atomic<int> n_errors{0};
std::string first_error;

void count_error(MPI_Comm * /*communicator*/, int *code, ... /*host's own*/) {
  std::string text(MPI_MAX_ERROR_STRING, ' ');
  int length = 0;
  if (wire::host().MPI_Error_string(*code, text.data(), &length) != MPI_SUCCESS) length = 0;
  if (n_errors++ == 0) first_error = text.substr(0, static_cast<std::size_t>(length));
}

unsigned char pattern(std::size_t position, unsigned salt) {
  return static_cast<unsigned char>(position * 7 + position / 256 * 13 + salt);
}

// A contiguous layout has no list of blocks; this is what the list stands for.
std::vector<transfer::Block> blocks_of(const transfer::Layout &layout) {
  if (!layout.is_contiguous) return layout.blocks;
  if (layout.size_bytes == 0) return {};
  return {{0, layout.size_bytes}};
}

std::string compare_bytes(const char *what, const Bytes &expected, const Bytes &found) {
  if (expected.size() != found.size()) {
    return fmt::format("{}: {} bytes, not {}", what, found.size(), expected.size());
  }
  const auto at = std::mismatch(expected.begin(), expected.end(), found.begin()).first - expected.begin();
  return static_cast<std::size_t>(at) == expected.size() ? "" : fmt::format("{}: byte {} differs", what, at);
}

std::string compare_figures(MPI_Datatype type, const transfer::Layout &layout) {
  const wire::Host &mpi = wire::host();
  MPI_Count size = 0;
  MPI_Count lower = 0;
  MPI_Count extent = 0;
  MPI_Count first = 0;
  MPI_Count true_extent = 0;
  if (mpi.MPI_Type_size_x(type, &size) != MPI_SUCCESS ||
      mpi.MPI_Type_get_extent_x(type, &lower, &extent) != MPI_SUCCESS ||
      mpi.MPI_Type_get_true_extent_x(type, &first, &true_extent) != MPI_SUCCESS) {
    return "the host MPI gives no figures";
  }
  if (static_cast<std::uint64_t>(size) != layout.size_bytes) return "the size differs";
  if (extent != layout.extent_bytes) return "the extent differs";
  const std::vector<transfer::Block> blocks = blocks_of(layout);
  if (blocks.empty()) return layout.first_byte == 0 ? "" : "no byte, but a first one";
  // The true bounds of some hosts are wider than the type; MPICH's of distributed arrays are.
  if (layout.first_byte < first) return fmt::format("the first byte is {}, below {}", layout.first_byte, first);
  std::uint64_t sum = 0;
  std::int64_t lowest = blocks[0].offset_bytes;
  for (std::size_t k = 0; k < blocks.size(); ++k) {
    sum += blocks[k].size_bytes;
    lowest = std::min(lowest, blocks[k].offset_bytes);
    const auto end = blocks[k].offset_bytes + static_cast<std::int64_t>(blocks[k].size_bytes);
    if (blocks[k].size_bytes == 0) return "an empty block";
    if (k + 1 < blocks.size() && end == blocks[k + 1].offset_bytes) return "neighbours are not merged";
    if (end > first + true_extent) return "a block ends behind the type";
  }
  if (lowest != layout.first_byte) return fmt::format("the first byte is {}, not {}", layout.first_byte, lowest);
  if (sum != layout.size_bytes) return "the blocks do not add up";
  const bool is_run = blocks.size() == 1 && blocks[0].offset_bytes == 0 && extent == size;
  return is_run == layout.is_contiguous ? "" : "is_contiguous is wrong";
}

}  // namespace

Elements::Elements(MPI_Datatype type, int count, unsigned salt) {
  MPI_Count lower = 0;
  MPI_Count extent = 0;
  MPI_Count first = 0;
  MPI_Count true_extent = 0;
  const wire::Host &mpi = wire::host();
  if (mpi.MPI_Type_get_extent_x(type, &lower, &extent) != MPI_SUCCESS ||
      mpi.MPI_Type_get_true_extent_x(type, &first, &true_extent) != MPI_SUCCESS) {
    return;
  }
  const std::int64_t last = std::max(count - 1, 0) * static_cast<std::int64_t>(extent);
  const std::int64_t low = std::min<std::int64_t>({0, first, first + last});
  const std::int64_t high = std::max<std::int64_t>({0, first + true_extent, first + true_extent + last});
  offset_ = kMargin - low;
  bytes_.resize(static_cast<std::size_t>(high - low + 2 * kMargin));
  for (std::size_t k = 0; k < bytes_.size(); ++k) bytes_[k] = pattern(k, salt);
}

Bytes pack(const void *origin, int count, MPI_Datatype type) {
  int capacity = 0;
  int position = 0;
  const wire::Host &mpi = wire::host();
  if (mpi.MPI_Pack_size(count, type, MPI_COMM_SELF, &capacity) != MPI_SUCCESS) return {};
  Bytes packed(static_cast<std::size_t>(capacity) + 1);
  if (mpi.MPI_Pack(origin, count, type, packed.data(), capacity, &position, MPI_COMM_SELF) != MPI_SUCCESS) return {};
  packed.resize(static_cast<std::size_t>(position));
  return packed;
}

void unpack(const Bytes &packed, void *origin, int count, MPI_Datatype type) {
  int position = 0;
  static_cast<void>(wire::host().MPI_Unpack(packed.data(), static_cast<int>(packed.size()), &position, origin, count,
                                            type, MPI_COMM_SELF));  // what it wrote is compared
}

Bytes gather(const unsigned char *origin, int count, const transfer::Layout &layout) {
  Bytes packed;
  const std::vector<transfer::Block> blocks = blocks_of(layout);
  for (int k = 0; k < count; ++k) {
    for (const transfer::Block &block : blocks) {
      const unsigned char *first = origin + k * layout.extent_bytes + block.offset_bytes;
      packed.insert(packed.end(), first, first + block.size_bytes);
    }
  }
  return packed;
}

void scatter(const Bytes &packed, unsigned char *origin, int count, const transfer::Layout &layout) {
  const std::vector<transfer::Block> blocks = blocks_of(layout);
  const unsigned char *from = packed.data();
  for (int k = 0; k < count; ++k) {
    for (const transfer::Block &block : blocks) {
      std::memcpy(origin + k * layout.extent_bytes + block.offset_bytes, from, block.size_bytes);
      from += block.size_bytes;
    }
  }
}

bool is_receivable(const transfer::Layout &layout, int count) {
  std::vector<transfer::Block> all;
  for (int k = 0; k < count; ++k) {
    for (const transfer::Block &block : blocks_of(layout)) {
      all.push_back({block.offset_bytes + k * layout.extent_bytes, block.size_bytes});
    }
  }
  std::sort(all.begin(), all.end(), [](const auto &a, const auto &b) { return a.offset_bytes < b.offset_bytes; });
  for (std::size_t k = 0; k + 1 < all.size(); ++k) {
    if (all[k].offset_bytes + static_cast<std::int64_t>(all[k].size_bytes) > all[k + 1].offset_bytes) return false;
  }
  return true;
}

std::string difference(MPI_Datatype type, int count, const transfer::Layout &layout) {
  if (std::string text = compare_figures(type, layout); !text.empty()) return text;
  Elements source(type, count, static_cast<unsigned>(count));
  const Bytes expected = pack(source.origin(), count, type);
  const Bytes gathered = gather(source.origin(), count, layout);
  if (std::string text = compare_bytes("gathered", expected, gathered); !text.empty()) return text;
  if (!is_receivable(layout, count)) return "";
  Elements by_host(type, count, kGapSalt);
  Elements by_layout(type, count, kGapSalt);
  unpack(expected, by_host.origin(), count, type);
  scatter(expected, by_layout.origin(), count, layout);
  return compare_bytes("scattered", by_host.bytes(), by_layout.bytes());
}

void watch_errors() {
  const wire::Host &mpi = wire::host();
  MPI_Errhandler handler = MPI_ERRHANDLER_NULL;
  if (mpi.MPI_Comm_create_errhandler(count_error, &handler) != MPI_SUCCESS ||
      mpi.MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler) != MPI_SUCCESS ||
      mpi.MPI_Comm_set_errhandler(MPI_COMM_SELF, handler) != MPI_SUCCESS ||
      mpi.MPI_Errhandler_free(&handler) != MPI_SUCCESS) {
    ++n_errors;
  }
}

std::string errors_seen() {
  return n_errors == 0 ? "" : fmt::format("{} errors, the first: {}", n_errors.load(), first_error);
}

}  // namespace sluice::tests
