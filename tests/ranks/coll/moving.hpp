// SPDX-License-Identifier: BSD-3-Clause
// The operations that the ranks of a node may carry out together, in their forms, and the suite of the tests of that.
#pragma once

#include <gtest/gtest.h>
#include <mpi.h>

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "tests/support/oracle.hpp"
#include "tests/support/statistics.hpp"

namespace sluice::tests {

inline constexpr std::size_t kBlockBytes = 30'000;
inline constexpr int kBlockCount = static_cast<int>(kBlockBytes);

// Memory of one rank for one call: a block for each rank in and out, and the arrays that describe them, which a
// non-blocking call may read until it is complete. `round` makes the input its own.
struct Buffers {
  Buffers(Kind kind, int round);

  std::size_t n_ranks;
  Memory in;
  Memory out;
  std::vector<int> counts;
  std::vector<int> places;
  std::vector<MPI_Datatype> types;
};

struct Moving {
  const char *name;  // of the blocking form
  std::function<int(const Buffers &, int root, MPI_Comm)> call;
  std::function<int(const Buffers &, int root, MPI_Comm, MPI_Request *)> start;
  // None with a header of MPI 3.
  std::function<int(const Buffers &, int root, MPI_Comm, MPI_Request *)> init;

  // As the statistics name those forms.
  std::string starting_name() const;
  std::string init_name() const { return std::string(name) + "_init"; }
};

const std::vector<Moving> &movements();
const Moving &movement(std::string_view name);

// Fails where the output is not what `moving` brings from the inputs of `round`.
void expect_right(const Moving &moving, const Buffers &b, int root, int round);

// Started with SLUICE_COLL_IPC=always, a threshold of 0 and statistics; skips all otherwise.
class Together : public testing::Test {
 protected:
  void SetUp() override;

  const Session &session_ = Session::get();
};

}  // namespace sluice::tests
