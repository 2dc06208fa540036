// SPDX-License-Identifier: BSD-3-Clause
// The answers to a window's messages: whether it was done, and the data or the reason. Pure: any thread.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <vector>

#include "base/bad_peer.hpp"
#include "base/status.hpp"

namespace sluice::ops::rma {

inline constexpr int kRequestTag = 0;
// The tag of the answer number `reply`, which begins with 1.
[[nodiscard]] constexpr int answer_tag(std::uint32_t reply) noexcept {
  return static_cast<int>(reply);
}
inline constexpr std::uint32_t kMostReply = 4096;
// Of signals of queues, which have no bytes (ops/queue/one_sided.hpp).
inline constexpr int kSignalTag = static_cast<int>(kMostReply) + 1;

// Plain bytes, sent as they are; the data or the text follows.
struct AnswerHeader {
  std::uint32_t kind = 0;  // of the error
  std::uint32_t unused = 0;
};
inline constexpr std::size_t kMostAnswerText = 256;

[[nodiscard]] inline std::vector<std::byte> make_answer(const Status &status, std::span<const std::byte> data) {
  const AnswerHeader header{static_cast<std::uint32_t>(status.kind()), 0};
  const std::string text = status.message().substr(0, kMostAnswerText);
  const std::span<const std::byte> behind = status.is_ok() ? data : std::as_bytes(std::span(text));
  std::vector<std::byte> bytes(sizeof header + behind.size());
  std::memcpy(bytes.data(), &header, sizeof header);
  if (!behind.empty()) std::memcpy(bytes.data() + sizeof header, behind.data(), behind.size());
  return bytes;
}

// What a peer has answered to a question about `data_bytes`: *data is as long, in `bytes`, or there is an error.
[[nodiscard]] inline Status read_answer(std::span<const std::byte> bytes, std::uint64_t data_bytes,
                                        std::span<const std::byte> *data) {
  AnswerHeader header;
  if (bytes.size() >= sizeof header) {
    std::memcpy(&header, bytes.data(), sizeof header);
    const std::span<const std::byte> behind = bytes.subspan(sizeof header);
    if (header.kind == static_cast<std::uint32_t>(ErrorKind::kNone) && behind.size() == data_bytes) {
      *data = behind;
      return {};
    }
    if (header.kind != static_cast<std::uint32_t>(ErrorKind::kNone) &&
        header.kind <= static_cast<std::uint32_t>(ErrorKind::kInternal)) {
      const auto *text = reinterpret_cast<const char *>(behind.data());
      return Status::error(static_cast<ErrorKind>(header.kind), std::string(text, behind.size()));
    }
  }
  return bad_peer("a rank of a window answered what makes no sense");
}

}  // namespace sluice::ops::rma
