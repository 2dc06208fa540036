// SPDX-License-Identifier: BSD-3-Clause
#include "ops/io/joint_call.hpp"

#include <optional>
#include <utility>

#include "base/bad_peer.hpp"
#include "ops/datatype/layout_of.hpp"
#include "ops/env/errors.hpp"
#include "plan/file_rounds.hpp"
#include "progress/host_turns.hpp"

namespace sluice::ops::io {

int JointCall::classify(const Call &call) {
  state = state_of(call.file);
  bool is_one_access = false;
  FileFacts facts;
  if (int code = find_is_one_access(call, *state, &is_one_access); code != MPI_SUCCESS) return code;
  asks_ = !is_one_access && state->has_agreement();
  outcome.note(Buffer::of_plain(call.buffer, call.count, call.type, 0, &buffer));
  if (!outcome.problem.is_ok()) return MPI_SUCCESS;
  if (goes_in_blocks(buffer)) {
    if (int code = find_facts(call.file, &facts); code != MPI_SUCCESS) return code;
    outcome.note(blocks->open(buffer, facts, !asks_, call.form->operation));
  } else if (asks_) {
    // The host MPI refuses it where every rank makes the program's call, and would not take part in others.
    is_valid_ = call.count == 0 || (call.count > 0 && is_valid(call.type));
  }
  return MPI_SUCCESS;
}

int JointCall::ask(MPI_Request *request) {
  if (blocks->n_blocks() > plan::kMostFileRounds) {
    outcome.note(Status::error(ErrorKind::kUnsupported,
                               "a collective call on a file would take more than 2^31 blocks; make the setting "
                               "file_block larger (SLUICE_TUNING=file_block=8M)"));
  }
  // What cannot be staged keeps no other rank from its blocks, and is no data of the host MPI's either.
  const std::uint64_t own = outcome.problem.is_ok() ? blocks->n_blocks() : 1;
  least_.say({-static_cast<long long>(own)});
  return state->is_of_one_rank ? MPI_SUCCESS : least_.start(state->comm.get(), request);
}

void JointCall::hear() {
  const std::optional<std::uint64_t> agreed = plan::agreed_file_rounds(least_.least(0));
  if (!agreed) {
    outcome.note(bad_peer(
        "a rank of a file said of a collective call what no rank says, so no rank reads or writes data in it"));
  }
  n_rounds_ = agreed.value_or(0);
  if (n_rounds_ == 0 || is_valid_) return;
  outcome.note(Status::error(ErrorKind::kInvalidArgument,
                             "the count or the datatype of a collective call on a file is not valid, and the other "
                             "ranks went on without this one's data; give a count from 0 on and a committed datatype"));
}

Status agreement_error(int code) {
  return Status::error(kind_of(code),
                       "the ranks of a file could not ask each other how to read or write it: MPI_Iallreduce of the "
                       "host MPI failed; see what ended the other ranks");
}

JointTurn::JointTurn(FileStatePtr state) : state_(std::move(state)) {
  state_->order.join(this);
  if (state_->order.is_turn(this)) return;
  progress::turn_beside_host_until([this] { return state_->order.is_turn(this); });
}

}  // namespace sluice::ops::io
