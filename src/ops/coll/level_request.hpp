// SPDX-License-Identifier: BSD-3-Clause
// LevelRequest: a non-blocking or persistent MPI_Allreduce of several nodes in two levels, until it is complete
// (docs/adr/0030). Its steps are non-blocking calls of ours on the communicators of level_group.hpp, one after the
// other; several requests go side by side. The program's request is made as that of node_request.hpp; the engine takes
// the steps, and hides it meanwhile.
#pragma once

#include <atomic>
#include <memory>

#include "ops/coll/carry_out.hpp"
#include "ops/coll/held_types.hpp"
#include "ops/coll/level_group.hpp"
#include "ops/coll/level_slices.hpp"
#include "plan/levels.hpp"
#include "progress/engine.hpp"
#include "progress/tracked_requests.hpp"

namespace sluice::ops::coll {

class LevelRequest final : public progress::Tracked, public progress::Task {
 public:
  LevelRequest(const Call &call, const Member &member, Sides sides, const plan::LevelQuery &query, LevelGroupPtr group);

  // Starts a non-blocking call, or makes the request of a persistent one, into *call.request. `classified` says how
  // classifying `sides` went; an error of it comes to all ranks where they ask each other. `query` has the ability of
  // this rank, or of a persistent call that of the least able one. Local. Returns an error code, raised already.
  static int make(const Call &call, const Member &member, Sides sides, const Status &classified,
                  const plan::LevelQuery &query, LevelGroupPtr group);

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
  enum class Phase : std::uint8_t { kAsking, kFlat, kInHost, kInLevels };

  // Joins the calls of the group: from now on the engine looks after it. May throw before anything is done.
  void begin(const Status &classified, const std::shared_ptr<LevelRequest> &self);
  // True when the request is complete.
  [[nodiscard]] bool go_on();
  [[nodiscard]] bool decide();
  void divide(plan::Levels form);
  [[nodiscard]] bool begin_flat();
  [[nodiscard]] bool go_on_in_host();
  [[nodiscard]] bool go_on_in_levels();
  void begin_step();
  [[nodiscard]] int reduce_on_node();
  [[nodiscard]] int reduce_in_lane();
  [[nodiscard]] int share_on_node();
  // Always true.
  bool complete(Status result);

  void note(int code);
  [[nodiscard]] std::size_t own() const noexcept { return static_cast<std::size_t>(local_); }
  [[nodiscard]] std::byte *own_slice() const noexcept {
    return static_cast<std::byte *>(call_.recv.buffer) +
           static_cast<std::uint64_t>(slices_->places[own()]) * element_bytes_;
  }

  Call call_;
  const Member member_;
  Sides sides_;
  const plan::LevelQuery query_;
  const LevelGroupPtr group_;
  HeldTypes types_;
  MPI_Request request_ = MPI_REQUEST_NULL;  // the program's, when this has to complete it
  Phase phase_ = Phase::kAsking;
  Status classified_;
  // In two levels.
  int local_ = 0;
  int n_local_ = 1;
  std::uint64_t element_bytes_ = 1;
  std::unique_ptr<LevelSlices> slices_;  // of the last start in two levels
  LevelStep step_ = LevelStep::kNode;
  bool is_begun_ = false;  // the step
  MPI_Request step_request_ = MPI_REQUEST_NULL;
  Status first_error_;  // of a step
  // Flat.
  Call flat_;
  bool has_staging_ = false;
  MPI_Request host_request_ = MPI_REQUEST_NULL;
  unsigned n_steps_ = 0;
  Status result_;
  std::atomic<bool> is_hidden_{false};
};

}  // namespace sluice::ops::coll
