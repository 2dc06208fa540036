// SPDX-License-Identifier: BSD-3-Clause
// CommState: what Sluice knows of one of the program's communicators; hangs on it as an attribute. Rooms above keep
// parts of their own in it.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "plan/plan.hpp"
#include "wire/mpi.hpp"

namespace sluice::ops {

// Who keeps something on a communicator, the lower rooms first: a type, which names its entry here as Part::kPart.
enum class CommPart : std::uint8_t { kMessages, kNeighbors, kFacts, kFolds, kNode, kHostCalls, kSegments, kLevels };

// Any thread may read it: but for its parts, and what says so, it does not change once others know of it.
class CommState {
 public:
  CommState() = default;
  // The parts of higher rooms first: they may hold on to what those of lower rooms have.
  ~CommState();
  CommState(const CommState &) = delete;
  CommState &operator=(const CommState &) = delete;
  CommState(CommState &&) = delete;
  CommState &operator=(CommState &&) = delete;

  // What this process is in it; n_peers: processes of the other group, if there is one, else of its own.
  int rank = 0;
  int size = 0;
  int n_peers = 0;
  bool is_inter = false;
  // The rank in MPI_COMM_WORLD of each rank of the (remote) group; -1 for a process outside of it.
  std::vector<int> world_ranks;
  // All of its processes, in both groups, are in MPI_COMM_WORLD: they agreed on the channel.
  bool is_within_world = false;
  // And all are on this node.
  bool is_on_one_node = false;
  // Nothing else of it counts (leave_to_host()).
  bool is_left_to_host = false;
  // The program has said that only queues use it (assertions.hpp); the one member that may change later.
  std::atomic<bool> has_queues_only{false};
  // Sluice's own, for the levels of another communicator (ops/coll/levels/node_levels.hpp).
  bool is_of_levels = false;

  // What `Part` keeps here, default constructed by the first call. A part of collective operations belongs to whoever
  // is in a collective call on the communicator, of which MPI allows one at a time. Any thread. May throw
  // std::bad_alloc. Hot.
  template <typename Part>
  [[nodiscard]] Part &part() const {
    Slot &slot = slots_[static_cast<std::size_t>(Part::kPart)];
    void *found = slot.found.load(std::memory_order_acquire);
    if (found == nullptr) {  // std::call_once takes some forty instructions though it has been called
      std::call_once(slot.is_made, [&slot] {
        slot.part = std::make_shared<Part>();
        slot.found.store(slot.part.get(), std::memory_order_release);
      });
      found = slot.part.get();
    }
    return *static_cast<Part *>(found);
  }

 private:
  struct Slot {
    std::atomic<void *> found{nullptr};
    std::once_flag is_made;
    std::shared_ptr<void> part;
  };
  static constexpr std::size_t kParts = static_cast<std::size_t>(CommPart::kLevels) + 1;

  mutable std::array<Slot, kParts> slots_;
};

using CommStatePtr = std::shared_ptr<CommState>;

// The state of `comm`, made by the first call; null when there is none to be had (an invalid communicator, the channel
// is closed, no memory): messages are plain then. Held by the caller, so that MPI_Comm_free takes nothing away from an
// operation under way. Any thread. Warm: one attribute look-up.
[[nodiscard]] CommStatePtr state_of(MPI_Comm comm);

// All members leave it to the host MPI, with its duplicates: it has no state from here on, so that messages and
// collective calls on it are plain, and no call of another form takes a call's place. Before it is used. All members
// call it, or none. One thread. False: the host MPI refuses.
[[nodiscard]] bool leave_to_host(MPI_Comm comm);
// Whether that was said of it, or of what it is a duplicate of. Any thread.
[[nodiscard]] bool is_left_to_host(MPI_Comm comm);

// As state_of(), and quicker: of those that this thread has asked for lately. Hot. Any thread.
[[nodiscard]] CommStatePtr recent_state_of(MPI_Comm comm);

// The same in a collective call on `comm`, or a call about it: the communicator keeps its state until that call ends.
// Hot. Any thread.
[[nodiscard]] const CommState *state_for_call(MPI_Comm comm);

// How many communicators with a state are gone. What is remembered of a communicator by its handle, which may be given
// to another one, holds while this stays the same; MPI_COMM_WORLD stays. Any thread. Hot.
[[nodiscard]] std::uint64_t n_comms_gone() noexcept;

// What `rank` of `comm` can do, and its rank in MPI_COMM_WORLD (-1: unknown). Any thread.
[[nodiscard]] plan::Peer peer_of(MPI_Comm comm, int rank, int *world_rank);

// The members of `comm` have the channel open between them, so that each knows what the others do. Hot for
// MPI_COMM_WORLD. Any thread.
[[nodiscard]] bool is_within_channel(MPI_Comm comm);

// Takes away what hangs on MPI_COMM_WORLD, which has communicators that go while the channel is open, and gives the
// attribute key back. Collective. Call before the channel closes. One thread: that which ends MPI.
void release_comm_states() noexcept;

}  // namespace sluice::ops
