// SPDX-License-Identifier: BSD-3-Clause
// LevelGroup: what calls with requests that go in two levels share (docs/adr/0030): communicators of ours, and the
// order of the calls in them. Hangs on the program's communicator, and goes with it, or with the last call under way.
//
// MPI has the collective calls of a communicator started in one order on all ranks. A call's later steps are started
// when its earlier ones are complete, at times that differ from rank to rank. So each step has a communicator of its
// own, and in each the calls come in the order in which the program made them: a call takes a step only when all calls
// before it have taken that one or will not take it. No call waits for the end of another.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <utility>

#include "base/status.hpp"
#include "ops/coll/levels/node_levels.hpp"
#include "ops/coll/node/node_group.hpp"
#include "ops/coll/segments/segment_group.hpp"
#include "ops/comm/agreement.hpp"
#include "ops/comm/attempts.hpp"
#include "ops/comm/staging_comm.hpp"
#include "plan/levels.hpp"

namespace sluice::ops::coll {

// In the order in which a call takes them. One that stays flat takes none, and is started in the turn of the first.
enum class LevelPhase : std::uint8_t { kNode, kLane, kShare };
inline constexpr std::size_t kLevelPhases = 3;

// Threads: any; each function holds the lock of the group, and none waits for another rank. An error of the host MPI is
// kept: failure() has it, is_ready() is true, and hear() has an answer for all calls from then on.
class LevelGroup {
 public:
  // That of `comm`, which has `levels`; the first call, on all ranks the same one, begins to make it. Local. Errors:
  // those of the host MPI. State: then the next call begins anew, and *group is as it was; so it is without an error
  // where nothing is known of `comm`.
  [[nodiscard]] static Status of(MPI_Comm comm, std::shared_ptr<NodeLevels> levels, std::shared_ptr<LevelGroup> *group);

  explicit LevelGroup(std::shared_ptr<NodeLevels> levels) noexcept : levels_(std::move(levels)) {}
  LevelGroup(const LevelGroup &) = delete;
  LevelGroup &operator=(const LevelGroup &) = delete;
  LevelGroup(LevelGroup &&) = delete;
  LevelGroup &operator=(LevelGroup &&) = delete;
  ~LevelGroup() = default;

  [[nodiscard]] const NodeMap &map() const noexcept { return levels_->map(); }

  // Takes steps towards its communicators. True: those are there, or it has failed.
  [[nodiscard]] bool is_ready();

  // What a rank says that has an error already: all get one then.
  static constexpr int kFailed = -1;
  // One more call, named by an address, in the order in which the program makes them, which is that of all ranks. All
  // hear what the least able of them can do; `own`: this rank's plan::LevelAbility, or kFailed. The address is only
  // compared; it is another call's once leave() was called.
  void join(const void *call, const plan::LevelQuery &query, int own);
  // One of which all ranks know the plan already.
  void join(const void *call, const plan::LevelPlan &plan);

  struct Answer {
    bool is_there = false;
    bool is_asked = false;  // the ranks were: `query` has what they came to
    int least = 0;          // of those that were asked
    plan::LevelQuery query;
    plan::LevelPlan plan;
  };
  // Takes what steps there are. Not there: the ranks have not decided yet, or no call of that name has joined.
  [[nodiscard]] Answer hear(const void *call);
  // Whether all calls before `call` have taken `step`.
  [[nodiscard]] bool may_take(const void *call, LevelPhase step) const;
  // `call` has started that step, and will not take one before it.
  void note_taken(const void *call, LevelPhase step) noexcept;
  // It starts nothing more. If it was not decided yet, the other ranks are still asked about it, in its turn.
  void leave(const void *call) noexcept;

  // The host MPI's error code, or MPI_SUCCESS: then there is nothing to be had here.
  [[nodiscard]] int failure() const;
  // When is_ready(). Errors in them come back as codes.
  [[nodiscard]] MPI_Comm comm_of(LevelPhase step) const noexcept;
  [[nodiscard]] MPI_Comm flat() const noexcept { return flat_.get(); }

 private:
  // The first ones wait for a duplicate, which MPI makes without waiting.
  enum class Phase : std::uint8_t { kFlat, kShare, kSegmentQuestions, kSegmentData, kIdle, kAsking };
  struct Entry {
    const void *call = nullptr;  // null: it has left before it was decided
    int own = 0;
    bool is_decided = false;
    std::size_t n_taken = 0;
    Answer answer;
  };

  [[nodiscard]] Status begin();
  // All with the lock.
  void go_on();
  [[nodiscard]] int go_on_duplicating();
  [[nodiscard]] int ask();
  void decide();
  void drop_left() noexcept;
  [[nodiscard]] Entry *find(const void *call) noexcept;
  [[nodiscard]] Entry *first_undecided() noexcept;

  const std::shared_ptr<NodeLevels> levels_;
  mutable std::mutex mutex_;
  StagingComm flat_;
  StagingComm share_;
  SegmentGroupPtr in_lane_;  // so that long lanes go in segments
  Phase phase_ = Phase::kFlat;
  MPI_Request request_ = MPI_REQUEST_NULL;  // what phase_ waits for
  Agreement<3> agreement_;                  // what a rank can do, the call's length, and the negative of that
  Attempts attempts_;                       // in the order of the calls
  std::deque<Entry> calls_;
  int failure_ = MPI_SUCCESS;
};

using LevelGroupPtr = std::shared_ptr<LevelGroup>;

}  // namespace sluice::ops::coll
