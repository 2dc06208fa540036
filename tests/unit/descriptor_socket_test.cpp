// SPDX-License-Identifier: BSD-3-Clause
// The socket over which a process hands the descriptors of its memory to another: what is said when that fails.
#include "../../backends/descriptor_socket.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <string>
#include <vector>

namespace sluice::backends::descriptor_socket_test {
namespace {

using ::testing::HasSubstr;

struct Listening {
  ProcessIdentity process;
  std::array<uint64_t, 2> name{};
};

// A process that hands over two descriptors with each answer, until it is killed.
class Server {
 public:
  Server() {
    int ends[2] = {-1, -1};
    EXPECT_EQ(pipe2(ends, O_CLOEXEC), 0);
    pid_ = fork();
    if (pid_ == 0) serve(ends[1]);
    close(ends[1]);
    EXPECT_EQ(read(ends[0], &listening_, sizeof listening_), static_cast<ssize_t>(sizeof listening_));
    close(ends[0]);
  }
  ~Server() { end(); }
  Server(const Server &) = delete;
  Server &operator=(const Server &) = delete;

  const Listening &listening() const { return listening_; }
  void end() {
    if (pid_ <= 0) return;
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
    pid_ = -1;
  }

 private:
  [[noreturn]] static void serve(int pipe) {
    DescriptorServer server({1, 1, [](const void *, void *, std::vector<Descriptor> *descriptors) {
                               for (int i = 0; i < 2; ++i) descriptors->emplace_back(open("/dev/null", O_RDONLY));
                               return true;
                             }});
    Listening listening{this_process(), {}};
    const bool is_there = server.start(listening.name.data()).is_success();
    if (!is_there || write(pipe, &listening, sizeof listening) != static_cast<ssize_t>(sizeof listening)) _exit(1);
    for (;;) pause();
  }

  pid_t pid_ = -1;
  Listening listening_;
};

// This process may open so many files more, while this lives.
class FilesLeft {
 public:
  explicit FilesLeft(int n) {
    const int lowest = dup(0);
    close(lowest);
    EXPECT_EQ(getrlimit(RLIMIT_NOFILE, &before_), 0);
    const rlimit limit = {static_cast<rlim_t>(lowest + n), before_.rlim_max};
    EXPECT_EQ(setrlimit(RLIMIT_NOFILE, &limit), 0);
  }
  ~FilesLeft() { EXPECT_EQ(setrlimit(RLIMIT_NOFILE, &before_), 0); }
  FilesLeft(const FilesLeft &) = delete;
  FilesLeft &operator=(const FilesLeft &) = delete;

 private:
  rlimit before_{};
};

Outcome connect(DescriptorClient *client, const Listening &server) {
  return client->connect(server.name.data(), server.process);
}

Outcome ask(DescriptorClient *client, std::vector<Descriptor> *descriptors) {
  const char question = 'q';
  char answer = 0;
  return client->ask(&question, 1, &answer, 1, descriptors);
}

TEST(DescriptorSocket, Says_ThatTheOtherProcessHasEnded) {
  Server server;
  server.end();
  DescriptorClient client;
  const Outcome outcome = connect(&client, server.listening());
  EXPECT_EQ(outcome.result, SLUICE_ERROR_UNSUPPORTED);
  EXPECT_THAT(outcome.text, HasSubstr("process " + std::to_string(server.listening().process.pid) + " has ended"));
  EXPECT_THAT(outcome.text, Not(HasSubstr("name space")));
}

TEST(DescriptorSocket, Says_ThatTheOtherProcessEndsMeanwhile) {
  Server server;
  DescriptorClient client;
  ASSERT_TRUE(connect(&client, server.listening()).is_success());
  server.end();
  std::vector<Descriptor> descriptors;
  EXPECT_THAT(ask(&client, &descriptors).text, HasSubstr("the process that has the memory"));
}

TEST(DescriptorSocket, Says_ThatThisProcessHasTooManyOpenFiles_AndTriesAgain) {
  const Server server;
  for (const int left : {0, 1, 2}) {  // no socket; none of the two descriptors; one of them
    Outcome outcome;
    {  // A sanitizer needs descriptors of its own to check an object: nothing is compared in here.
      const FilesLeft limit(left);
      DescriptorClient client;
      outcome = connect(&client, server.listening());
      std::vector<Descriptor> descriptors;
      if (outcome.is_success()) outcome = ask(&client, &descriptors);
    }
    EXPECT_EQ(outcome.result, SLUICE_ERROR_NATIVE) << left;
    EXPECT_THAT(outcome.text, HasSubstr("Too many open files: raise this process's limit")) << left;
  }
  DescriptorClient client;
  std::vector<Descriptor> descriptors;
  ASSERT_TRUE(connect(&client, server.listening()).is_success());
  EXPECT_EQ(ask(&client, &descriptors).text, "");
  EXPECT_EQ(descriptors.size(), 2U);
}

}  // namespace
}  // namespace sluice::backends::descriptor_socket_test
