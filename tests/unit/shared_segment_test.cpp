// SPDX-License-Identifier: BSD-3-Clause
// SharedSegment: memory that is in no folder, which other processes are given under a name.
#include "wire/shared_segment.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <iterator>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "wire/local_socket.hpp"

namespace sluice::wire::shared_segment_test {
namespace {

constexpr std::size_t kBytes = 3 * 4096;

// What is in the folder of shared memory, of this library's.
std::set<std::string> names() {
  std::set<std::string> found;
  for (const auto &entry : std::filesystem::directory_iterator("/dev/shm")) {
    const std::string leaf = entry.path().filename().string();
    if (leaf.starts_with("sluice-") && entry.is_regular_file()) found.insert(leaf);
  }
  return found;
}

int n_open_files() {
  const std::filesystem::directory_iterator files("/proc/self/fd");
  return static_cast<int>(std::distance(begin(files), end(files)));
}

TEST(SharedSegment, IsZeroAndInNoFolder) {
  const std::set<std::string> before = names();
  SharedSegment segment;
  SegmentName name{};
  ASSERT_TRUE(SharedSegment::create(kBytes, &segment, &name).is_ok());
  const auto *bytes = static_cast<const char *>(segment.data());
  EXPECT_TRUE(std::all_of(bytes, bytes + kBytes, [](char byte) { return byte == 0; }));
  for (const std::string &left : names()) EXPECT_TRUE(before.contains(left)) << left;
  SharedSegment::remove_name(name);
}

TEST(SharedSegment, IsSharedWithAnotherProcess) {
  SharedSegment segment;
  SegmentName name{};
  ASSERT_TRUE(SharedSegment::create(kBytes, &segment, &name).is_ok());
  const pid_t child = fork();
  if (child == 0) {
    SharedSegment opened;
    if (!SharedSegment::open(name, kBytes, &opened).is_ok()) _exit(1);
    static_cast<char *>(opened.data())[kBytes - 1] = 'x';
    _exit(0);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(static_cast<const char *>(segment.data())[kBytes - 1], 'x');
  SharedSegment::remove_name(name);
}

TEST(SharedSegment, IsGivenToManyAtOnce) {
  constexpr int kAsking = 24;
  SharedSegment segment;
  SegmentName name{};
  ASSERT_TRUE(SharedSegment::create(kBytes, &segment, &name).is_ok());
  std::vector<Status> statuses(kAsking);
  std::vector<std::thread> threads;
  threads.reserve(kAsking);
  for (int i = 0; i < kAsking; ++i) {
    threads.emplace_back([&, i] {
      SharedSegment opened;
      statuses[static_cast<std::size_t>(i)] = SharedSegment::open(name, kBytes, &opened);
    });
  }
  for (std::thread &thread : threads) thread.join();
  for (const Status &status : statuses) EXPECT_TRUE(status.is_ok()) << status.message();
  SharedSegment::remove_name(name);
}

TEST(SharedSegment, IsNotOpenedWithoutItsName) {
  SharedSegment segment;
  SegmentName name{};
  ASSERT_TRUE(SharedSegment::create(kBytes, &segment, &name).is_ok());
  SharedSegment opened;
  EXPECT_FALSE(SharedSegment::open(name, kBytes + 1, &opened).is_ok()) << "another length";
  SegmentName other = name;
  other[10] = other[10] == '0' ? '1' : '0';
  EXPECT_FALSE(SharedSegment::open(other, kBytes, &opened).is_ok());
  other.fill('x');
  EXPECT_FALSE(SharedSegment::open(other, kBytes, &opened).is_ok()) << "a name without an end";
  EXPECT_FALSE(SharedSegment::open({}, kBytes, &opened).is_ok()) << "none";
  SharedSegment::remove_name(name);
  EXPECT_FALSE(SharedSegment::open(name, kBytes, &opened).is_ok()) << "the name is gone";
  EXPECT_EQ(opened.data(), nullptr);
}

TEST(SharedSegment, CannotBeCutShort) {
  SharedSegment segment;
  SegmentName name{};
  ASSERT_TRUE(SharedSegment::create(kBytes, &segment, &name).is_ok());
  FileDescriptor file;
  ASSERT_TRUE(ask_for_segment(name, &file).is_ok());
  EXPECT_NE(ftruncate(file.get(), 0), 0) << "whoever has it mapped would be ended by a signal";
  SharedSegment::remove_name(name);
}

TEST(SharedSegment, GoesWithAllItsFiles) {
  const auto make_one = [] {
    SharedSegment segment;
    SegmentName name{};
    ASSERT_TRUE(SharedSegment::create(kBytes, &segment, &name).is_ok());
    SharedSegment opened;
    EXPECT_TRUE(SharedSegment::open(name, kBytes, &opened).is_ok());
    SharedSegment::remove_name(name);
    SharedSegment::remove_name(name);  // any more often does nothing
  };
  make_one();  // what the first one brings for good
  const int before = n_open_files();
  for (int i = 0; i < 20; ++i) make_one();
  EXPECT_EQ(n_open_files(), before);
}

}  // namespace
}  // namespace sluice::wire::shared_segment_test
