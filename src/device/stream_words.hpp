// SPDX-License-Identifier: BSD-3-Clause
// StreamWords: the two words between the host and a stream of the program's, in memory of the backend's.
//
// A stream may look at its words long after whoever used them is gone: a wait that was enqueued stays enqueued. So
// words are given up with a mark that the stream itself writes when it is past all commands on them; until then they
// stay as they are, and nobody else gets them. They are kept for the next one: to make such memory while a stream waits
// may make the runtime wait for that stream.
#pragma once

#include <cstdint>

#include "base/status.hpp"
#include "device/backend.hpp"

namespace sluice::device {

struct StreamWords {
  const Backend *backend = nullptr;
  std::int32_t device = 0;
  std::uint64_t *trigger = nullptr;     // written by the stream
  std::uint64_t *completion = nullptr;  // written by the host; on a cache line of its own

  // What the stream writes to `trigger` behind all other commands.
  static constexpr std::uint64_t kGivenUp = std::uint64_t{1} << 62U;
};

// Words that nobody uses, both 0. Any thread. May allocate. Errors: the runtime has no memory for them.
[[nodiscard]] Status acquire_words(const Backend *backend, std::int32_t device, StreamWords *words);

// Gives words back. `is_marked`: the stream was told to write kGivenUp; else no command on them is left. Any thread.
void release_words(const StreamWords &words, bool is_marked) noexcept;

// Frees the memory of all words that no stream can look at any more. Before the backends are shut down, and in tests.
// Returns how many pieces of such memory are left. Any thread.
std::size_t free_words() noexcept;

}  // namespace sluice::device
