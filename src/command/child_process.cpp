// SPDX-License-Identifier: BSD-3-Clause
#include "command/child_process.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>

#include "base/file_descriptor.hpp"

namespace sluice::command {
namespace {

using Clock = std::chrono::steady_clock;

// Reads until the other end is closed. False when the time is over.
bool read_all(int fd, Clock::time_point deadline, std::string *text) {
  std::array<char, 4096> part{};
  for (;;) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now()).count();
    pollfd wanted{fd, POLLIN, 0};
    const int ready = left > 0 ? poll(&wanted, 1, static_cast<int>(left)) : 0;
    if (ready < 0 && errno == EINTR) continue;
    if (ready <= 0) return false;
    const ssize_t n = read(fd, part.data(), part.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return false;
    if (n == 0) return true;
    text->append(part.data(), static_cast<std::size_t>(n));
  }
}

// Waits for the child, which is killed first if it is late. True when it ended by itself with status 0.
bool reap(pid_t child, bool is_late) {
  if (is_late) kill(child, SIGKILL);
  int status = 0;
  pid_t ended = 0;
  do {
    ended = waitpid(child, &status, 0);
  } while (ended < 0 && errno == EINTR);
  return ended == child && !is_late && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

// Runs `body` in a fork with the writing end of a pipe, and gives what it wrote. `body` does not return.
std::optional<std::string> ask(const std::function<void(int)> &body) {
  FileDescriptor reading;
  FileDescriptor writing;
  if (!open_pipe(&reading, &writing)) return std::nullopt;
  const pid_t child = fork();
  if (child == 0) {
    body(writing.get());
    _exit(127);
  }
  writing = FileDescriptor();  // so that the child's end is the last
  std::string text;
  const bool is_complete = child > 0 && read_all(reading.get(), Clock::now() + kQuestionTime, &text);
  if (child < 0 || !reap(child, !is_complete)) return std::nullopt;
  return text;
}

}  // namespace

std::optional<std::string> output_of(const std::vector<std::string> &argv) {
  std::vector<char *> words;
  words.reserve(argv.size() + 1);
  for (const std::string &word : argv) words.push_back(const_cast<char *>(word.c_str()));
  words.push_back(nullptr);
  return ask([&words](int fd) {
    const int nothing = open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (nothing >= 0) dup2(nothing, STDIN_FILENO);
    dup2(fd, STDOUT_FILENO);
    dup2(fd, STDERR_FILENO);
    execvp(words[0], words.data());
  });
}

std::optional<std::string> answer_of_fork(const std::function<std::string()> &answer) {
  return ask([&answer](int fd) {
    // What a library prints while it is loaded is not part of the answer.
    const int nothing = open("/dev/null", O_WRONLY | O_CLOEXEC);
    if (nothing >= 0) {
      dup2(nothing, STDOUT_FILENO);
      dup2(nothing, STDERR_FILENO);
    }
    const std::string text = answer();
    std::size_t done = 0;
    while (done < text.size()) {
      const ssize_t n = write(fd, text.data() + done, text.size() - done);
      if (n <= 0) _exit(1);
      done += static_cast<std::size_t>(n);
    }
    _exit(0);
  });
}

}  // namespace sluice::command
