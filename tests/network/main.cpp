// SPDX-License-Identifier: BSD-3-Clause
// network --provider ucp|simulated [--backend <name> [--module-dir <folder>]] [GoogleTest's options]
// Ends with 0 when all passed, 77 when nothing could be tested (it says what was missing), 1 otherwise.
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string_view>

#include "tests/network/two_processes.hpp"

namespace {
constexpr int kSkipped = 77;
}

int main(int argc, char **argv) {
  using namespace sluice::tests::network_test;
  testing::InitGoogleTest(&argc, argv);
  if (GTEST_FLAG_GET(list_tests)) return RUN_ALL_TESTS();
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string_view word = argv[i];
    if (word == "--provider") options().provider = argv[i + 1];
    if (word == "--backend") options().backend = argv[i + 1];
    if (word == "--module-dir") options().module_dir = argv[i + 1];
    if (word == "--peer") options().peer_socket = std::atoi(argv[i + 1]);
  }
  // The library looks for modules beside itself, and this program is no library.
  if (!options().module_dir.empty()) setenv("SLUICE_BACKEND_PATH", options().module_dir.c_str(), 1);
  Site site;
  bool is_broken = false;
  if (const std::string reason = site.open(&is_broken); !reason.empty()) {
    std::printf("%s: provider %s: %s\n", is_broken ? "failed" : "skipped", options().provider.c_str(), reason.c_str());
    return is_broken ? 1 : kSkipped;
  }
  if (options().peer_socket < 0) return RUN_ALL_TESTS();
  try {
    return be_peer(site, options().peer_socket);
  } catch (const std::exception &error) {
    std::fprintf(stderr, "the other process: %s\n", error.what());
    return 1;
  }
}
