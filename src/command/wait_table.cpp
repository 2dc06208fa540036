// SPDX-License-Identifier: BSD-3-Clause
#include "command/wait_table.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstring>

namespace sluice::command {
namespace {

using waiting::Page;

struct SlotWords {
  std::uint32_t sequence = 0;
  std::uint32_t is_used = 0;
  waiting::Words words{};
  bool operator==(const SlotWords &) const = default;
};
static_assert(sizeof(SlotWords) == sizeof(waiting::Slot));

template <typename Value>
Value value_at(const Look &look, std::size_t offset) {
  Value value;
  std::memcpy(&value, look.bytes.data() + offset, sizeof value);
  return value;
}

SlotWords slot_at(const Look &look, std::size_t index) {
  return value_at<SlotWords>(look, offsetof(Page, slots) + index * sizeof(waiting::Slot));
}

std::string printable(const waiting::Text &text) {
  const auto *const end = std::find(text.begin(), text.end(), '\0');
  std::string made(text.begin(), end);
  std::replace_if(made.begin(), made.end(), [](char c) { return c < ' ' || c > '~'; }, '?');
  return made;
}

}  // namespace

std::optional<Look> look_at_table(int file) {
  Look look;
  look.bytes.resize(sizeof(Page));
  const ssize_t n_read = pread(file, look.bytes.data(), look.bytes.size(), 0);
  if (n_read != static_cast<ssize_t>(sizeof(Page))) return std::nullopt;
  return look;
}

std::optional<WaitTable> compare_looks(const Look &first, const Look &second) {
  if (first.bytes.size() != sizeof(Page) || second.bytes.size() != sizeof(Page)) return std::nullopt;
  if (!std::equal(first.bytes.begin(), first.bytes.begin() + offsetof(Page, slots), second.bytes.begin())) {
    return std::nullopt;
  }
  if (value_at<std::uint64_t>(first, offsetof(Page, magic)) != waiting::kMagic ||
      value_at<std::uint32_t>(first, offsetof(Page, format)) != waiting::kFormat ||
      value_at<std::uint32_t>(first, offsetof(Page, n_slots)) != waiting::kSlots) {
    return std::nullopt;
  }
  WaitTable table;
  table.pid = value_at<std::int32_t>(first, offsetof(Page, pid));
  table.rank = value_at<std::int32_t>(first, offsetof(Page, rank));
  table.size = value_at<std::int32_t>(first, offsetof(Page, size));
  if (table.pid <= 0 || table.rank < 0 || table.rank >= table.size) return std::nullopt;
  for (std::size_t i = 0; i < waiting::kSlots; ++i) {
    const SlotWords slot = slot_at(first, i);
    // A slot that is written meanwhile has another number afterwards, or an odd one.
    if (slot.is_used != 1 || slot.sequence % 2 != 0 || slot != slot_at(second, i)) continue;
    SeenWait seen{std::bit_cast<waiting::Wait>(slot.words), {}, {}};
    if (seen.wait.route >= kRouteNames.size()) seen.wait.route = waiting::kNoRoute;
    if (seen.wait.direction > waiting::Direction::kSends) seen.wait.direction = waiting::Direction::kNone;
    if (seen.wait.peer < waiting::kAnybody) seen.wait.peer = waiting::kNobody;
    if (seen.wait.world_peer >= table.size) seen.wait.world_peer = waiting::kNobody;
    seen.function = printable(seen.wait.function);
    seen.communicator = printable(seen.wait.communicator);
    table.waits.push_back(std::move(seen));
  }
  return table;
}

}  // namespace sluice::command
