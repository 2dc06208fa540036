// SPDX-License-Identifier: BSD-3-Clause
#include "ops/coll/carry_out.hpp"

#include <algorithm>
#include <array>
#include <memory>
#include <utility>

#include "ops/coll/carry_out_on_node.hpp"
#include "ops/coll/fold_request.hpp"
#include "ops/coll/in_segments.hpp"
#include "ops/coll/rank_order.hpp"
#include "ops/coll/two_level.hpp"
#include "ops/coll/whole_call.hpp"
#include "ops/datatype/layout_of.hpp"
#include "ops/request/collective.hpp"
#include "progress/host_turns.hpp"
#include "progress/tracked_requests.hpp"
#include "wire/channel.hpp"
#include "wire/host.hpp"

namespace sluice::ops::coll {
namespace {

// What a non-blocking or persistent call owes until it is complete; holds what the host MPI works with meanwhile.
class StagedCollective final : public progress::Tracked {
 public:
  StagedCollective(const Call &call, Sides sides)
      : Tracked(call.comm, call.form == Form::kPersistent), operation_(call.operation), sides_(std::move(sides)) {}

  // Of a persistent call, at each start.
  [[nodiscard]] Status prepare() override {
    const statistics::Stopwatch watch;
    Status status = sides_.copy_down();
    if (status.is_ok()) sides_.send.record(operation_, watch.elapsed());
    return status;
  }
  [[nodiscard]] Status finish(MPI_Status * /*status*/) override { return copy_up(); }
  [[nodiscard]] Status finish_displaced() override { return begin_finish() ? copy_up() : Status(); }

 private:
  [[nodiscard]] Status copy_up() const {
    const statistics::Stopwatch watch;
    Status status = sides_.copy_up();
    sides_.recv.record(operation_, watch.elapsed());
    return status;
  }

