// SPDX-License-Identifier: BSD-3-Clause
// SegmentRequest: a non-blocking or persistent collective call that is staged in segments, until it is complete
// (docs/adr/0022). The program's request is made as that of node_request.hpp; the engine takes the steps, and hides it
// meanwhile. The calls of a communicator move their data one after the other, in the order in which they were started.
#pragma once

#include <atomic>
#include <memory>

#include "base/statistics.hpp"
#include "ops/coll/carry_out.hpp"
#include "ops/coll/cut_call.hpp"
#include "ops/coll/held_types.hpp"
#include "ops/coll/segment_group.hpp"
#include "ops/coll/segment_question.hpp"
#include "plan/segments.hpp"
#include "progress/engine.hpp"
#include "progress/tracked_requests.hpp"

namespace sluice::ops::coll {

class SegmentRequest final : public progress::Tracked, public progress::Task {
 public:
  SegmentRequest(const Call &call, const Member &member, Sides sides, const plan::SegmentQuery &query,
                 SegmentGroupPtr group);

  // Starts a non-blocking call, or makes the request of a persistent one, into *call.request. `classified` says how
  // classifying `sides` went; an error of it comes to all ranks. `query` is without the ability. Local. Returns an
  // error code, raised already.
  static int make(const Call &call, const Member &member, Sides sides, const Status &classified,
                  const plan::SegmentQuery &query, SegmentGroupPtr group);

  // progress::Tracked
  [[nodiscard]] Status prepare() override { return {}; }
  [[nodiscard]] Status finish(MPI_Status * /*status*/) override { return result_; }
  [[nodiscard]] Status recall(MPI_Status * /*status*/) override { return result_; }
  [[nodiscard]] bool is_hidden() const noexcept override { return is_hidden_.load(std::memory_order_acquire); }
  int start_again(const std::shared_ptr<Tracked> &self, MPI_Request *request) override;
  [[nodiscard]] bool is_apart() const noexcept override { return is_persistent() && !is_hidden(); }

  // progress::Task
  [[nodiscard]] bool advance() override;

 private:
  enum class Phase : std::uint8_t { kAsking, kWaiting, kCutting, kEnding, kWhole };

  // Joins the calls of the group and asks the others: from now on the engine looks after it.
  void begin(const Status &classified, const std::shared_ptr<SegmentRequest> &self);
  [[nodiscard]] plan::SegmentAbility open() noexcept;
  // True when the request is complete.
  [[nodiscard]] bool go_on();
  [[nodiscard]] bool decide();
  [[nodiscard]] bool begin_data();
  [[nodiscard]] bool begin_whole();
  [[nodiscard]] bool end();
  // Whether host_request_ is; sets *failure on an error of the host MPI's.
  [[nodiscard]] bool has_come(Status *failure);
  bool complete(Status result);

  Call call_;  // on the group's communicator for data
  const Member member_;
  Sides sides_;
  plan::SegmentQuery query_;
  const SegmentGroupPtr group_;
  HeldTypes types_;
  MPI_Request request_ = MPI_REQUEST_NULL;  // the program's, when this has to complete it
  Phase phase_ = Phase::kAsking;
  Status classified_;
  SegmentQuestion question_;
  MPI_Request host_request_ = MPI_REQUEST_NULL;
  std::unique_ptr<CutCall> cut_;  // of the last start
  statistics::Stopwatch watch_;
  Call whole_;  // of a start that stays whole
  bool has_staging_ = false;
  unsigned n_steps_ = 0;
  Status result_;
  std::atomic<bool> is_hidden_{false};
};

}  // namespace sluice::ops::coll
