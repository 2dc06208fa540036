// SPDX-License-Identifier: BSD-3-Clause
// FileBlocks: a buffer in blocks as the host MPI reads or writes them. Where the file holds the bytes of memory a block
// is packed bytes, a number of etypes. In another representation the host MPI converts elements by their type: a block
// is an image of a number of elements then.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "base/status.hpp"
#include "base/trace.hpp"
#include "ops/io/call.hpp"
#include "ops/io/file_facts.hpp"
#include "ops/p2p/buffer.hpp"
#include "transfer/payload_stream.hpp"
#include "transfer/staged.hpp"
#include "wire/owned_handle.hpp"

namespace sluice::ops::io {

// Whether the data of `buffer` goes through blocks; else the host MPI is given the buffer as it is. Pure.
[[nodiscard]] inline bool goes_in_blocks(const Buffer &buffer) noexcept {
  return buffer.is_staged() && buffer.region().size_bytes() != 0;
}

// One thread at a time. Two blocks are under way at most, each in a slot of its own. When destroyed, waits for its
// copies.
class FileBlocks {
 public:
  static constexpr std::size_t kSlots = transfer::PayloadStream::kSlots;

  FileBlocks() = default;
  FileBlocks(const FileBlocks &) = delete;
  FileBlocks &operator=(const FileBlocks &) = delete;
  FileBlocks(FileBlocks &&) = delete;
  FileBlocks &operator=(FileBlocks &&) = delete;

  // Cuts `buffer`, which goes in blocks and whose memory outlives this, for a file of `facts`; into one block if
  // `is_one_access`. Takes no staging memory. Errors: freed memory, data in another representation that has no image,
  // a datatype of the host MPI's that cannot be made.
  [[nodiscard]] Status open(const Buffer &buffer, const FileFacts &facts, bool is_one_access, Operation operation);

  // 0 before, for nothing is staged then.
  [[nodiscard]] std::uint64_t n_blocks() const noexcept { return n_blocks_; }
  [[nodiscard]] std::uint64_t size_bytes() const noexcept { return region_.size_bytes(); }

  // Staging memory for a block's slot. Errors: no memory.
  [[nodiscard]] Status acquire(std::uint64_t block);
  // Whether a block that is read by `call`, into which it was put, may have less than all its bytes in the file. Host
  // MPIs tell of all of them in some calls, and leave memory as it was. Errors: none; then it may.
  [[nodiscard]] bool may_end_early(std::uint64_t block, const Call &call) noexcept;
  // Begins to bring a block down; or the first `came_bytes` of it up. An image is there when this returns. Errors:
  // those of the runtime.
  [[nodiscard]] Status begin_down(std::uint64_t block);
  [[nodiscard]] Status begin_up(std::uint64_t block, std::uint64_t came_bytes);
  // Whether what was begun for the block has ended, well or not; never blocks. Errors: those of the runtime.
  [[nodiscard]] Status poll(std::uint64_t block, bool *is_done);
  // Returns when it has. Blocks. Errors: the same.
  [[nodiscard]] Status wait(std::uint64_t block);

  // What the host MPI is given for a block, in the place of the arguments of *call; an image is of the call's own type.
  void put_into(std::uint64_t block, Call *call) const noexcept;
  // The same for no data, whatever the buffer is.
  static void put_nothing(Call *call) noexcept;

  // Payload of a block.
  [[nodiscard]] std::uint64_t block_bytes(std::uint64_t block) const noexcept;
  // For the trace.
  [[nodiscard]] trace::Piece piece(std::uint64_t block) const noexcept {
    return {block_bytes(block), static_cast<std::uint32_t>(block), static_cast<std::uint32_t>(n_blocks_)};
  }

 private:
  [[nodiscard]] static std::size_t slot_of(std::uint64_t block) noexcept { return block % kSlots; }
  [[nodiscard]] Status cut_bytes(const Buffer &buffer, std::uint64_t etype_bytes, bool is_one_access);
  [[nodiscard]] Status cut_images(const Buffer &buffer, std::uint64_t etype_bytes, bool is_one_access);
  [[nodiscard]] Status make_long_type();
  [[nodiscard]] transfer::Region elements_of(std::uint64_t block) const noexcept;
  void end_span(std::uint64_t block, const Status &moved, bool is_done) noexcept;

  transfer::Region region_;
  StagingMemory memory_ = StagingMemory::kMalloc;
  Operation operation_{};
  std::uint64_t n_blocks_ = 0;
  std::uint64_t part_bytes_ = 0;  // of each block but the last
  std::uint64_t part_etypes_ = 0;
  bool is_image_ = false;
  bool is_all_there_ = false;  // the file has the bytes of all blocks
  FileFacts facts_;
  wire::OwnedDatatype long_type_;  // of a block that no int counts
  std::array<transfer::Staged, kSlots> images_;
  transfer::PayloadStream stream_;
  struct Move {
    trace::Span span;
    bool is_down = false;
  };
  std::array<Move, kSlots> moves_;
};

}  // namespace sluice::ops::io
