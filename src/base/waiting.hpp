// SPDX-License-Identifier: BSD-3-Clause
// The table of waits: what the threads of this process wait for, in a page of memory that `sluice doctor --job` reads
// from outside (docs/adr/0082). This header has the layout of the page, and the functions that write it.
#pragma once

#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string_view>

#include "base/types.hpp"

namespace sluice::waiting {

inline constexpr const char *kFileName = "sluice-waiting";
inline constexpr std::uint64_t kMagic = 0x7469617765637573;
inline constexpr std::uint32_t kFormat = 1;

inline constexpr std::int32_t kNobody = -1;
inline constexpr std::int32_t kAnybody = -2;
inline constexpr std::int32_t kNoTag = std::numeric_limits<std::int32_t>::min();
inline constexpr std::int32_t kAnyTag = kNoTag + 1;
inline constexpr std::uint64_t kUnknownBytes = std::numeric_limits<std::uint64_t>::max();
inline constexpr std::uint8_t kNoRoute = 255;

enum class Direction : std::uint8_t { kNone, kReceives, kSends };

// Text of up to 31 bytes, with a zero behind it. A longer one is cut.
using Text = std::array<char, 32>;
void put(std::string_view text, Text *to) noexcept;  // any thread

// One wait. A value.
struct Wait {
  std::int64_t begun_ns = 0;  // of the monotonic clock; 0: not known
  std::uint64_t size_bytes = kUnknownBytes;
  std::int32_t peer = kNobody;        // in the communicator
  std::int32_t world_peer = kNobody;  // in MPI_COMM_WORLD
  std::int32_t tag = kNoTag;
  std::uint8_t route = kNoRoute;  // a Route
  Direction direction = Direction::kNone;
  std::uint8_t is_in_host = 0;  // in a blocking call of the host MPI, which Sluice made
  std::uint8_t unused = 0;
  Text function{};      // as the program called it
  Text communicator{};  // its name; empty: not known
};

inline constexpr std::size_t kWords = sizeof(Wait) / sizeof(std::uint64_t);
using Words = std::array<std::uint64_t, kWords>;
static_assert(sizeof(Wait) == sizeof(Words));

// A slot belongs to one thread. `sequence` is odd while the thread writes, and `is_used` says that a wait stands there.
struct Slot {
  std::atomic<std::uint32_t> sequence{0};
  std::atomic<std::uint32_t> is_used{0};
  std::array<std::atomic<std::uint64_t>, kWords> words{};
};

inline constexpr std::size_t kSlots = 32;

struct Page {
  std::uint64_t magic = kMagic;
  std::uint32_t format = kFormat;
  std::uint32_t n_slots = kSlots;
  std::int32_t pid = 0;  // as the process itself sees it
  std::int32_t rank = 0;
  std::int32_t size = 0;  // of MPI_COMM_WORLD
  std::int32_t unused = 0;
  std::array<Slot, kSlots> slots{};
};
static_assert(sizeof(Page) <= 4096);

// Makes the page. Without one (the kernel refuses it) the rest does nothing. One thread, from MPI_Init.
void open(int rank, int size) noexcept;
// Takes it away. One thread, from MPI_Finalize: no other is in MPI then.
void close() noexcept;

// Writes what the calling thread waits for, and takes it away. Nothing where all slots have threads. Any thread.
void write(const Wait &wait) noexcept;
void clear() noexcept;

// The words of a call that may wait: `tell` adds what it knows of `subject` to a wait, once the wait has become slow.
// Lies on the stack of the thread. One thread.
class Described {
 public:
  using Tell = void (*)(const void *subject, Wait *wait) noexcept;
  Described(Tell tell, const void *subject) noexcept;
  ~Described();
  Described(const Described &) = delete;
  Described &operator=(const Described &) = delete;
  Described(Described &&) = delete;
  Described &operator=(Described &&) = delete;

  // Writes the calling thread's wait, which began at `begun_ns`: of the outermost call, with what the inner ones add.
  // Nothing in a thread without a Described. Any thread.
  static void write_slow(std::int64_t begun_ns) noexcept;

 private:
  void add_to(Wait *wait) const noexcept;

  const Tell tell_;
  const void *const subject_;
  const Described *const outer_;
};

// Stands around a blocking call of the host MPI's that Sluice makes on memory of its own. One thread.
class InHost {
 public:
  // `is_wanted`: there is something to tell. Else this costs a comparison.
  InHost(bool is_wanted, Described::Tell tell, const void *subject) noexcept : is_told_(is_wanted) {
    if (is_told_) begin(tell, subject);
  }
  ~InHost() {
    if (is_told_) clear();
  }
  InHost(const InHost &) = delete;
  InHost &operator=(const InHost &) = delete;
  InHost(InHost &&) = delete;
  InHost &operator=(InHost &&) = delete;

 private:
  static void begin(Described::Tell tell, const void *subject) noexcept;

  const bool is_told_;
};

// The descriptor of the page; -1: there is none. For tests. One thread.
[[nodiscard]] int descriptor() noexcept;

}  // namespace sluice::waiting
