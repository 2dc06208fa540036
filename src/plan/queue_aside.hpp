// SPDX-License-Identifier: BSD-3-Clause
// The choice whether a batch's messages that a stream carries itself go in the program's stream, or aside of it
// (docs/adr/0052). Pure, as plan.hpp. Nothing but time hangs on it, and nothing of the other side's.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace sluice::plan {

// The values of SLUICE_QUEUE_ASIDE, in its order.
enum class QueueAside : std::uint8_t { kAuto, kAlways, kNever };
inline constexpr std::array<std::string_view, 3> kQueueAsideNames = {"auto", "always", "never"};
[[nodiscard]] constexpr std::string_view name(QueueAside aside) noexcept {
  return kQueueAsideNames.at(static_cast<std::size_t>(aside));
}
// kAuto for a word that is none of them, which the knob's table refuses.
[[nodiscard]] constexpr QueueAside queue_aside_of(std::string_view word) noexcept {
  for (std::size_t i = 0; i < kQueueAsideNames.size(); ++i) {
    if (kQueueAsideNames.at(i) == word) return static_cast<QueueAside>(i);
  }
  return QueueAside::kAuto;
}

// From so long on between a start and its wait the program is taken to have given its stream work there: a launch takes
// a driver 2 us or more, and two calls one behind the other less than 0.5.
inline constexpr std::uint64_t kLeastWorkNs = 1500;

struct QueueAsideQuery {
  QueueAside wanted = QueueAside::kAuto;  // SLUICE_QUEUE_ASIDE
  bool has_side = false;                  // of the stream
  bool is_unjoined = false;               // something went aside that the stream has not been told to wait for
  // How long the host took from the return of its last start to the wait for it, in nanoseconds; none before the first.
  std::optional<std::uint64_t> between_ns;
};

enum class QueueAsideReason : std::uint8_t { kAsked, kSwitchedOff, kNoSide, kUnjoined, kUnknown, kWork, kNoWork };

struct QueueAsidePlan {
  bool is_aside = false;
  QueueAsideReason reason = QueueAsideReason::kUnknown;
  friend constexpr bool operator==(const QueueAsidePlan &, const QueueAsidePlan &) = default;
};

// The choice. Hot. Aside costs the device a microsecond or two where nothing runs meanwhile, and in the stream as long
// as the send takes where something would have. What follows something that is not joined goes aside, too: in the
// stream it would have to wait for that.
[[nodiscard]] constexpr QueueAsidePlan choose_queue_aside(const QueueAsideQuery &query) noexcept {
  using enum QueueAsideReason;
  if (query.wanted == QueueAside::kNever) return {false, kSwitchedOff};
  if (!query.has_side) return {false, kNoSide};
  if (query.wanted == QueueAside::kAlways) return {true, kAsked};
  if (query.is_unjoined) return {true, kUnjoined};
  if (!query.between_ns) return {false, kUnknown};
  return *query.between_ns >= kLeastWorkNs ? QueueAsidePlan{true, kWork} : QueueAsidePlan{false, kNoWork};
}

// Whether receives go aside, too, where the sends of their batch would, and are taken while the program's work runs,
// and not behind its wait. Not behind others that the stream does not wait for yet: what is received later may have
// come earlier, and the program may ask for it by its request. Hot.
[[nodiscard]] constexpr QueueAsidePlan choose_receives_aside(const QueueAsidePlan &sends, bool has_side,
                                                             bool are_unjoined) noexcept {
  if (!sends.is_aside) return sends;
  if (!has_side) return {false, QueueAsideReason::kNoSide};
  if (are_unjoined) return {false, QueueAsideReason::kUnjoined};
  return sends;
}

// One line for people: "queue sends, auto, 3200 ns from start to wait -> aside: the program has work there, which ...".
[[nodiscard]] std::string explain(const QueueAsideQuery &query, const QueueAsidePlan &plan);
// "queue receives -> at the wait: this stream has no side".
[[nodiscard]] std::string explain_receives(const QueueAsidePlan &plan);

}  // namespace sluice::plan
