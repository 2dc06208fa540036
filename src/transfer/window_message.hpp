// SPDX-License-Identifier: BSD-3-Clause
// WindowMessage: what one rank of a window asks of another that it cannot reach itself: the header, which bytes of the
// other's memory it is about, and the operand. Bytes in, a checked message out. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "transfer/region.hpp"

namespace sluice::transfer {

enum class WindowAction : std::uint32_t {
  kPut,      // operand: the payload
  kGet,      // answered with the payload
  kUpdate,   // operand: the payload, or none; answered with what was there before, if that is wanted
  kSwap,     // operand: the payload, and behind it what has to be there; answered with what was there before
  kLock,     // answered when the lock is taken
  kUnlock,   // of what the sender has locked
  kPost,     // the sender lets the receiver access its memory
  kComplete  // the sender has ended its accesses
};

// Plain bytes, sent as they are; the runs and the operand follow.
struct WindowHeader {
  std::uint64_t nonce = 0;  // of the job
  WindowAction action = WindowAction::kPut;
  std::uint32_t reply = 0;          // the number of the answer
  std::uint32_t operation = 0;      // of kUpdate, as the ranks number them
  std::uint32_t type = 0;           // the same
  std::uint32_t flag = 0;           // kUpdate: what was there before is wanted; kLock: nobody else may hold the lock
  std::uint32_t n_runs = 0;         // of the memory
  std::uint64_t payload_bytes = 0;  // in those runs
  std::uint64_t operand_bytes = 0;
};

struct WindowMessage {
  WindowHeader header;
  std::vector<Block> runs;
  std::span<const std::byte> operand;  // in the bytes that were decoded
};

// Longer accesses go in several messages.
inline constexpr std::uint64_t kMostWindowPayloadBytes = std::uint64_t{256} << 10;
inline constexpr std::uint32_t kMostWindowRuns = 4096;
// Of a message: an operand is at most two payloads (kSwap).
inline constexpr std::uint64_t kMostWindowMessageBytes =
    sizeof(WindowHeader) + kMostWindowRuns * sizeof(Block) + 2 * kMostWindowPayloadBytes;

// The bytes of a message about `runs`, with room for the operand at their end. n_runs of the header is filled in here.
[[nodiscard]] std::vector<std::byte> encode(WindowHeader header, std::span<const Block> runs);

// False for bytes that no rank of this job encodes, whatever they are: `nonce` is the job's. All numbers of *message
// fit together then; whether the runs lie in a window is for the caller to see.
[[nodiscard]] bool decode(std::span<const std::byte> bytes, std::uint64_t nonce, WindowMessage *message);

// Whether all `runs`, which decode() has accepted, lie within the `size_bytes` from 0 on.
[[nodiscard]] bool lie_within(std::span<const Block> runs, std::uint64_t size_bytes) noexcept;

// The memory that `runs` from `base` on name, in `place`; copied by runs.
[[nodiscard]] Region region_of(std::byte *base, std::vector<Block> runs, const device::Place &place);

// Calls `visit(runs, position, bytes)` for each message that an access to the first `size_bytes` of the payload of
// `target` takes: which runs, from where on in the payload, and how long. The origin of `target` is no address here,
// but how far it lies in the window, and the runs' offsets count from there. Messages end where an element of
// `element_bytes` (> 0) does. `visit` returns whether to go on.
template <typename Visit>
void for_each_message(const Region &target, std::uint64_t size_bytes, std::uint64_t element_bytes, Visit visit) {
  const std::uint64_t most_bytes = kMostWindowPayloadBytes / element_bytes * element_bytes;
  std::vector<Block> runs;
  std::uint64_t begin = 0;
  std::uint64_t bytes = 0;
  bool goes_on = true;
  const auto hand_out = [&] {
    goes_on = visit(std::span<const Block>(runs), begin, bytes);
    begin += bytes;
    bytes = 0;
    runs.clear();
  };
  for_each_run(target, size_bytes, [&](std::byte *memory, std::uint64_t /*position*/, std::uint64_t length) {
    auto offset = static_cast<std::int64_t>(reinterpret_cast<std::intptr_t>(memory));
    while (length != 0 && goes_on) {
      const std::uint64_t part = std::min(length, most_bytes - bytes);
      runs.push_back({offset, part});
      offset += static_cast<std::int64_t>(part);
      bytes += part;
      length -= part;
      const bool is_full = runs.size() + element_bytes > kMostWindowRuns && bytes % element_bytes == 0;
      if (bytes == most_bytes || is_full) hand_out();
    }
    return goes_on;
  });
  if (goes_on && bytes != 0) hand_out();
}

}  // namespace sluice::transfer
