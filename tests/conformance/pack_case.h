// SPDX-License-Identifier: BSD-3-Clause
// What the tests of the group `pack` share.
#pragma once

#include <gtest/gtest.h>

#include "module_under_test.h"

#define SKIP_WITHOUT_PACK_GROUP()                                                                            \
  do {                                                                                                       \
    if (conformance::table().can_pack == nullptr) GTEST_SKIP() << "missing: the group pack";                 \
    if (conformance::table().can_pack(0) == 0) GTEST_SKIP() << "missing: a kernel that packs on device 0";   \
    if (!conformance::has_program_group()) GTEST_SKIP() << "missing: the program group to make memory with"; \
  } while (false)
