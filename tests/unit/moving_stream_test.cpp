// SPDX-License-Identifier: BSD-3-Clause
// A wait that goes on as long as the stream moves.
#include "device/moving_stream.hpp"

#include <gtest/gtest.h>

namespace {

using sluice::device::MovingStream;

TEST(MovingStream, IsWaitedFor_AsLongAsItMoves) {
  std::uint64_t at = 3;
  unsigned n_looks = 0;
  MovingStream stream([&] { return ++n_looks % 2 == 0 ? ++at : at; });
  stream.await(3);
  EXPECT_EQ(n_looks, 1U) << "it is there";
  stream.await(40);
  EXPECT_EQ(at, 40U);
  stream.await(40);
  EXPECT_EQ(at, 40U);
}

TEST(MovingStream, ThatStandsStill_IsGivenUp_UntilItMoves) {
  std::uint64_t at = 5;
  unsigned n_looks = 0;
  MovingStream stream([&] {
    ++n_looks;
    return at;
  });
  stream.await(6);
  EXPECT_GT(n_looks, 2U);
  n_looks = 0;
  for (int k = 0; k < 100; ++k) stream.await(6);
  EXPECT_EQ(n_looks, 100U) << "one look each, which tells that it has not moved";
  at = 6;
  stream.await(7);
  EXPECT_GT(n_looks, 102U) << "it has moved: it is waited for again";
  at = 7;
  n_looks = 0;
  stream.await(7);
  EXPECT_EQ(n_looks, 1U);
}

}  // namespace
