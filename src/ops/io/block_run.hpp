// SPDX-License-Identifier: BSD-3-Clause
// BlockRun: a call that is carried out block by block: what is due before and after each call of the host MPI.
#pragma once

#include <cstdint>
#include <utility>

#include "base/statistics.hpp"
#include "base/status.hpp"
#include "base/trace.hpp"
#include "ops/io/call.hpp"
#include "ops/io/file_blocks.hpp"

namespace sluice::ops::io {

// What a call came to. One thread at a time.
struct Outcome {
  std::uint64_t bytes = 0;  // read or written, as the host MPI counts them
  int code = MPI_SUCCESS;   // of the host MPI's first error, raised already
  Status problem;           // the first of Sluice's

  [[nodiscard]] bool is_good() const noexcept { return code == MPI_SUCCESS && problem.is_ok(); }
  void note(int host_code) noexcept {
    if (code == MPI_SUCCESS) code = host_code;
  }
  void note(Status status) noexcept {
    if (problem.is_ok()) problem = std::move(status);
  }
};

// Each round is one call of the host MPI, with a block; where nothing is staged the first round has the buffer as it
// is. After an error, and behind the last block, a round has no data: other ranks may wait for the call. One thread at
// a time. All that it is given outlives it.
class BlockRun {
 public:
  BlockRun(const Call &call, FileBlocks *blocks, Outcome *outcome) noexcept
      : call_(call), blocks_(*blocks), outcome_(*outcome) {}

  // Before the first round: what is written is on its way down.
  void begin();
  // fill() of this round does not block: copies have come as far. Never blocks.
  [[nodiscard]] bool is_ready(std::uint64_t round);
  // Puts into *part, a copy of the call, what the host MPI is to be called with. Blocks for a copy.
  void fill(std::uint64_t round, Call *part);
  // After the host MPI's part of the round: what it returned. Begins to bring up what was read.
  void note_made(std::uint64_t round, int code, const MPI_Status &status);
  // The last two with the host MPI's blocking function between them.
  void take(std::uint64_t round);
  // Whether no copy is under way after the last round. Never blocks.
  [[nodiscard]] bool is_over();
  // Waits for that.
  void end();

 private:
  [[nodiscard]] bool has_block(std::uint64_t round) const noexcept {
    return round < blocks_.n_blocks() && outcome_.is_good();
  }
  [[nodiscard]] bool prepare(std::uint64_t round);
  void keep_what_is_there(std::uint64_t round);

  enum class Load : std::uint8_t { kNothing, kAsGiven, kBlock };

  const Call &call_;
  FileBlocks &blocks_;
  Outcome &outcome_;
  Load load_ = Load::kNothing;  // of the round under way
  trace::Span span_;
  Status later_;  // of the next block's copy
};

// The program's own call, whose buffer the host MPI may touch. Returns the host MPI's error code. Any thread.
int make_as_given(const Call &call, const Buffer &buffer, const statistics::Stopwatch &watch);

// Classifies the buffer of a call of one rank. True: the call is over with the error code *result, for its buffer was
// refused, or the host MPI was given it. False: it goes in blocks. Any thread.
bool is_over_as_given(const Call &call, const statistics::Stopwatch &watch, Buffer *buffer, int *result);

// A blocking call in `n_rounds`, which has been classified: `*outcome` says what went wrong. A call of one rank stops
// after an error; a joint one, which other ranks make, too, does not. Afterwards no copy is under way. Any thread, for
// blocks of its own.
void run_blocks(const Call &call, FileBlocks *blocks, std::uint64_t n_rounds, bool is_joint, Outcome *outcome);

// Brings the outcome to the program: *call.status, the statistics, the error. Returns an error code, raised already.
// Any thread.
int complete(const Call &call, const Buffer &buffer, const Outcome &outcome, const statistics::Stopwatch &watch);

}  // namespace sluice::ops::io
