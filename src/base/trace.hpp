// SPDX-License-Identifier: BSD-3-Clause
// Trace: when each copy and each message of the host MPI was under way (SLUICE_TRACE; docs/trace.md). Spans are kept in
// memory and written at MPI_Finalize. All of it: any thread, but for a Span.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/status.hpp"
#include "base/types.hpp"

namespace sluice::trace {

// What a span occupies. Nothing of Sluice's runs in kernels yet; the lane is there, so that a reader sees that.
enum class Lane : std::uint8_t { kD2h, kWire, kH2d, kKernel, kD2d, kFile };
inline constexpr std::array<std::string_view, 6> kLaneNames = {"D2H", "wire", "H2D", "kernel", "D2D", "file"};

// Of the file; one that reads it refuses others (otherData.format).
inline constexpr int kFormat = 1;

// As many spans are kept, of 64 bytes; those that come later are counted and dropped.
inline constexpr std::size_t kMostSpans = std::size_t{1} << 16;

// Whose payload a span moves, as the program sees it.
struct Message {
  Operation operation = Operation::kSend;
  int peer = -1;             // the rank at the other end, in the program's communicator
  int tag = -1;              // the program's
  int sender = -1;           // rank in MPI_COMM_WORLD; with `number` the same at both ends; -1: not known to both
  std::uint64_t number = 0;  // of the sender's operation
};

// Which part of the message.
struct Piece {
  std::uint64_t size_bytes = 0;
  std::uint32_t block = 0;
  std::uint32_t n_blocks = 1;
};

namespace detail {
inline std::atomic<bool> enabled{false};
}  // namespace detail

// Switches tracing on, for good: takes the memory and reads the clocks. Throws std::bad_alloc.
void enable();
// Hot.
[[nodiscard]] inline bool is_enabled() noexcept {
  return detail::enabled.load(std::memory_order_relaxed);
}

// The time between a submission and the moment at which its end was noticed. One thread at a time. Costs one load when
// tracing is off.
class Span {
 public:
  // Something was submitted just now. A span that is begun and not ended leaves nothing in the trace.
  void begin() noexcept { begin_ns_ = is_enabled() ? now_ns() : 0; }
  // It has ended well. Nothing happens when begin() was not called, or after end() or abandon().
  void end(Lane lane, const Message &message, const Piece &piece) noexcept {
    if (begin_ns_ != 0) record(lane, message, piece);
  }
  void abandon() noexcept { begin_ns_ = 0; }
  // False when tracing is off.
  [[nodiscard]] bool is_begun() const noexcept { return begin_ns_ != 0; }

 private:
  [[nodiscard]] static std::int64_t now_ns() noexcept;
  void record(Lane lane, const Message &message, const Piece &piece) noexcept;

  std::int64_t begin_ns_ = 0;  // 0: not begun
};

// The trace as the JSON of docs/trace.md; `rank` is this process's in MPI_COMM_WORLD.
[[nodiscard]] std::string to_json(int rank);

// The file that SLUICE_TRACE=`name` means for `rank`: %r becomes the rank; without %r the rank goes before ".json".
[[nodiscard]] std::string file_of(std::string_view name, int rank);

// Writes to_json() to `path`. Blocks. Errors: those of write_file(); a part may be there.
[[nodiscard]] Status write(const std::string &path, int rank);

// Forgets all spans. For tests.
void reset() noexcept;

}  // namespace sluice::trace
