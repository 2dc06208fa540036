// SPDX-License-Identifier: BSD-3-Clause
// A rank that is killed in a collective call on a file: the job ends, as with the host MPI alone. The registration of
// the test looks at that end.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <thread>

#include "tests/ranks/io/test_file.hpp"

namespace sluice::tests::peers_test {
namespace {

constexpr std::size_t kBytes = std::size_t{1} << 20;

// Kills this process as soon as the first data is in the file, which nobody else removes.
void kill_in_the_middle(const std::string &path) {
  std::thread([path] {
    struct stat about{};
    while (stat(path.c_str(), &about) != 0 || about.st_size == 0) std::this_thread::yield();
    std::remove(path.c_str());
    raise(SIGKILL);
  }).detach();
}

TEST(FilePeers, EndTheJob_WhenOneIsKilledInACollectiveCall) {
  const char *const how = std::getenv("TEST_PEER_DIES");  // NOLINT(concurrency-mt-unsafe): nobody sets it
  if (how == nullptr) GTEST_SKIP() << "missing: TEST_PEER_DIES, the way to write meanwhile";
  const Session &session = Session::get();
  const Memory memory(session.module(), device_or_host(), kBytes);
  TestFile file;
  FileCall call;
  call.buffer = memory.data();
  call.count = kBytes;
  call.offset = session.rank() * static_cast<MPI_Offset>(kBytes);
  for (const Way way : every_way()) {
    if (how != std::string_view(way_name(way))) continue;
    if (session.rank() == 1) kill_in_the_middle(file.path());
    // Nobody gets far beyond that call: all wait for each other.
    static_cast<void>(write_by(way, file.get(), call, MPI_STATUS_IGNORE));
    MPI_Barrier(session.comm());
    MPI_Barrier(session.comm());
  }
  FAIL() << "the job goes on without a rank";
}

}  // namespace
}  // namespace sluice::tests::peers_test
