// SPDX-License-Identifier: BSD-3-Clause
// Runs the unit tests that want every knob at its default.
#include <gtest/gtest.h>

#include "environment.hpp"

int main(int argc, char **argv) {
  sluice::tests::clear_knobs();
  ::testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
