// SPDX-License-Identifier: BSD-3-Clause
#include "ops/io/block_run.hpp"

#include <algorithm>

#include "ops/env/raise.hpp"
#include "wire/status.hpp"

namespace sluice::ops::io {

void BlockRun::begin() {
  if (!call_.form->is_read && has_block(0)) outcome_.note(blocks_.begin_down(0));
}

bool BlockRun::is_ready(std::uint64_t round) {
  if (!has_block(round)) return true;
  bool is_done = false;
  outcome_.note(blocks_.poll(round, &is_done));
  return is_done;
}

// What is written has come down, and the next block is on its way; of what is read the slot's last block is up.
bool BlockRun::prepare(std::uint64_t round) {
  outcome_.note(blocks_.wait(round));
  if (outcome_.is_good() && call_.form->is_read) outcome_.note(blocks_.acquire(round));
  if (!outcome_.is_good()) return false;
  // The block that is here goes to the file even if the next one cannot come.
  if (!call_.form->is_read && round + 1 < blocks_.n_blocks()) later_ = blocks_.begin_down(round + 1);
  return true;
}

// What the host MPI tells of and does not read goes up as it came down.
void BlockRun::keep_what_is_there(std::uint64_t round) {
  outcome_.note(blocks_.begin_down(round));
  outcome_.note(blocks_.wait(round));
}

void BlockRun::fill(std::uint64_t round, Call *part) {
  load_ = Load::kNothing;
  if (blocks_.n_blocks() == 0 && round == 0 && outcome_.is_good()) {
    load_ = Load::kAsGiven;
  } else if (has_block(round) && prepare(round)) {
    load_ = Load::kBlock;
    blocks_.put_into(round, part);
    if (call_.form->is_read && blocks_.may_end_early(round, *part)) keep_what_is_there(round);
    span_.begin();
  } else {
    FileBlocks::put_nothing(part);
  }
}

void BlockRun::note_made(std::uint64_t round, int code, const MPI_Status &status) {
  if (load_ == Load::kBlock && code == MPI_SUCCESS) {
    span_.end(trace::Lane::kFile, {call_.form->operation}, blocks_.piece(round));
  }
  span_.abandon();
  outcome_.note(code);
  outcome_.note(std::exchange(later_, Status()));
  if (load_ == Load::kNothing) return;
  const std::uint64_t bytes = wire::announced_bytes(status);
  outcome_.bytes += bytes;
  if (load_ == Load::kBlock && call_.form->is_read) outcome_.note(blocks_.begin_up(round, bytes));
}

void BlockRun::take(std::uint64_t round) {
  Call part = call_;
  MPI_Status status{};
  wire::clear(&status);
  part.status = &status;
  fill(round, &part);
  // An ordered call that was not placed is one round, of the program's own function.
  const bool is_by_own = part.form->position == Position::kOrdered && !part.is_at_offset;
  const int code = (is_by_own ? part.form->make : part.form->block)(part);
  note_made(round, code, status);
}

bool BlockRun::is_over() {
  bool is_all_done = true;
  for (std::uint64_t slot = 0; slot < std::min<std::uint64_t>(FileBlocks::kSlots, blocks_.n_blocks()); ++slot) {
    bool is_done = false;
    outcome_.note(blocks_.poll(slot, &is_done));
    is_all_done = is_all_done && is_done;
  }
  return is_all_done;
}

void BlockRun::end() {
  for (std::uint64_t slot = 0; slot < std::min<std::uint64_t>(FileBlocks::kSlots, blocks_.n_blocks()); ++slot) {
    outcome_.note(blocks_.wait(slot));
  }
}

int make_as_given(const Call &call, const Buffer &buffer, const statistics::Stopwatch &watch) {
  const int result = call.form->make(call);
  buffer.record(call.form->operation, buffer.size_bytes(), watch.elapsed());
  return result;
}

bool is_over_as_given(const Call &call, const statistics::Stopwatch &watch, Buffer *buffer, int *result) {
  if (Status status = Buffer::of_plain(call.buffer, call.count, call.type, 0, buffer); !status.is_ok()) {
    *result = raise_on_file(call.file, status);
    return true;
  }
  if (goes_in_blocks(*buffer)) return false;
  *result = make_as_given(call, *buffer, watch);
  return true;
}

void run_blocks(const Call &call, FileBlocks *blocks, std::uint64_t n_rounds, bool is_joint, Outcome *outcome) {
  BlockRun run(call, blocks, outcome);
  run.begin();
  for (std::uint64_t round = 0; round < n_rounds && (is_joint || outcome->is_good()); ++round) run.take(round);
  run.end();
}

int complete(const Call &call, const Buffer &buffer, const Outcome &outcome, const statistics::Stopwatch &watch) {
  if (call.status != MPI_STATUS_IGNORE) {
    wire::clear(call.status);
    wire::set_received_bytes(call.status, outcome.bytes);
  }
  buffer.record(call.form->operation, outcome.bytes, watch.elapsed());
  if (outcome.code != MPI_SUCCESS) return outcome.code;
  return outcome.problem.is_ok() ? MPI_SUCCESS : raise_on_file(call.file, outcome.problem);
}

}  // namespace sluice::ops::io
