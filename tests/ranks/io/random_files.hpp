// SPDX-License-Identifier: BSD-3-Clause
// Small random programs of file calls: made from a seed, the same on all ranks, and with exactly one right outcome: in
// one phase no two calls touch the same bytes of the file if one of them writes.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "tests/ranks/io/test_file.hpp"
#include "tests/support/random_layouts.hpp"

namespace sluice::tests {

// What a rank's part of a call is about, in etypes of its view.
struct FileShare {
  Way way = Way::at;
  MPI_Offset first = 0;
  int count = 0;     // elements of its memory type
  int n_etypes = 1;  // of an element
  enum class Sort : std::uint8_t { plain, gaps, nested, absolute } sort = Sort::plain;
  std::uint64_t layout_seed = 0;
  std::uint64_t kind = 0;  // of memory: a number of any size

  MPI_Offset etypes() const { return static_cast<MPI_Offset>(count) * n_etypes; }
};

struct RandomFileCall {
  bool is_read = false;
  bool is_large = false;
  bool is_left_open = false;      // of calls with requests: completed together with those that follow
  std::vector<FileShare> shares;  // of each rank
};

// The etypes of a view stand in slots, of which each has an owner and which repeat.
struct RandomView {
  bool is_common = true;    // all ranks see the same; else each sees what it owns
  std::vector<int> owners;  // of a common view 0; -1: a gap
  enum class Maker : std::uint8_t { indexed_block, hindexed, structure, subarray } maker = Maker::indexed_block;
  MPI_Offset displacement = 0;
  const char *representation = "native";

  bool is_seen(std::size_t slot, int rank) const { return owners[slot] == (is_common ? 0 : rank); }
  MPI_Offset n_seen(int rank) const;
};

// Between two synchronisations.
struct FilePhase {
  RandomView view;
  bool is_joint = false;  // all its calls are collective
  std::size_t completer = 0;
  std::vector<RandomFileCall> calls;
};

struct FileProgram {
  Signature signature;
  int repeats = 1;         // of the signature in an etype
  MPI_Aint etype_gap = 0;  // bytes behind each etype
  bool is_atomic = false;
  std::size_t n_bytes = 0;  // in the file before the first phase
  std::vector<FilePhase> phases;

  MPI_Aint etype_extent() const { return static_cast<MPI_Aint>(signature.size_bytes) * repeats + etype_gap; }
};

// For people.
std::string describe(const FileProgram &program);

FileProgram make_file_program(std::uint64_t seed, int n_ranks);

// Runs it on a file of its own; the file's bytes are compared like a buffer. Collective.
void run_file_program(Trial &run, const FileProgram &program);

}  // namespace sluice::tests
