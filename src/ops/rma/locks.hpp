// SPDX-License-Identifier: BSD-3-Clause
// Locks of a window: for each rank the lock of MPI_Win_lock, and one under which elements of its memory are updated.
// The ranks of a node have the words of all of them in shared memory, so that nobody's CPU is needed for a lock but its
// own; ranks elsewhere ask by a message, and the rank whose lock it is takes it for them.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "base/status.hpp"
#include "wire/shared_segment.hpp"

namespace sluice::ops::rma {

// The words of one rank. What other processes write there is believed no further than this: senseless words may keep a
// lock from being taken.
struct alignas(64) LockWords {
  std::uint64_t lock = 0;    // holders that share it; kWaiter for each that waits to have it alone; kAlone
  std::uint64_t update = 0;  // 1: held
};

// A lock as one holds it or waits for it. One thread at a time; nothing blocks.
class LockHold {
 public:
  // Of words that outlive this.
  explicit LockHold(LockWords *words, bool is_alone) noexcept : words_(words), is_alone_(is_alone) {}

  // Whether it is held from now on; the caller asks again. Who waits to hold it alone keeps newcomers out meanwhile.
  [[nodiscard]] bool try_take() noexcept;
  void give_back() noexcept;
  // Gives up waiting.
  void stop_waiting() noexcept;

 private:
  LockWords *words_;
  bool is_alone_;
  bool is_announced_ = false;
};

// Held while elements of a rank's memory are read, changed and written. Nobody takes turns or waits for others
// meanwhile. One thread at a time.
class UpdateHold {
 public:
  UpdateHold() noexcept = default;
  ~UpdateHold();
  UpdateHold(const UpdateHold &) = delete;
  UpdateHold &operator=(const UpdateHold &) = delete;
  UpdateHold(UpdateHold &&) = delete;
  UpdateHold &operator=(UpdateHold &&) = delete;

  // Whether it is held from now on, until this is destroyed. Once it is, not again.
  [[nodiscard]] bool try_take(LockWords *words) noexcept;

 private:
  LockWords *words_ = nullptr;
};

// All words that this rank reaches. Threads: any for of(). Who makes the window opens them before others know of it.
class Locks {
 public:
  // Where the ranks of the node could not share them: words of `rank`, which is this one, alone.
  void open_alone(int rank);
  // The first rank of a node makes words for all `n_ranks` of the window, and the others of the node map them by the
  // name. Errors: the system's.
  [[nodiscard]] Status create(int n_ranks, wire::SegmentName *name);
  [[nodiscard]] Status open(const wire::SegmentName &name, int n_ranks);

  // Of a rank of this node, or of this rank where it has its words alone; then null for the others.
  [[nodiscard]] LockWords *of(int rank) const noexcept;

 private:
  wire::SharedSegment segment_;
  std::unique_ptr<LockWords> own_;
  int rank_ = 0;
};

}  // namespace sluice::ops::rma
