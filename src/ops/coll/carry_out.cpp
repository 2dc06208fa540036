// SPDX-License-Identifier: BSD-3-Clause
#include "ops/coll/carry_out.hpp"

#include <memory>
#include <utility>

#include "base/log.hpp"
#include "base/waiting.hpp"
#include "ops/coll/call_facts.hpp"
#include "ops/coll/host/host_call.hpp"
#include "ops/coll/host/whole_call.hpp"
#include "ops/coll/levels/two_level.hpp"
#include "ops/coll/node/carry_out_on_node.hpp"
#include "ops/coll/requests/fold_request.hpp"
#include "ops/coll/segments/in_segments.hpp"
#include "ops/coll/segments/segment_group.hpp"
#include "ops/env/wait_words.hpp"
#include "ops/request/turns.hpp"
#include "progress/host_turns.hpp"
#include "progress/tracked_requests.hpp"

namespace sluice::ops::coll {
namespace {

// What a non-blocking or persistent call owes until it is complete; holds what the host MPI works with meanwhile.
class StagedCollective final : public progress::Tracked {
 public:
  StagedCollective(const Call &call, Sides sides)
      : Tracked(call.comm, call.form == Form::kPersistent),
        operation_(call.operation),
        pattern_(call.pattern),
        sides_(std::move(sides)) {}

  // Of a persistent call, at each start.
  [[nodiscard]] Status prepare() override {
    const statistics::Stopwatch watch;
    Status status = sides_.copy_down_uncompared(pattern_);
    if (status.is_ok()) sides_.send.record(operation_, watch.elapsed());
    return status;
  }
  [[nodiscard]] Status finish(MPI_Status * /*status*/) override { return copy_up(); }
  [[nodiscard]] Status finish_displaced() override { return begin_finish() ? copy_up() : Status(); }
  void tell(waiting::Wait *wait) const noexcept override { wait->route = static_cast<std::uint8_t>(Route::kStaged); }

 private:
  [[nodiscard]] Status copy_up() const {
    const statistics::Stopwatch watch;
    Status status = sides_.copy_up();
    sides_.recv.record(operation_, watch.elapsed());
    return status;
  }

  const Operation operation_;
  const Pattern pattern_;
  Sides sides_;
};

void log_if_failed(const Status &status) {
  if (!status.is_ok()) log::warn("ops", status.message());
}

// For the table of waits.
void tell_call(const void *subject, waiting::Wait *wait) noexcept {
  const auto *call = static_cast<const Call *>(subject);
  const CallOnComm words{name(call->operation), call->comm};
  tell_call_on_comm(&words, wait);
}

int execute_blocking(const Call &call, const Member *member, const Sides &sides, const Meeting &meeting) {
  const statistics::Stopwatch watch;
  WholeCall whole(call, member, meeting);
  HostCall host(call, member, meeting);
  const Status down = host.compares_lengths() ? sides.copy_down(Down::kRead) : sides.copy_down_uncompared(call.pattern);
  if (!down.is_ok() && !whole.tell_others()) return raise(call.comm, down);
  Status refilled;
  const waiting::InHost in_host(sides.is_staged(), &tell_call, &call);
  const int result = host.run([&] { refilled = sides.copy_down(Down::kAccessed); });
  // complete
  if (result != MPI_SUCCESS) {
    // Where lengths do not fit, what came goes up with the error, as it lies in the program's memory without Sluice.
    if (host.is_refilled() && refilled.is_ok()) log_if_failed(sides.copy_up());
    return result;
  }
  if (!down.is_ok()) return raise(call.comm, down);
  Status status = whole.outcome();
  if (status.is_ok()) status = refilled;
  if (status.is_ok()) status = sides.copy_up();
  sides.record(call.operation, watch.elapsed());
  return status.is_ok() ? MPI_SUCCESS : raise(call.comm, status);
}

// On memory that the host MPI may touch, where this rank waits for nobody. Hot.
int execute_at_once(const Call &call, const Member &member, const Sides &sides, const Meeting &meeting) {
  const statistics::Stopwatch watch;
  const int result = reap(call.block(call));
  if (result != MPI_SUCCESS) return result;
  if (may_lack_data(meeting)) {
    if (Status status = WholeCall(call, &member, meeting).outcome(); !status.is_ok()) return raise(call.comm, status);
  }
  sides.record(call.operation, watch.elapsed());
  return MPI_SUCCESS;
}

int execute_with_request(const Call &call, Sides sides) {
  const bool is_staged = sides.is_staged();
  if (call.form == Form::kNonBlocking) {
    const statistics::Stopwatch watch;
    if (Status status = sides.copy_down_uncompared(call.pattern); !status.is_ok()) return raise(call.comm, status);
    const int result = call.start(call, call.request);
    if (result != MPI_SUCCESS) return result;
    sides.send.record(call.operation, watch.elapsed());
    if (!is_staged) sides.recv.record(call.operation, {});
  } else {
    const int result = call.start(call, call.request);
    if (result != MPI_SUCCESS) return result;
  }
  // What was lent to the host MPI stays where it is when its owner moves.
  if (is_staged) {
    const auto staged = std::make_shared<StagedCollective>(call, std::move(sides));
    if (!staged->is_persistent()) progress::HostTurns::process().serve(staged);
    progress::TrackedRequests::process().add(*call.request, staged);
  }
  return MPI_SUCCESS;
}

}  // namespace

// Where the ranks agree on how they go, a rank with a refused side says that it fails, and all return an error. Where
// each stages for itself it takes part in the host MPI's call, so that nobody waits for it, and copies nothing.
int plan_and_execute(Call *call, const Member *member, Sides *sides, const Status &classified) {
  const waiting::Described described(&tell_call, call);
  find_facts(member, call);
  const Status able = classified.is_ok() ? sides->refusal() : classified;
  const bool is_blocking = call->form == Form::kBlocking;
  // Whatever the lengths of this call are, and whoever waits for whom in it.
  if (is_blocking && member != nullptr) {
    if (Status status = SegmentGroup::seek(call->comm, *member); !status.is_ok()) return raise(call->comm, status);
  }
  Meeting meeting;
  if (int result = MPI_SUCCESS; member != nullptr && carry_out_on_node(call, *member, sides, able, &meeting, &result)) {
    return result;
  }
  if (meeting.some_are_gone && !sides->is_staged() && able.is_ok()) {
    return execute_at_once(*call, *member, *sides, meeting);
  }
  const bool may_go_together = member != nullptr && !meeting.some_are_gone && (!meeting.has_met || meeting.lengths_fit);
  if (int result = MPI_SUCCESS;
      may_go_together && (is_blocking ? carry_out_in_levels(*call, *member, *sides, able, &result)
                                      : start_in_levels(*call, *member, sides, able, &result))) {
    return result;
  }
  if (int result = MPI_SUCCESS;
      may_go_together && (is_blocking ? carry_out_in_segments(*call, *member, *sides, able, &result)
                                      : start_in_segments(*call, *member, sides, able, &result))) {
    return result;
  }
  if (!classified.is_ok()) return raise(call->comm, classified);
  if (int result = MPI_SUCCESS; member != nullptr && !is_blocking && start_folded(*call, *member, sides, &result)) {
    return result;
  }
  if (Status opened = sides->open(call); !opened.is_ok()) return raise(call->comm, opened);
  return is_blocking ? execute_blocking(*call, member, *sides, meeting)
                     : execute_with_request(*call, std::move(*sides));
}

}  // namespace sluice::ops::coll
