// SPDX-License-Identifier: BSD-3-Clause
// The suite of tests of staged collective operations in segments.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <string_view>

#include "tests/support/session.hpp"

namespace sluice::tests {

// Skips all unless started with SLUICE_COLL_SEGMENTS=always, device memory and a second rank.
class Segmented : public testing::Test {
 protected:
  void SetUp() override {
    const char *mode = std::getenv("SLUICE_COLL_SEGMENTS");
    if (!session_.has_kind(Kind::device)) GTEST_SKIP() << "missing: device memory";
    if (mode == nullptr || std::string_view(mode) != "always" || session_.size() < 2) {
      GTEST_SKIP() << "missing: SLUICE_COLL_SEGMENTS=always, or a second rank";
    }
  }

  const Session &session_ = Session::get();
};

}  // namespace sluice::tests
