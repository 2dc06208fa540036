// SPDX-License-Identifier: BSD-3-Clause
// Comparison of two runs of one operation.
#include "tests/support/oracle.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>

namespace sluice::tests {
namespace {

// Room for the iterations of one comparison.
constexpr int kIterationsPerEpoch = 1000;

int next_epoch() {
  static int epoch = 0;
  return ++epoch;
}

// The fault of a test is its own; the harness proves with this text that it found one.
constexpr const char *kDiffers = "differs from the host run";

void report_differences(const Trial &reference, const Trial &actual) {
  const auto &expected_notes = reference.notes();
  const auto &actual_notes = actual.notes();
  EXPECT_EQ(expected_notes.size(), actual_notes.size()) << "number of noted values " << kDiffers;
  for (std::size_t i = 0; i < std::min(expected_notes.size(), actual_notes.size()); ++i) {
    EXPECT_EQ(expected_notes[i], actual_notes[i]) << "note " << i << " (" << actual_notes[i].first << ") " << kDiffers;
  }
  ASSERT_EQ(reference.contents().size(), actual.contents().size()) << "number of buffers " << kDiffers;
  for (std::size_t i = 0; i < actual.contents().size(); ++i) {
    const std::string difference = find_difference(reference.contents()[i], actual.contents()[i]);
    EXPECT_TRUE(difference.empty()) << "buffer " << i << " with its guards " << kDiffers << ": " << difference;
  }
}

std::uint64_t digest_of(const Trial &run) {
  Bytes hashes;
  const auto add = [&hashes](std::uint64_t number) {
    for (unsigned i = 0; i < 8; ++i) hashes.push_back(static_cast<unsigned char>(number >> (8 * i)));
  };
  for (const Bytes &content : run.contents()) add(hash_of(content));
  for (const auto &[what, value] : run.notes()) {
    hashes.insert(hashes.end(), what.begin(), what.end());
    add(static_cast<std::uint64_t>(value));
  }
  return hash_of(hashes);
}

}  // namespace

std::uint64_t hash_of(const Bytes &bytes) {
  // FNV-1a, 64 bits.
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const unsigned char byte : bytes) hash = (hash ^ byte) * 0x100000001b3;
  return hash;
}

Memory &Trial::buffer(Kind kind, std::size_t size_bytes) {
  // Every second pointer is interior to its allocation.
  const bool has_front_guard = buffers_.size() % 2 == 1;
  const bool is_reference = kinds_.send == Kind::host && kinds_.recv == Kind::host;
  return buffers_.emplace_back(Session::get().module(), is_reference ? Kind::host : kind, size_bytes, has_front_guard);
}

Memory &Trial::input(std::size_t size_bytes, int iteration) {
  Memory &memory = buffer(kinds_.send, size_bytes);
  refill(memory, iteration);
  return memory;
}

Memory &Trial::output(std::size_t size_bytes) {
  return buffer(kinds_.recv, size_bytes);
}

Trial &Trial::part() {
  return *parts_.emplace_back(std::make_unique<Trial>(kinds_, epoch_));
}

void Trial::refill(const Memory &memory, int iteration) const {
  memory.fill_pattern(Session::get().rank(), epoch_ * kIterationsPerEpoch + iteration);
}

void Trial::expect_pattern(const Memory &memory, int source, int iteration, std::size_t size_bytes) const {
  const std::string error =
      find_pattern_error(memory.read(0, size_bytes), source, epoch_ * kIterationsPerEpoch + iteration);
  EXPECT_TRUE(error.empty()) << kind_name(memory.kind()) << " buffer: " << error;
}

void Trial::note(const std::string &what, long long value) {
  notes_.emplace_back(what, value);
}

void Trial::call(const std::string &what, int code) {
  int error_class = MPI_SUCCESS;
  if (code != MPI_SUCCESS) {
    MPI_Error_class(code, &error_class);
    char text[MPI_MAX_ERROR_STRING] = "";
    int length = 0;
    MPI_Error_string(code, text, &length);
    ADD_FAILURE() << what << " failed: " << text;
  }
  note(what, error_class);
}

void Trial::note_envelope(const std::string &what, const MPI_Status &status, MPI_Datatype type) {
  note(what + ".source", status.MPI_SOURCE);
  note(what + ".tag", status.MPI_TAG);
  int count = 0;
  MPI_Get_count(&status, type, &count);
  note(what + ".count", count == MPI_UNDEFINED ? -1 : count);
  MPI_Get_elements(&status, type, &count);
  note(what + ".elements", count == MPI_UNDEFINED ? -1 : count);
  MPI_Count elements = 0;
  MPI_Get_elements_x(&status, type, &elements);
  note(what + ".elements_x", elements);
}

void Trial::note_status(const std::string &what, const MPI_Status &status, MPI_Datatype type) {
  note_envelope(what, status, type);
  int is_cancelled = 0;
  MPI_Test_cancelled(&status, &is_cancelled);
  note(what + ".cancelled", is_cancelled);
}

void Trial::capture() {
  contents_.clear();
  for (const Memory &memory : buffers_) {
    contents_.push_back(memory.read_with_guards());
  }
  for (const auto &part : parts_) {
    part->capture();
    contents_.insert(contents_.end(), part->contents_.begin(), part->contents_.end());
    notes_.insert(notes_.end(), part->notes_.begin(), part->notes_.end());
  }
}

std::uint64_t compare_with_host(const Case &kinds, const Operation &operation) {
  const Session &session = Session::get();
  const int epoch = next_epoch();
  Trial reference({Kind::host, Kind::host, kinds.size_bytes}, epoch);
  {
    SCOPED_TRACE("the run on host copies");
    operation(reference);
    reference.capture();
  }
  MPI_Barrier(session.comm());
  Trial actual(kinds, epoch);
  operation(actual);
  actual.capture();
  MPI_Barrier(session.comm());
  report_differences(reference, actual);
  return digest_of(actual);
}

void compare_each_case(Breadth breadth, const CaseOperation &operation) {
  for_each_case(breadth, [&](const Case &c) { compare_with_host(c, [&](Trial &run) { operation(run, c); }); });
}

void compare_each_case(Breadth breadth, const std::vector<std::size_t> &sizes_bytes, const CaseOperation &operation) {
  for_each_case(breadth, sizes_bytes,
                [&](const Case &c) { compare_with_host(c, [&](Trial &run) { operation(run, c); }); });
}

void in_turn(const std::function<void()> &send, const std::function<void()> &receive) {
  if (Session::get().begins()) {
    send();
    receive();
  } else {
    receive();
    send();
  }
}

}  // namespace sluice::tests
