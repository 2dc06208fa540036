// SPDX-License-Identifier: BSD-3-Clause
// conformance --backend <name> [--module-dir <folder>] [GoogleTest's options]
// Ends with 0 when all passed, 77 when nothing could be tested (it says what was missing), 1 or 2 otherwise.
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

#include "ipc_peer.h"
#include "module_under_test.h"

namespace {

constexpr int kSkipped = 77;
constexpr int kUsage = 2;

// <folder of this program>/../lib/sluice, the layout of the build tree and of an installation.
std::string default_module_dir() {
  std::array<char, 4096> path{};
  const ssize_t length = readlink("/proc/self/exe", path.data(), path.size() - 1);
  const std::string program(path.data(), length > 0 ? static_cast<size_t>(length) : 0);
  return program.substr(0, program.rfind('/') + 1) + "../lib/sluice";
}

}  // namespace

int main(int argc, char **argv) {
  testing::InitGoogleTest(&argc, argv);
  if (GTEST_FLAG_GET(list_tests)) return RUN_ALL_TESTS();
  std::string backend;
  std::string module_dir = default_module_dir();
  int peer_socket = -1;  // of the process that told this one to be its peer
  for (int i = 1; i + 1 < argc; i += 2) {
    if (std::string_view(argv[i]) == "--backend") backend = argv[i + 1];
    if (std::string_view(argv[i]) == "--module-dir") module_dir = argv[i + 1];
    if (std::string_view(argv[i]) == conformance::kPeerOption) peer_socket = std::atoi(argv[i + 1]);
  }
  if (backend.empty()) {
    std::fprintf(stderr, "usage: %s --backend <name> [--module-dir <folder>]\n", argv[0]);
    return kUsage;
  }
  std::string reason;
  switch (conformance::load_module(backend, module_dir, &reason)) {
    case conformance::LoadResult::kReady:
      break;
    case conformance::LoadResult::kMissing:
      std::printf("skipped: backend %s cannot run here: %s\n", backend.c_str(), reason.c_str());
      return kSkipped;
    case conformance::LoadResult::kBroken:
      std::fprintf(stderr, "backend %s: %s\n", backend.c_str(), reason.c_str());
      return 1;
  }
  // Staging memory and queues exist only where the program has a context: be a program that uses every device.
  for (int32_t i = conformance::has_program_group() ? conformance::table().device_count() : 0; i-- > 0;) {
    if (conformance::table().program_set_device(i) == SLUICE_SUCCESS) continue;
    std::fprintf(stderr, "backend %s: device %d: %s\n", backend.c_str(), i, conformance::table().last_error());
    return 1;
  }
  if (peer_socket >= 0) {
    const int peer_status = conformance::run_peer(peer_socket);
    conformance::unload_module();
    return peer_status;
  }
  conformance::remember_arguments(backend, module_dir);
  const int status = RUN_ALL_TESTS();
  conformance::unload_module();
  const testing::UnitTest &tests = *testing::UnitTest::GetInstance();
  const bool is_all_skipped = tests.test_to_run_count() > 0 && tests.skipped_test_count() == tests.test_to_run_count();
  return status == 0 && is_all_skipped ? kSkipped : status;
}
