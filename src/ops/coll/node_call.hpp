// SPDX-License-Identifier: BSD-3-Clause
// NodeCall: a collective call that the ranks of one node carry out together (ISC'25 poster; docs/adr/0014): each
// publishes where its device memory is, all decide alike from what all published, and each pulls what it gets over IPC,
// all copies in one list, or computes its part of a reduction (node_reduction.hpp). No message is sent. In steps that
// never block, so that several can be under way.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "base/statistics.hpp"
#include "base/trace.hpp"
#include "device/queue.hpp"
#include "ops/coll/carry_out.hpp"
#include "ops/coll/node_group.hpp"
#include "ops/coll/node_offer.hpp"
#include "ops/coll/node_reach.hpp"
#include "ops/coll/node_reduction.hpp"
#include "ops/coll/node_step.hpp"
#include "plan/copy_means.hpp"
#include "plan/joint.hpp"
#include "transfer/chunked_copy.hpp"

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
        reach_(*group, member.rank) {}
  ~NodeCall() { finish_copies(); }
  NodeCall(const NodeCall &) = delete;
  NodeCall &operator=(const NodeCall &) = delete;
  NodeCall(NodeCall &&) = delete;
  NodeCall &operator=(NodeCall &&) = delete;

  // What this rank will publish. `classified` says how classifying `sides` went: an error of it comes to all ranks.
  void describe(const Status &classified);

  // Takes the place `number` among the calls of the group.
  void begin(std::uint64_t number) noexcept { number_ = number; }
  [[nodiscard]] std::uint64_t number() const noexcept { return number_; }
  [[nodiscard]] bool is_published() const noexcept { return phase_ != Phase::kDescribed; }
  // The slot is free, and the call before it is published: tells the others, and begins what needs none of them.
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
  [[nodiscard]] static Moved contained(Body body);

  // Plan.
  void decide();
  [[nodiscard]] plan::Joint agree();
  [[nodiscard]] plan::JointPlan agree_on_movement() const;
  [[nodiscard]] plan::CopyMeans choose_means() const;
  // Execute.
  [[nodiscard]] Step begin_as(plan::Joint joint);
  [[nodiscard]] Step go_on();
  [[nodiscard]] bool copies_own_early() const;
  [[nodiscard]] Moved begin_own();
  [[nodiscard]] Step begin_pull();
  [[nodiscard]] Status enqueue_as_kernel(std::vector<sluice_copy_t> *copies);
  [[nodiscard]] Step begin_chain();
  [[nodiscard]] Step go_on_pulling();
  [[nodiscard]] Step go_on_in_chain();
  [[nodiscard]] Step go_on_reducing();
  [[nodiscard]] Status reach(int source, const transfer::Published &published, const std::byte **base);
  void finish_copies() noexcept;
  void end(Moved moved);
  // Complete.
  void settle();
  void settle_as(Outcome outcome) noexcept;
  [[nodiscard]] Status failure_of(const Status &own, int rank) const;

  [[nodiscard]] int rank_before() const noexcept { return (member_.rank + member_.size - 1) % member_.size; }
  // Where all that is wanted goes.
  [[nodiscard]] const device::Place &place_of_wanted() const noexcept { return sides_.recv.place(); }

  const Call &call_;
  const Member &member_;
  const Sides &sides_;
  NodeGroup &group_;
  transfer::Board &board_;
  std::uint64_t number_ = 0;
  Phase phase_ = Phase::kDescribed;
  Outcome outcome_ = Outcome::kNone;
  Status failure_;
  bool is_short_ = false;
  const statistics::Stopwatch watch_;
  NodeOffer offer_;
  plan::CopyMeans means_ = plan::CopyMeans::kEngines;  // of what this rank gets
  Moved own_;                                          // what this rank has come to
  NodeReach reach_;                                    // until the copies are done
  device::Queue queue_;                                // outlives the copy
  device::PendingCopy copy_;
  device::Queue own_queue_;  // of long own blocks, beside the other
  device::PendingCopy own_copy_;
  // The rank's own blocks are on their way, in own_queue_ if there is one, else in queue_, and nothing has their end.
  bool has_own_ = false;
  std::unique_ptr<transfer::ChunkedCopy> chunks_;
  std::unique_ptr<NodeReduction> reduction_;
  std::uint64_t bytes_ = 0;  // pulled here
  trace::Span span_;
};

}  // namespace sluice::ops::coll