  const Operation operation_;
  Sides sides_;
};

// Between two groups the host MPIs' non-blocking forms are not to be relied on: MPICH 4.0's MPI_Ibcast ends before the
// data is there. All members know what their communicator is, so they do the same.
bool is_between_groups(MPI_Comm comm) {
  int is_inter = 0;
  return wire::Channel::process().is_open() && comm != MPI_COMM_NULL &&
         wire::host().MPI_Comm_test_inter(comm, &is_inter) == MPI_SUCCESS && is_inter != 0;
}

// Nor are their blocking ones, everywhere. With a datatype that is not predefined: Intel MPI's MPI_Allgather receives
// wrong bytes. MPI_Reduce in place: MPICH 4.0's reads at MPI_IN_PLACE, from 2 KiB on, where the root is not 0. What
// means nothing at this rank counts, too: it makes the call slower, no more.
bool trusts_blocking(const Call &call) {
  const auto is_predefined = [](const Argument &argument) {
    transfer::LayoutPtr layout;
    return argument.is_in_place() ||
           (!argument.has_types && (argument.type == MPI_DATATYPE_NULL || named_layout(argument.type, &layout)));
  };
  const bool is_reduced_in_place = call.pattern == Pattern::kReduce && call.send.is_in_place();
  return !is_reduced_in_place && is_predefined(call.send) && is_predefined(call.recv);
}

// The host MPIs' non-blocking forms are not to be relied on. Between two groups: is_between_groups(). With types that
// only a program's own operation takes: Open MPI 4's MPI_Ireduce writes beside its memory when one has a lower bound.
// All members name the same operation.
int call_host(const Call &call, const Member *member) {
  if (member != nullptr && is_folded_in_rank_order(call, *member)) return fold_in_rank_order(call, *member);
  const auto block = [&] { return call.block(call); };
  if (call.comes_after_barrier || is_between_groups(call.comm) || is_by_own_operation(call.op)) {
    return after_barrier(call.comm, block);
  }
  return call_in_turns(call);
}

int execute_blocking(const Call &call, const Member *member, const Sides &sides) {
  const statistics::Stopwatch watch;
  WholeCall whole(call, member);
  const Status down = sides.copy_down();
  if (!down.is_ok() && !whole.tell_others()) return raise(call.comm, down);
  const int result = call_host(call, member);
  if (result != MPI_SUCCESS) return result;
  if (!down.is_ok()) return raise(call.comm, down);
  // complete
  Status status = whole.outcome();
  if (status.is_ok()) status = sides.copy_up();
  sides.record(call.operation, watch.elapsed());
  return status.is_ok() ? MPI_SUCCESS : raise(call.comm, status);
}

int execute_with_request(const Call &call, Sides sides) {
  const bool is_staged = sides.is_staged();
  if (call.form == Form::kNonBlocking) {
    const statistics::Stopwatch watch;
    if (Status status = sides.copy_down(); !status.is_ok()) return raise(call.comm, status);
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

bool is_by_own_operation(MPI_Op op) {
  const std::array predefined = {MPI_OP_NULL, MPI_MAX,    MPI_MIN,    MPI_SUM,     MPI_PROD,
                                 MPI_LAND,    MPI_BAND,   MPI_LOR,    MPI_BOR,     MPI_LXOR,
                                 MPI_BXOR,    MPI_MAXLOC, MPI_MINLOC, MPI_REPLACE, MPI_NO_OP};
  return std::find(predefined.begin(), predefined.end(), op) == predefined.end();
}

int call_in_turns(const Call &call) {
  // Without a channel nobody meets, and nothing is asked.
  const bool may_block = wire::Channel::process().is_open() && trusts_blocking(call);
  return in_turns(
      call.comm, [&] { return call.block(call); }, [&](MPI_Request *request) { return call.start(call, request); },
      may_block);
}

Status Sides::open(Call *call) {
  if (send.is_staged()) {
    if (Status status = send.open(&call->send); !status.is_ok()) return status;
  }
  return recv.is_staged() ? recv.open(&call->recv) : Status();
}

Status Sides::copy_down() const {
  Status status = send.copy_down();
  return status.is_ok() ? recv.copy_down() : status;
}

Status Sides::copy_up() const {
  return recv.copy_up();  // nothing is written into the other
}

void Sides::record(Operation operation, std::chrono::nanoseconds time) const noexcept {
  send.record(operation, time);
  recv.record(operation, time);
}

bool needs_no_sides() noexcept {
  static_cast<void>(device::loaded_backends());  // looks
  return needed_no_sides();
}

bool needed_no_sides() noexcept {
  return device::known_backends().empty() && !statistics::is_enabled();
}

bool needs_member() noexcept {
  return wire::Channel::process().is_open() || !needs_no_sides();
}

int plan_and_execute(Call *call, const Member *member, Sides *sides, const Status &classified) {
  if (int result = MPI_SUCCESS; member != nullptr && carry_out_on_node(call, *member, sides, classified, &result)) {
    return result;
  }
  if (int result = MPI_SUCCESS;
      member != nullptr &&
      (call->form == Form::kBlocking ? carry_out_in_levels(*call, *member, *sides, classified, &result)
                                     : start_in_levels(*call, *member, sides, classified, &result))) {
    return result;
  }
  if (int result = MPI_SUCCESS;
      member != nullptr &&
      (call->form == Form::kBlocking ? carry_out_in_segments(*call, *member, *sides, classified, &result)
                                     : start_in_segments(*call, *member, sides, classified, &result))) {
    return result;
  }
  if (!classified.is_ok()) return raise(call->comm, classified);
  if (int result = MPI_SUCCESS;
      member != nullptr && call->form != Form::kBlocking && start_folded(*call, *member, sides, &result)) {
    return result;
  }
  if (Status opened = sides->open(call); !opened.is_ok()) return raise(call->comm, opened);
  return call->form == Form::kBlocking ? execute_blocking(*call, member, *sides)
                                       : execute_with_request(*call, std::move(*sides));
}

}  // namespace sluice::ops::coll
