// SPDX-License-Identifier: BSD-3-Clause
// Relay: how a message is cut that goes by way of exportable device memory of its sender's Sluice, and what its two
// ends tell each other (docs/protocol.md, "By way of exportable memory"). Pure.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace sluice::transfer {

// Longer blocks are told of less often: with 8 MiB windows of 64 MiB reach 309 GB/s on two H200s, with 4 MiB 259, and
// more slots gain nothing (docs/adr/0072).
inline constexpr std::uint64_t kRelayBlockBytes = std::uint64_t{8} << 20;
inline constexpr std::uint32_t kRelaySlots = 8;
inline constexpr std::uint64_t kRelayBytes = kRelaySlots * kRelayBlockBytes;

// The cut of one message: whole blocks, and the rest.
[[nodiscard]] constexpr std::uint64_t relay_blocks(std::uint64_t size_bytes) noexcept {
  return size_bytes / kRelayBlockBytes + (size_bytes % kRelayBlockBytes != 0 ? 1 : 0);
}
// `block` < relay_blocks(size_bytes).
[[nodiscard]] constexpr std::uint64_t relay_block_bytes(std::uint64_t size_bytes, std::uint64_t block) noexcept {
  return std::min(size_bytes - block * kRelayBlockBytes, kRelayBlockBytes);
}

// From the sender: a block is in place. Plain bytes between processes; tells_of() before it is used.
struct RelayNote {
  std::uint64_t operation = 0;
  std::uint64_t block = 0;
  std::uint64_t slot = 0;
};
static_assert(std::is_trivially_copyable_v<RelayNote> && std::has_unique_object_representations_v<RelayNote>);

// Whether the note of `came_bytes` is that of `block` of `operation`, and its slot is one.
[[nodiscard]] constexpr bool tells_of(const RelayNote &note, std::size_t came_bytes, std::uint64_t operation,
                                      std::uint64_t block) noexcept {
  return came_bytes == sizeof note && note.operation == operation && note.block == block && note.slot < kRelaySlots;
}

}  // namespace sluice::transfer
