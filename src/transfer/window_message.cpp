// SPDX-License-Identifier: BSD-3-Clause
#include "transfer/window_message.hpp"

#include <cstring>
#include <memory>
#include <utility>

namespace sluice::transfer {
namespace {

static_assert(sizeof(WindowHeader) == 48 && sizeof(Block) == 16);

// What the operand of a message has to be as long as.
bool is_operand_sound(const WindowHeader &header) noexcept {
  switch (header.action) {
    case WindowAction::kPut:
      return header.operand_bytes == header.payload_bytes;
    case WindowAction::kUpdate:
      return header.operand_bytes == header.payload_bytes || header.operand_bytes == 0;
    case WindowAction::kSwap:
      return header.operand_bytes == 2 * header.payload_bytes;
    case WindowAction::kGet:
      return header.operand_bytes == 0;
    case WindowAction::kLock:
    case WindowAction::kUnlock:
    case WindowAction::kPost:
    case WindowAction::kComplete:
      return header.n_runs == 0 && header.operand_bytes == 0;
  }
  return false;  // no action of ours
}

}  // namespace

std::vector<std::byte> encode(WindowHeader header, std::span<const Block> runs) {
  header.n_runs = static_cast<std::uint32_t>(runs.size());
  std::vector<std::byte> bytes(sizeof header + runs.size_bytes() + header.operand_bytes);
  std::memcpy(bytes.data(), &header, sizeof header);
  if (!runs.empty()) std::memcpy(bytes.data() + sizeof header, runs.data(), runs.size_bytes());
  return bytes;
}

bool decode(std::span<const std::byte> bytes, std::uint64_t nonce, WindowMessage *message) {
  WindowHeader &header = message->header;
  if (bytes.size() < sizeof header) return false;
  std::memcpy(&header, bytes.data(), sizeof header);
  if (header.nonce != nonce || header.n_runs > kMostWindowRuns || header.payload_bytes > kMostWindowPayloadBytes ||
      !is_operand_sound(header)) {
    return false;
  }
  const std::size_t operand_from = sizeof header + header.n_runs * sizeof(Block);
  if (bytes.size() != operand_from + header.operand_bytes) return false;
  message->runs.resize(header.n_runs);
  if (header.n_runs != 0) {
    std::memcpy(message->runs.data(), bytes.data() + sizeof header, header.n_runs * sizeof(Block));
  }
  std::uint64_t payload_bytes = 0;
  for (const Block &run : message->runs) {
    if (run.size_bytes == 0 || run.size_bytes > kMostWindowPayloadBytes) return false;
    payload_bytes += run.size_bytes;
  }
  message->operand = bytes.subspan(operand_from);
  return payload_bytes == header.payload_bytes;
}

bool lie_within(std::span<const Block> runs, std::uint64_t size_bytes) noexcept {
  return std::all_of(runs.begin(), runs.end(), [size_bytes](const Block &run) {
    return run.offset_bytes >= 0 && run.size_bytes <= size_bytes &&
           static_cast<std::uint64_t>(run.offset_bytes) <= size_bytes - run.size_bytes;
  });
}

Region region_of(std::byte *base, std::vector<Block> runs, const device::Place &place) {
  Region region;
  region.place = place;
  region.origin = base;
  region.count = 1;
  if (runs.size() == 1) region.origin = at(base, runs.front().offset_bytes);
  auto layout = std::make_shared<Layout>();
  for (const Block &run : runs) {
    const std::int64_t end = run.offset_bytes + static_cast<std::int64_t>(run.size_bytes);
    layout->first_byte = layout->size_bytes == 0 ? run.offset_bytes : std::min(layout->first_byte, run.offset_bytes);
    layout->end_byte = layout->size_bytes == 0 ? end : std::max(layout->end_byte, end);
    layout->size_bytes += run.size_bytes;
  }
  if (runs.size() == 1) {
    *layout = Layout::basic(layout->size_bytes);
  } else {
    layout->extent_bytes = layout->end_byte;
    layout->is_contiguous = runs.empty();
    layout->blocks = std::move(runs);
  }
  region.layout = std::move(layout);
  return region;
}

}  // namespace sluice::transfer
