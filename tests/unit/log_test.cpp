// SPDX-License-Identifier: BSD-3-Clause
// The log: levels, the form of a line, lines of several threads, and what is said once.
#include "base/log.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <set>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

namespace sluice::log::log_test {
namespace {

using ::testing::HasSubstr;

class Log_Line : public ::testing::Test {  // NOLINT(readability-identifier-naming): a test suite's name
 protected:
  ~Log_Line() override {
    set_level(Level::kWarn);
    set_rank(-1);
  }
};

// What `body` writes to standard error.
template <typename Body>
std::string written_by(Body body) {
  ::testing::internal::CaptureStderr();
  body();
  return ::testing::internal::GetCapturedStderr();
}

void say_all() {
  error("base", "e");
  warn("base", "w");
  info("base", "i");
  debug("base", "d");
}

TEST_F(Log_Line, IsWritten_WhenItsLevelIsOn) {
  const std::string who = "sluice[pid " + std::to_string(getpid()) + "] ";
  const std::vector<std::string> lines = {who + "error base e\n", who + "warning base w\n", who + "info base i\n",
                                          who + "debug base d\n"};
  std::string expected;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    expected += lines[i];
    set_level(static_cast<Level>(i));
    EXPECT_EQ(level(), static_cast<Level>(i));
    EXPECT_EQ(written_by(say_all), expected);
  }
}

TEST_F(Log_Line, NamesTheRank_WhenItIsKnown) {
  set_rank(17);
  EXPECT_EQ(written_by([] { warn("device", "value 3"); }), "sluice[17] warning device value 3\n");
  set_rank(0);
  EXPECT_EQ(written_by([] { warn("device", ""); }), "sluice[0] warning device \n");
}

TEST_F(Log_Line, IsWhole_WhenManyThreadsWrite) {
  constexpr int kThreads = 8;
  constexpr int kLines = 100;
  set_rank(1);
  const std::string text = written_by([] {
    std::vector<std::thread> threads;
    for (int t = 0; t < kThreads; ++t) {
      threads.emplace_back([t] {
        for (int i = 0; i < kLines; ++i)
          warn("base", std::to_string(t) + ":" + std::to_string(i) + std::string(200, 'x'));
      });
    }
    for (std::thread &thread : threads) thread.join();
  });
  std::set<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.insert(line);
  EXPECT_EQ(lines.size(), static_cast<std::size_t>(kThreads * kLines));
  for (int t = 0; t < kThreads; ++t) {
    for (int i = 0; i < kLines; ++i) {
      EXPECT_TRUE(lines.contains("sluice[1] warning base " + std::to_string(t) + ":" + std::to_string(i) +
                                 std::string(200, 'x')));
    }
  }
}

TEST_F(Log_Line, ComesOnceAKey_FromWarnOnce) {
  const std::string text = written_by([] {
    std::vector<std::thread> threads;
    for (int t = 0; t < 8; ++t) {
      threads.emplace_back([] {
        for (int i = 0; i < 50; ++i) warn_once("key a", "device", "slower");
      });
    }
    for (std::thread &thread : threads) thread.join();
    warn_once("key b", "device", "slower too");
    warn_once("key b", "device", "another text of the same key");
  });
  EXPECT_THAT(text, HasSubstr("warning device slower\n"));
  EXPECT_THAT(text, HasSubstr("warning device slower too\n"));
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 2) << text;
}

TEST_F(Log_Line, IsLostQuietly_WhenStandardErrorIsClosed) {
  const int kept = dup(STDERR_FILENO);
  ASSERT_GE(kept, 0);
  close(STDERR_FILENO);
  error("base", "nobody reads this");
  EXPECT_EQ(dup2(kept, STDERR_FILENO), STDERR_FILENO);
  close(kept);
}

// Standard error is a pipe, while it lives.
class PipeAsStandardError {
 public:
  PipeAsStandardError() : kept_(dup(STDERR_FILENO)) {
    EXPECT_EQ(pipe(ends_.data()), 0);
    EXPECT_EQ(dup2(ends_[1], STDERR_FILENO), STDERR_FILENO);
  }
  ~PipeAsStandardError() {
    EXPECT_EQ(dup2(kept_, STDERR_FILENO), STDERR_FILENO);
    for (const int end : {kept_, ends_[0], ends_[1]}) close(end);
  }
  PipeAsStandardError(const PipeAsStandardError &) = delete;
  PipeAsStandardError &operator=(const PipeAsStandardError &) = delete;

  // Waits for something to be there.
  [[nodiscard]] std::string read_some() const {
    std::array<char, 1000> text{};
    const ssize_t n_bytes = read(ends_[0], text.data(), text.size());
    return {text.data(), n_bytes > 0 ? static_cast<std::size_t>(n_bytes) : 0};
  }
  void wait_for_words() const {
    pollfd end{ends_[0], POLLIN, 0};
    EXPECT_EQ(poll(&end, 1, -1), 1);
  }

 private:
  int kept_;
  std::array<int, 2> ends_{};
};

TEST_F(Log_Line, HasBeenRead_WhenItIsTheLast) {
  set_rank(3);
  std::string text;
  bool had_begun_to_read = false;
  {
    const PipeAsStandardError standard_error;
    std::atomic<bool> begins_to_read{false};
    std::thread reader([&] {
      standard_error.wait_for_words();
      // Long enough for a caller that does not wait to be gone.
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
      begins_to_read = true;
      text = standard_error.read_some();
    });
    last_words("wire", "the reason");
    had_begun_to_read = begins_to_read;
    reader.join();
  }
  EXPECT_TRUE(had_begun_to_read);
  EXPECT_EQ(text, "sluice[3] error wire the reason\n");
}

TEST_F(Log_Line, IsNotWaitedForWithoutEnd_WhenNobodyReads) {
  set_rank(3);
  std::string text;
  {
    const PipeAsStandardError standard_error;
    last_words("wire", "the reason");
    text = standard_error.read_some();
  }
  EXPECT_EQ(text, "sluice[3] error wire the reason\n");
}

}  // namespace
}  // namespace sluice::log::log_test
