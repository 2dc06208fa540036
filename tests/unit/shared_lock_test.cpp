// SPDX-License-Identifier: BSD-3-Clause
// SharedLock: one process has it, until it gives the lock back or ends.
#include "wire/shared_lock.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

namespace sluice::wire {
namespace {

bool is_taken_by(const SharedLock &lock) {
  bool is_taken = false;
  EXPECT_TRUE(lock.try_take(&is_taken).is_ok());
  return is_taken;
}

// A process that opens the lock, takes it, tells so by a byte, and waits to be killed.
class Holder {
 public:
  explicit Holder(const SegmentName &name) {
    EXPECT_EQ(pipe(ends_), 0);
    pid_ = fork();
    if (pid_ != 0) return;
    SharedLock lock;
    bool is_taken = false;
    const bool is_good = lock.open(name).is_ok() && lock.try_take(&is_taken).is_ok() && is_taken;
    const char word = is_good ? 'y' : 'n';
    if (write(ends_[1], &word, 1) != 1) _exit(1);
    while (true) pause();
  }
  Holder(const Holder &) = delete;
  Holder &operator=(const Holder &) = delete;
  ~Holder() {
    close(ends_[0]);
    close(ends_[1]);
  }
  bool has_it() const {
    char word = 'n';
    return read(ends_[0], &word, 1) == 1 && word == 'y';
  }
  void kill() const {
    EXPECT_EQ(::kill(pid_, SIGKILL), 0);
    EXPECT_EQ(waitpid(pid_, nullptr, 0), pid_);
  }

 private:
  int ends_[2] = {-1, -1};
  pid_t pid_ = -1;
};

TEST(SharedLock, IsOneProcesssAtATime_AndGoesWithIt) {
  SharedLock lock;
  SegmentName name{};
  ASSERT_TRUE(lock.create(&name).is_ok());
  const Holder holder(name);
  ASSERT_TRUE(holder.has_it());
  EXPECT_FALSE(is_taken_by(lock));
  holder.kill();
  EXPECT_TRUE(is_taken_by(lock));
  lock.release();
  EXPECT_TRUE(is_taken_by(lock));
  SegmentOffers::process().remove(name);
}

TEST(SharedLock, IsNotThere_WithoutAName) {
  SharedLock lock;
  SegmentName name{};
  ASSERT_TRUE(lock.create(&name).is_ok());
  SegmentOffers::process().remove(name);
  SharedLock other;
  EXPECT_FALSE(other.open(name).is_ok());
  EXPECT_FALSE(other.is_there());
}

}  // namespace
}  // namespace sluice::wire
