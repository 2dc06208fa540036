// SPDX-License-Identifier: BSD-3-Clause
// Collective reading and writing: MPI_File_read_all, MPI_File_write_all, their forms at an offset and in the order of
// the ranks, and those in two calls.
#include <algorithm>
#include <memory>
#include <utility>

#include "ops/comm/agreement.hpp"
#include "ops/env/raise.hpp"
#include "ops/io/block_run.hpp"
#include "ops/io/joint_call.hpp"
#include "ops/io/ordered.hpp"
#include "ops/io/split_call.hpp"
#include "ops/request/turns.hpp"
#include "wire/status.hpp"

namespace sluice::ops::io {
namespace {

// All ranks are here when this returns, so that the host MPI's calls that follow wait for nobody who is elsewhere, and
// they know how they go on. Returns the host MPI's error code.
int come_together(JointCall *joint) {
  if (!joint->is_asked()) {
    const MPI_Comm comm = joint->state->comm.get();
    return comm == MPI_COMM_NULL ? MPI_SUCCESS : come_together_by_host(comm);
  }
  const int code = run_in_turns([joint](MPI_Request *request) { return joint->ask(request); });
  if (code == MPI_SUCCESS) joint->hear();
  return code;
}

int no_agreement(const Call &call, int code) {
  return raise_on_file(call.file, agreement_error(code));
}

// In as many rounds as all ranks make; what it came to stands in joint->outcome.
void run(const Call &call, JointCall *joint) {
  if (is_placed(call, *joint)) return run_ordered(call, joint);
  run_blocks(call, joint->blocks.get(), std::max<std::uint64_t>(joint->n_rounds(), 1), true, &joint->outcome);
}

// The host MPI's first function of two, on the staged block.
void begin_by_host(const Call &call, JointCall *joint) {
  Call part = call;
  BlockRun run(call, joint->blocks.get(), &joint->outcome);
  run.begin();
  run.fill(0, &part);
  joint->outcome.note(call.form->make(part));
}

// The second one.
void end_by_host(const Call &call, SplitCall *split) {
  Call part = call;
  MPI_Status status{};
  wire::clear(&status);
  part.status = &status;
  const bool has_data = split->outcome.problem.is_ok();
  const bool has_block = split->blocks->n_blocks() != 0 && has_data;
  if (has_block) split->blocks->put_into(0, &part);
  split->outcome.code = call.form->make(part);
  if (has_data) split->outcome.bytes = wire::announced_bytes(status);
  if (!has_block || !call.form->is_read) return;
  split->outcome.note(split->blocks->begin_up(0, split->outcome.bytes));
  split->outcome.note(split->blocks->wait(0));
}

}  // namespace

int access_all(Call *call) {
  return guarded_on_file(call->file, [call]() -> int {
    const statistics::Stopwatch watch;
    // classify and plan
    JointCall joint;
    if (int code = joint.classify(*call); code != MPI_SUCCESS) return code;
    const JointTurn turn(joint.state);
    if (int code = come_together(&joint); code != MPI_SUCCESS) return no_agreement(*call, code);
    if (joint.n_rounds() == 0 && joint.is_as_given()) return reap(make_as_given(*call, joint.buffer, watch));
    // execute
    run(*call, &joint);
    // complete
    return reap(complete(*call, joint.buffer, joint.outcome, watch));
  });
}

int begin_all(Call *call) {
  return guarded_on_file(call->file, [call]() -> int {
    const statistics::Stopwatch watch;
    // classify and plan
    JointCall joint;
    if (int code = joint.classify(*call); code != MPI_SUCCESS) return code;
    const JointTurn turn(joint.state);
    if (int code = come_together(&joint); code != MPI_SUCCESS) return no_agreement(*call, code);
    joint.state->split = nullptr;
    if (joint.n_rounds() == 0 && joint.is_as_given()) return reap(make_as_given(*call, joint.buffer, watch));
    // execute; what went wrong here is raised here, but for data that the host MPI went on without
    auto split = std::make_unique<SplitCall>();
    if (joint.n_rounds() > 1) {
      run(*call, &joint);
      split->outcome.bytes = joint.outcome.bytes;
      joint.state->split = std::move(split);
      return reap(complete(*call, joint.buffer, joint.outcome, watch));
    }
    begin_by_host(*call, &joint);
    joint.buffer.record(call->form->operation, joint.blocks->n_blocks() == 0 ? 0 : joint.blocks->size_bytes(),
                        watch.elapsed());
    split->blocks = std::move(joint.blocks);
    split->outcome.problem = std::move(joint.outcome.problem);
    joint.state->split = std::move(split);
    return reap(joint.outcome.code);
  });
}

int end_all(Call *call) {
  return guarded_on_file(call->file, [call]() -> int {
    const FileStatePtr state = state_of(call->file);
    const std::unique_ptr<SplitCall> split = std::move(state->split);
    const bool is_by_host = split == nullptr || split->blocks != nullptr;
    if (is_by_host && state->comm.get() != MPI_COMM_NULL) {
      if (int code = come_together_by_host(state->comm.get()); code != MPI_SUCCESS) return no_agreement(*call, code);
    }
    if (split == nullptr) return reap(call->form->make(*call));
    if (is_by_host) end_by_host(*call, split.get());
    // complete
    if (call->status != MPI_STATUS_IGNORE) {
      wire::clear(call->status);
      wire::set_received_bytes(call->status, split->outcome.bytes);
    }
    if (split->outcome.code != MPI_SUCCESS) return reap(split->outcome.code);
    return reap(split->outcome.problem.is_ok() ? MPI_SUCCESS : raise_on_file(call->file, split->outcome.problem));
  });
}

}  // namespace sluice::ops::io
