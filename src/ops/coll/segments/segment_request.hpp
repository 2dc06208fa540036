// SPDX-License-Identifier: BSD-3-Clause
// SegmentRequest: a non-blocking or persistent collective call that is staged in segments, until it is complete
// (docs/adr/0022). The calls of a communicator move their data one after the other, in the order in which they were
// started.
#pragma once

#include <memory>

#include "base/statistics.hpp"
#include "ops/coll/requests/engine_request.hpp"
#include "ops/coll/segments/cut_call.hpp"
#include "ops/coll/segments/segment_group.hpp"
#include "ops/coll/segments/segment_question.hpp"
#include "plan/segments.hpp"

namespace sluice::ops::coll {

// Threads: as EngineRequest; make() one at a time on a communicator.
class SegmentRequest final : public EngineRequest {
 public:
  SegmentRequest(const Call &call, const Member &member, Sides sides, const plan::SegmentQuery &query,
                 SegmentGroupPtr group);

  // Starts a non-blocking call, or makes the request of a persistent one, into *call.request. `classified` says how
  // classifying `sides` went; an error of it comes to all ranks. `query` is without the ability. Local. Returns an
  // error code, raised already.
  static int make(const Call &call, const Member &member, Sides sides, const Status &classified,
                  const plan::SegmentQuery &query, SegmentGroupPtr group);

 private:
  enum class Phase : std::uint8_t { kAsking, kWaiting, kCutting, kEnding, kWhole };

  void begin(const std::shared_ptr<EngineRequest> &self) override;
  [[nodiscard]] plan::SegmentAbility open() noexcept;
  [[nodiscard]] bool go_on() override;
  void leave() noexcept override;
  [[nodiscard]] bool decide();
  [[nodiscard]] bool begin_data();
  [[nodiscard]] bool begin_whole();
  [[nodiscard]] bool end();

  plan::SegmentQuery query_;
  const SegmentGroupPtr group_;
  Phase phase_ = Phase::kAsking;
  SegmentQuestion question_;
  std::unique_ptr<CutCall> cut_;  // of the last start
  statistics::Stopwatch watch_;
};

}  // namespace sluice::ops::coll
