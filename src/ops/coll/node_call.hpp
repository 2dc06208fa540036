// SPDX-License-Identifier: BSD-3-Clause
// NodeCall: a collective call that the ranks of one node carry out together (ISC'25 poster; docs/adr/0014): each
// publishes where its device memory is, all decide alike from what all published, and each pulls what it gets over IPC,
// all copies in one list. No message is sent. In steps that never block, so that several can be under way.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "base/statistics.hpp"
#include "base/trace.hpp"
#include "device/ipc_imports.hpp"
#include "device/queue.hpp"
#include "ops/coll/carry_out.hpp"
#include "ops/coll/node_group.hpp"
#include "ops/coll/node_offer.hpp"
#include "plan/joint.hpp"
#include "transfer/chunked_copy.hpp"

namespace sluice::ops::coll {

// One rank's part. One thread at a time. What it is given outlives it, and stays where it is.
class NodeCall {
 public:
  NodeCall(const Call &call, const Member &member, const Sides &sides, NodeGroup *group)
      : call_(call), member_(member), sides_(sides), group_(*group), board_(group->board()) {}

  // What this rank will publish. `classified` says how classifying `sides` went: an error of it comes to all ranks.
  void describe(const Status &classified);

  // Takes the place `number` among the calls of the group.
  void begin(std::uint64_t number) noexcept { number_ = number; }
  [[nodiscard]] std::uint64_t number() const noexcept { return number_; }
  [[nodiscard]] bool is_published() const noexcept { return phase_ != Phase::kDescribed; }
  // The slot is free, and the call before it is published: tells the others.
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

 private:
  // How this rank's part ended, and why so.
  struct Moved {
    transfer::Ending ending = transfer::Ending::kGood;
    Status why;
  };
  enum class Phase : std::uint8_t { kDescribed, kPublished, kPulling, kInChain, kEnding, kSettled };

  [[nodiscard]] static Moved refused(Status why) { return {transfer::Ending::kRefused, std::move(why)}; }
  [[nodiscard]] static Moved failed(Status why) { return {transfer::Ending::kFailed, std::move(why)}; }
  // Memory ran out on this rank: no reason to leave the others waiting.
  template <typename Body>
  [[nodiscard]] static Moved contained(Body body);

  // Plan.
  void decide();
  [[nodiscard]] plan::JointPlan agree() const;
  // Execute. None: it goes on.
  using Step = std::optional<Moved>;
  [[nodiscard]] Step begin_pull();
  [[nodiscard]] Step begin_chain();
  [[nodiscard]] Step go_on_pulling();
  [[nodiscard]] Step go_on_in_chain();
  [[nodiscard]] Status reach(int source, const transfer::Published &published, const std::byte **base);
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
  const statistics::Stopwatch watch_;
  NodeOffer offer_;
  Moved own_;                                  // what this rank has come to
  std::vector<device::ImportedPtr> imported_;  // in use until the copies are done
  device::Queue queue_;                        // outlives the copy
  device::PendingCopy copy_;
  std::unique_ptr<transfer::ChunkedCopy> chunks_;
  std::uint64_t bytes_ = 0;  // pulled here
  trace::Span span_;
};

}  // namespace sluice::ops::coll
