// SPDX-License-Identifier: BSD-3-Clause
// LevelRequest: a non-blocking or persistent MPI_Allreduce of several nodes in two levels, until it is complete
// (docs/adr/0030). Its steps are non-blocking calls of ours on the communicators of level_group.hpp, one after the
// other; several requests go side by side.
#pragma once

#include <memory>

#include "ops/coll/levels/level_group.hpp"
#include "ops/coll/levels/level_slices.hpp"
#include "ops/coll/requests/engine_request.hpp"
#include "plan/levels.hpp"

namespace sluice::ops::coll {

// Threads: as EngineRequest; make() one at a time on a communicator.
class LevelRequest final : public EngineRequest {
 public:
  LevelRequest(const Call &call, const Member &member, Sides sides, const plan::LevelQuery &query, LevelGroupPtr group);

  // Starts a non-blocking call, or makes the request of a persistent one, into *call.request. `classified` says how
  // classifying `sides` went; an error of it comes to all ranks where they ask each other. `query` has the ability of
  // this rank, or of a persistent call that of the least able one. Local. Returns an error code, raised already.
  static int make(const Call &call, const Member &member, Sides sides, const Status &classified,
                  const plan::LevelQuery &query, LevelGroupPtr group);

 private:
  enum class Phase : std::uint8_t { kAsking, kFlat, kInHost, kInLevels };

  void begin(const std::shared_ptr<EngineRequest> &self) override;
  [[nodiscard]] bool go_on() override;
  void leave() noexcept override { group_->leave(this); }
  [[nodiscard]] bool decide();
  void divide(plan::Levels form);
  [[nodiscard]] bool begin_flat();
  [[nodiscard]] bool go_on_in_levels();
  void begin_step();
  [[nodiscard]] int reduce_on_node();
  [[nodiscard]] int reduce_in_lane();
  [[nodiscard]] int share_on_node();

  void note(int code);
  [[nodiscard]] std::size_t own() const noexcept { return static_cast<std::size_t>(local_); }
  [[nodiscard]] std::byte *own_slice() const noexcept {
    return static_cast<std::byte *>(call_.recv.buffer) +
           static_cast<std::uint64_t>(slices_->places[own()]) * element_bytes_;
  }

  const plan::LevelQuery query_;
  const LevelGroupPtr group_;
  Phase phase_ = Phase::kAsking;
  // In two levels.
  int local_ = 0;
  int n_local_ = 1;
  std::uint64_t element_bytes_ = 1;
  std::unique_ptr<LevelSlices> slices_;  // of the last start in two levels
  LevelPhase step_ = LevelPhase::kNode;
  bool is_begun_ = false;  // the step
  MPI_Request step_request_ = MPI_REQUEST_NULL;
  Status first_error_;  // of a step
};

}  // namespace sluice::ops::coll
