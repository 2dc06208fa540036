// SPDX-License-Identifier: BSD-3-Clause
// Collective operations over IPC in which each rank gets its blocks by one kernel: that it does, with every length and
// place within a word, and what happens where the kernel cannot. Started as together.cpp says, with
// coll_kernel_copy=1G; the results of all calls are compared by the other tests of this program, started the
// same way.
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

#include "tests/ranks/coll/moving.hpp"
#include "tests/support/given_setting.hpp"

namespace sluice::tests::together_kernel_test {
namespace {

class TogetherKernel : public Together {
 protected:
  void SetUp() override {
    Together::SetUp();
    if (IsSkipped()) return;
    if (given_setting("coll_kernel_copy") != "1G" && !has_own_by_kernels()) {
      GTEST_SKIP() << "started without coll_kernel_copy and coll_own_block";
    }
  }

  // Not one kernel, but one for the rank's own blocks and another one for those of others beside them.
  static bool has_own_by_kernels() { return given_setting("coll_own_block") == "kernels"; }

  // Started with coll_chain_block=500, so that a broadcast to several ranks goes along a chain.
  // How many ranks send something to this one, itself included.
  [[nodiscard]] std::size_t blocks_of(const Moving &moving, int root) const {
    const std::string name = moving.name;
    const bool is_root = session_.rank() == root;
    const auto n_ranks = static_cast<std::size_t>(session_.size());
    if (name == "MPI_Bcast") return is_root ? 0 : 1;
    if (name.find("MPI_Gather") == 0) return is_root ? n_ranks : 0;
    return name.find("MPI_Scatter") == 0 ? 1 : n_ranks;
  }
};

TEST_F(TogetherKernel, BringsOwnBlocks_AndWhatComesBesideThem) {
  if (!has_own_by_kernels()) GTEST_SKIP() << "started without coll_own_block=kernels";
  for (const char *name : {"MPI_Allgather", "MPI_Alltoall", "MPI_Gather", "MPI_Scatter"}) {
    const Moving &moving = movement(name);
    for (int root = 0; root < session_.size(); ++root) {
      const Buffers buffers(Kind::device, root);
      const bool is_rooted = std::string(name) == "MPI_Gather" || std::string(name) == "MPI_Scatter";
      const bool has_own = !is_rooted || session_.rank() == root;
      const long long by_kernel = calls_by(name, "kernel");
      ASSERT_EQ(moving.call(buffers, root, session_.comm()), MPI_SUCCESS) << name;
      EXPECT_EQ(calls_by(name, "kernel") > by_kernel, has_own) << name << ", root " << root;
      expect_right(moving, buffers, root, root);
    }
  }
}

TEST_F(TogetherKernel, BringsWhateverARankGets) {
  if (has_own_by_kernels()) GTEST_SKIP() << "started with coll_own_block=kernels";
  for (const Moving &moving : movements()) {
    for (int root = 0; root < session_.size(); ++root) {
      const Buffers buffers(Kind::device, root);
      const std::size_t n_blocks = blocks_of(moving, root);
      const bool is_chain = std::string(moving.name) == "MPI_Bcast" && session_.size() > 2;
      const bool is_by_kernel = n_blocks > 0 && !is_chain && n_blocks <= SLUICE_KERNEL_MAX_COPIES;
      const long long by_kernel = calls_by(moving.name, "kernel");
      const long long by_engines = calls_by(moving.name, "ipc");
      ASSERT_EQ(moving.call(buffers, root, session_.comm()), MPI_SUCCESS) << moving.name;
      EXPECT_EQ(calls_by(moving.name, "kernel") > by_kernel, is_by_kernel) << moving.name << ", root " << root;
      EXPECT_EQ(calls_by(moving.name, "ipc") > by_engines, !is_by_kernel) << moving.name << ", root " << root;
      expect_right(moving, buffers, root, root);
    }
  }
}

TEST_F(TogetherKernel, BringsEveryByte_WhateverTheLengthAndThePlace) {
  const auto n_ranks = static_cast<std::size_t>(session_.size());
  const auto rank = static_cast<std::size_t>(session_.rank());
  constexpr std::size_t kLongest = 70'001;
  const Memory in(session_.module(), Kind::device, n_ranks * kLongest + 32);
  const Memory out(session_.module(), Kind::device, n_ranks * kLongest + 32);
  int round = 0;
  for (const std::size_t count : std::initializer_list<std::size_t>{1, 3, 16, 63, 1000, 4096, kLongest}) {
    for (const std::size_t shift : std::initializer_list<std::size_t>{0, 1, 4, 15}) {
      ++round;
      const std::size_t in_shift = shift * (rank + 1) % 16;
      in.fill_pattern(session_.rank(), round);
      out.fill(kPoison);
      ASSERT_EQ(MPI_Alltoall(in.at(in_shift), static_cast<int>(count), MPI_BYTE, out.at(shift), static_cast<int>(count),
                             MPI_BYTE, session_.comm()),
                MPI_SUCCESS);
      for (std::size_t of = 0; of < n_ranks; ++of) {
        const std::size_t from = shift * (of + 1) % 16 + rank * count;
        ASSERT_EQ(find_pattern_error(out.read(shift + of * count, count), static_cast<int>(of), round, from), "")
            << count << " bytes from " << of << ", shift " << shift;
      }
      const Bytes around = out.read(shift + n_ranks * count, 16);
      ASSERT_EQ(around, Bytes(16, kPoison)) << count << " bytes, shift " << shift;
      if (shift > 0) {
        ASSERT_EQ(out.read(0, shift), Bytes(shift, kPoison));
      }
    }
  }
}

// With a fault in force on one rank: its kernel fails, once. What TEST_KERNEL_COPY_FAULT says comes of it: the device
// is taken for one without such a kernel (engines), or all get an error (error); the next calls work.
TEST_F(TogetherKernel, IsNoLoss_WhenItFails) {
  const char *outcome = std::getenv("TEST_KERNEL_COPY_FAULT");
  if (outcome == nullptr) GTEST_SKIP() << "started without a fault";
  const bool is_error = std::string(outcome) == "error";
  const auto exchange = [&](int round) {
    const Buffers buffers(Kind::device, round);
    const int code = MPI_Allgather(buffers.in.data(), kBlockCount, MPI_BYTE, buffers.out.data(), kBlockCount, MPI_BYTE,
                                   session_.comm());
    if (code == MPI_SUCCESS) expect_right(movement("MPI_Allgather"), buffers, 0, round);
    return code;
  };
  EXPECT_EQ(exchange(0) != MPI_SUCCESS, is_error);
  EXPECT_EQ(exchange(1), MPI_SUCCESS);
  EXPECT_EQ(exchange(2), MPI_SUCCESS);
  if (!is_error && session_.rank() == 1) {
    EXPECT_EQ(calls_by("MPI_Allgather", "kernel"), 0);
    EXPECT_EQ(calls_by("MPI_Allgather", "ipc"), 6) << "three calls, each with two buffers";
  }
}

}  // namespace
}  // namespace sluice::tests::together_kernel_test
