// SPDX-License-Identifier: BSD-3-Clause
#include "base/short_mutex.hpp"

#include <gtest/gtest.h>

#include <mutex>
#include <thread>
#include <vector>

namespace sluice::short_mutex_test {
namespace {

TEST(ShortMutex, LetsOneInAtATime) {
  constexpr int kThreads = 4;  // more than the cores of a small machine, so that some have to sleep
  constexpr int kTimes = 20000;
  ShortMutex mutex;
  int value = 0;  // not atomic: two at a time would lose some
  std::vector<std::jthread> threads;
  threads.reserve(kThreads);
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&] {
      for (int k = 0; k < kTimes; ++k) {
        const std::scoped_lock lock(mutex);
        const int seen = value;
        value = seen + 1;
        if (k % 1000 == 0) std::this_thread::yield();  // with the mutex held, so that others meet it taken
      }
    });
  }
  threads.clear();
  EXPECT_EQ(value, kThreads * kTimes);
}

TEST(ShortMutex, IsNotGivenTwice) {
  ShortMutex mutex;
  ASSERT_TRUE(mutex.try_lock());
  EXPECT_FALSE(mutex.try_lock());
  mutex.unlock();
  EXPECT_TRUE(mutex.try_lock());
  mutex.unlock();
}

TEST(ShortMutex, WakesWhoSleeps) {
  ShortMutex mutex;
  mutex.lock();
  bool was_in = false;
  std::jthread other([&] {
    const std::scoped_lock lock(mutex);
    was_in = true;
  });
  std::this_thread::yield();
  EXPECT_FALSE(was_in);  // written by nobody before unlock()
  mutex.unlock();
  other.join();
  EXPECT_TRUE(was_in);
}

}  // namespace
}  // namespace sluice::short_mutex_test
