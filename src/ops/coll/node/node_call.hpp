// SPDX-License-Identifier: BSD-3-Clause
// NodeCall: a collective call that the ranks of one node carry out together (docs/adr/0014). No message is sent.
// 1. Each rank publishes where its device memory is.
// 2. All ranks decide alike, for each decides from what all have published.
// 3. Each rank pulls what it gets over IPC, all copies in one list, or computes its part of a reduction
//    (node_reduction.hpp).
// 4. Each rank says how its part ended, and the call ends as all of them say. So ranks that have not read the same
//    words end the call alike, too (docs/adr/0061).
// All goes in steps that never block, so several calls can be under way. What others say is checked.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "base/statistics.hpp"
#include "base/trace.hpp"
#include "ops/coll/call/member.hpp"
#include "ops/coll/call/sides.hpp"
#include "ops/coll/node/node_chain.hpp"
#include "ops/coll/node/node_group.hpp"
#include "ops/coll/node/node_offer.hpp"
#include "ops/coll/node/node_pull.hpp"
#include "ops/coll/node/node_reach.hpp"
#include "ops/coll/node/node_reduction.hpp"
#include "ops/coll/node/part_end.hpp"
#include "plan/joint.hpp"

namespace sluice::ops::coll {

// One rank's part. One thread at a time. What it is given outlives it, and stays where it is.
class NodeCall {
 public:
  NodeCall(const Call &call, const Member &member, const Sides &sides, NodeGroup *group)
      : call_(call),
        member_(member),
        sides_(sides),
        group_(*group),
        board_(group->board()),
        reach_(*group, member.rank),
        pull_(call_, member_, sides_, offer_, &reach_) {}
  ~NodeCall() { finish_copies(); }
  NodeCall(const NodeCall &) = delete;
  NodeCall &operator=(const NodeCall &) = delete;
  NodeCall(NodeCall &&) = delete;
  NodeCall &operator=(NodeCall &&) = delete;

  // What this rank will publish, which it begins to pack where need be. `classified` says how classifying `sides` went:
  // an error of it comes to all ranks.
  void describe(const Status &classified);

  // Takes the place `number` among the calls of the group.
  void begin(std::uint64_t number) noexcept { number_ = number; }
  [[nodiscard]] std::uint64_t number() const noexcept { return number_; }
  [[nodiscard]] bool is_published() const noexcept { return phase_ != Phase::kDescribed; }
  // What is to be published is there. Never blocks. Hot.
  [[nodiscard]] bool is_packed();
  // It is packed, the slot is free, and the call before it is published: tells the others, and begins what needs none
  // of them.
  void publish() noexcept;
  // Goes as far as is possible without blocking.
  void advance();

  // How it ended, which is the same on all ranks.
  enum class Outcome : std::uint8_t {
    kNone,    // it has not
    kStaged,  // nothing has been done that counts: all stage
    kDone,
    kFailed  // all return an error: failure()
  };
  [[nodiscard]] Outcome outcome() const noexcept { return outcome_; }
  [[nodiscard]] const Status &failure() const noexcept { return failure_; }
  // Of kStaged: for its length alone, which says nothing of a longer call. The same on all ranks.
  [[nodiscard]] bool is_short() const noexcept { return is_short_; }

 private:
  enum class Phase : std::uint8_t { kDescribed, kPublished, kPulling, kInChain, kReducing, kEnding, kSettled };

  // Memory ran out on this rank: no reason to leave the others waiting.
  template <typename Body>
  [[nodiscard]] static PartEnd contained(Body body);

  // Plan.
  void decide();
  [[nodiscard]] PartEnd agree(plan::Joint *joint);
  [[nodiscard]] plan::JointPlan agree_on_movement();
  [[nodiscard]] PartEnd leave_off(plan::Joint joint) const;
  // Execute.
  [[nodiscard]] MaybePartEnd begin_as(plan::Joint joint);
  [[nodiscard]] MaybePartEnd go_on();
  [[nodiscard]] MaybePartEnd go_on_reducing();
  void finish_copies() noexcept;
  void end(PartEnd moved);
  // Complete.
  void settle(const transfer::Board::Outcome &outcome);
  void settle_as(Outcome outcome) noexcept;
  [[nodiscard]] Status failure_of(const transfer::Board::Outcome &outcome) const;

  const Call &call_;
  const Member &member_;
  const Sides &sides_;
  NodeGroup &group_;
  transfer::Board &board_;
  std::uint64_t number_ = 0;
  Phase phase_ = Phase::kDescribed;
  Outcome outcome_ = Outcome::kNone;
  Status failure_;
  bool is_short_ = false;   // first as this rank decided, then as all ended it
  std::uint32_t plan_ = 0;  // what this rank does, in one number
  const statistics::Stopwatch watch_;
  NodeOffer offer_;
  PartEnd own_;            // what this rank has come to
  transfer::Heard heard_;  // what all have said, but of a reduction that is as the last one was
  NodeReach reach_;        // until the copies are done
  NodePull pull_;
  std::unique_ptr<NodeChain> chain_;
  std::unique_ptr<NodeReduction> reduction_;
  trace::Span span_;
};

}  // namespace sluice::ops::coll
