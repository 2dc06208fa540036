// SPDX-License-Identifier: BSD-3-Clause
// JointCall: a collective call at this rank: its buffer, and how all ranks of the file carry the call out.
#pragma once

#include <cstdint>
#include <memory>

#include "ops/comm/agreement.hpp"
#include "ops/io/block_run.hpp"
#include "ops/io/call.hpp"
#include "ops/io/file_blocks.hpp"
#include "ops/io/file_facts.hpp"
#include "ops/io/file_state.hpp"

namespace sluice::ops::io {

// In blocks, all ranks make as many calls of the host MPI: the most that any of them has blocks. They hear that number
// by one MPI_Iallreduce. Each for itself, a rank stages its data in one block, and makes the program's call: where the
// ranks cannot agree, where all has to be one access, and where none stages anything. One thread at a time.
class JointCall {
 public:
  // Classifies and cuts the buffer. What is wrong with it stands in outcome(): the rank takes part without data then.
  // Local. Returns the host MPI's error code, raised already; then the rank does not take part.
  int classify(const Call &call);

  // Whether the ranks ask each other; the same on all of them.
  [[nodiscard]] bool is_asked() const noexcept { return asks_; }
  // Begins to ask, in the order of the file's calls; the request is complete when all were heard, and hear() then takes
  // the answer in. For a file of one rank there is no request. Returns the host MPI's error code.
  int ask(MPI_Request *request);
  void hear();
  // The calls to make; 0: each for itself.
  [[nodiscard]] std::uint64_t n_rounds() const noexcept { return n_rounds_; }

  // This rank stages nothing and has nothing to refuse: the program's own call will do.
  [[nodiscard]] bool is_as_given() const noexcept { return blocks->n_blocks() == 0 && outcome.problem.is_ok(); }

  // `call`, which was classified, names data of this rank: nothing is wrong with it so far.
  [[nodiscard]] bool has_data(const Call &call) const noexcept {
    return outcome.problem.is_ok() && is_valid_ && call.count > 0;
  }

  FileStatePtr state;
  Buffer buffer;
  std::unique_ptr<FileBlocks> blocks = std::make_unique<FileBlocks>();
  Outcome outcome;

 private:
  bool asks_ = false;
  std::uint64_t n_rounds_ = 0;
  Agreement<1> least_;  // of the negative numbers of blocks
  bool is_valid_ = true;
};

// The error of ranks that could not ask each other, for `code` of the host MPI's. Errors: always that one, of the kind
// that the code's class is. Any thread.
[[nodiscard]] Status agreement_error(int code);

// Waits, in turns, until the collective calls of the file that were made before are through; those that come wait for
// this one then, until it is destroyed. The thread of the call.
class JointTurn {
 public:
  explicit JointTurn(FileStatePtr state);
  ~JointTurn() { state_->order.leave(this); }
  JointTurn(const JointTurn &) = delete;
  JointTurn &operator=(const JointTurn &) = delete;
  JointTurn(JointTurn &&) = delete;
  JointTurn &operator=(JointTurn &&) = delete;

 private:
  FileStatePtr state_;
};

}  // namespace sluice::ops::io
