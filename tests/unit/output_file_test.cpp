// SPDX-License-Identifier: BSD-3-Clause
// write_file(): what it writes over, and what it refuses without touching it or waiting for it.
#include "base/output_file.hpp"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

namespace sluice::output_file_test {
namespace {

using testing::AllOf;
using testing::HasSubstr;

namespace fs = std::filesystem;

class OutputFile : public testing::Test {
 protected:
  OutputFile() { fs::create_directories(folder_); }
  ~OutputFile() override { fs::remove_all(folder_); }
  OutputFile(const OutputFile &) = delete;
  OutputFile &operator=(const OutputFile &) = delete;
  OutputFile(OutputFile &&) = delete;
  OutputFile &operator=(OutputFile &&) = delete;

  [[nodiscard]] std::string at(const std::string &leaf) const { return (folder_ / leaf).string(); }
  [[nodiscard]] std::string text_of(const std::string &leaf) const {
    std::ifstream file(at(leaf));
    return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  }
  [[nodiscard]] Status write(const std::string &path) const { return write_file(path, "new", "the list", "A_KNOB"); }
  void expect_refused(const std::string &leaf, const std::string &why) const {
    const Status status = write(at(leaf));
    EXPECT_FALSE(status.is_ok());
    EXPECT_THAT(status.message(),
                AllOf(HasSubstr("the list"), HasSubstr(at(leaf)), HasSubstr(why), HasSubstr("A_KNOB")));
  }

 private:
  const fs::path folder_ = fs::temp_directory_path() / ("sluice-output-file-" + std::to_string(getpid()));
};

TEST_F(OutputFile, IsMade) {
  ASSERT_TRUE(write(at("file")).is_ok());
  EXPECT_EQ(text_of("file"), "new");
}

TEST_F(OutputFile, TakesThePlaceOfWhatWasThere) {
  std::ofstream(at("file")) << "something longer";
  ASSERT_TRUE(write(at("file")).is_ok());
  EXPECT_EQ(text_of("file"), "new");
}

TEST_F(OutputFile, IsNotWrittenThroughASymbolicLink) {
  std::ofstream(at("precious")) << "old";
  fs::create_symlink(at("precious"), at("link"));
  fs::create_symlink(at("absent"), at("dangling"));
  expect_refused("link", "symbolic link");
  expect_refused("dangling", "symbolic link");
  EXPECT_EQ(text_of("precious"), "old");
  EXPECT_FALSE(fs::exists(at("absent")));
}

TEST_F(OutputFile, IsNotWrittenUnderASecondName) {
  std::ofstream(at("precious")) << "old";
  fs::create_hard_link(at("precious"), at("link"));
  expect_refused("link", "another name");
  EXPECT_EQ(text_of("precious"), "old");
}

TEST_F(OutputFile, DoesNotWaitForAFifo) {
  ASSERT_EQ(mkfifo(at("fifo").c_str(), 0600), 0);
  expect_refused("fifo", "no regular file");  // nobody reads
  const int reader = open(at("fifo").c_str(), O_RDONLY | O_NONBLOCK);
  ASSERT_GE(reader, 0);
  expect_refused("fifo", "no regular file");
  char got = 0;
  EXPECT_EQ(read(reader, &got, 1), 0) << "something was written";
  EXPECT_EQ(close(reader), 0);
}

TEST_F(OutputFile, OfAnotherUserIsLeftAlone) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can give a file away";
  std::ofstream(at("file")) << "old";
  constexpr uid_t kOther = 1;
  ASSERT_EQ(chown(at("file").c_str(), kOther, static_cast<gid_t>(-1)), 0);
  expect_refused("file", "another user");
  EXPECT_EQ(text_of("file"), "old");
}

TEST_F(OutputFile, MayBeADevice) {
  EXPECT_TRUE(write("/dev/null").is_ok());
  EXPECT_THAT(write("/dev/full").message(), HasSubstr("No space left"));
}

TEST_F(OutputFile, SaysWhatTheSystemSays) {
  EXPECT_THAT(write(at("no/such/folder")).message(), HasSubstr("No such file or directory"));
  EXPECT_THAT(write(at("")).message(), HasSubstr("irectory"));
}

}  // namespace
}  // namespace sluice::output_file_test
