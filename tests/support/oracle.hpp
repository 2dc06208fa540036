// SPDX-License-Identifier: BSD-3-Clause
// The oracle: an operation is run on host copies through the host MPI (Sluice passes host pointers untouched), then on
// memory of the kinds under test. Every byte of every buffer with its guards, every noted value and every status must
// be equal.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/matrix.hpp"
#include "tests/support/memory.hpp"
#include "tests/support/session.hpp"

namespace sluice::tests {

// A number for `bytes`: equal for equal ones, and only by accident for others.
std::uint64_t hash_of(const Bytes &bytes);

// One run of an operation: hands out its buffers and collects what came out. Not thread-safe.
class Trial {
 public:
  // kinds: where inputs and outputs lie. epoch: makes the patterns of this comparison its own.
  Trial(const Case &kinds, int epoch) : kinds_(kinds), epoch_(epoch) {}

  // A buffer of the sender's kind, filled with this rank's pattern of `iteration`. Lives as long as the run.
  Memory &input(std::size_t size_bytes, int iteration = 0);
  // A buffer of the receiver's kind, full of poison. Lives as long as the run.
  Memory &output(std::size_t size_bytes);
  // A buffer of any kind, full of poison.
  Memory &buffer(Kind kind, std::size_t size_bytes);

  // Host memory takes the place of every kind in the reference run.
  Kind send_kind() const { return kinds_.send; }
  Kind recv_kind() const { return kinds_.recv; }

  // A part of this run, for a thread of its own: what it hands out and collects is compared with this run's. Lives as
  // long as the run.
  Trial &part();

  // Writes this rank's pattern of `iteration` into a buffer.
  void refill(const Memory &memory, int iteration) const;
  // Fails unless the first `size_bytes` of `memory` are the pattern that rank `source` had in `iteration`.
  void expect_pattern(const Memory &memory, int source, int iteration, std::size_t size_bytes) const;

  // Values that must come out the same in both runs.
  void note(const std::string &what, long long value);
  // Notes an error class, and fails unless it is MPI_SUCCESS.
  void call(const std::string &what, int code);
  // Source, tag, count and elements, counted in `type`: what a probe tells.
  void note_envelope(const std::string &what, const MPI_Status &status, MPI_Datatype type);
  // The same and the cancelled flag: what the completion of an operation tells.
  void note_status(const std::string &what, const MPI_Status &status, MPI_Datatype type);

  // Reads all buffers back, those of the parts too, and adds their notes; nothing may be in flight any more. Once.
  void capture();
  const std::vector<Bytes> &contents() const { return contents_; }
  const std::vector<std::pair<std::string, long long>> &notes() const { return notes_; }

 private:
  Case kinds_;
  int epoch_;
  std::deque<Memory> buffers_;
  std::vector<std::unique_ptr<Trial>> parts_;
  std::vector<Bytes> contents_;
  std::vector<std::pair<std::string, long long>> notes_;
};

using Operation = std::function<void(Trial &)>;

// Runs `operation` twice, as said above, and fails the current test where the two runs differ. Collective over the
// session's communicator; `operation` leaves nothing in flight. Returns a number for all that this rank got out of the
// second run.
std::uint64_t compare_with_host(const Case &kinds, const Operation &operation);

// The two in one: every case of the matrix compared with its host run.
using CaseOperation = std::function<void(Trial &, const Case &)>;
void compare_each_case(Breadth breadth, const CaseOperation &operation);
void compare_each_case(Breadth breadth, const std::vector<std::size_t> &sizes_bytes, const CaseOperation &operation);

// Sends and receives so that two partners that both call this never wait for each other: one begins.
void in_turn(const std::function<void()> &send, const std::function<void()> &receive);

}  // namespace sluice::tests
