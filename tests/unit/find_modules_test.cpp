// SPDX-License-Identifier: BSD-3-Clause
// Finding the modules of a folder: names, .needs files, order, and what is said about damage; and what such a file says
// of devices.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <utility>

#include "device/registry.hpp"

namespace sluice::device::find_modules_test {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class FindModules : public ::testing::Test {
 protected:
  FindModules() : folder_(fs::path(::testing::TempDir()) / ("sluice_find_modules." + std::to_string(getpid()))) {
    fs::remove_all(folder_);
    fs::create_directories(folder_);
  }
  ~FindModules() override {
    std::error_code error;
    fs::remove_all(folder_, error);
  }

  void write(const std::string &leaf, const std::string &text) const { std::ofstream(folder_ / leaf) << text; }
  // A module (never opened, so an empty file) with its .needs file.
  void module(const std::string &name, const std::string &needs) const {
    write("libsluice_backend_" + name + ".so", "");
    write("libsluice_backend_" + name + ".needs", needs);
  }
  std::vector<Module> find() { return find_modules(folder_.string(), &problems_); }
  static std::vector<std::string> names(const std::vector<Module> &modules) {
    std::vector<std::string> result;
    for (const Module &module : modules) result.push_back(module.name);
    return result;
  }

  const fs::path folder_;
  std::vector<Status> problems_;
};

TEST_F(FindModules, ReadsNameAndNeeds) {
  module("alpha", "priority 7\nliba.so.1\nlibb.so\n");
  const std::vector<Module> found = find();
  ASSERT_THAT(found, SizeIs(1));
  EXPECT_EQ(found[0].name, "alpha");
  EXPECT_EQ(found[0].path, (folder_ / "libsluice_backend_alpha.so").string());
  EXPECT_EQ(found[0].priority, 7);
  EXPECT_THAT(found[0].runtimes, ElementsAre("liba.so.1", "libb.so"));
  EXPECT_THAT(problems_, IsEmpty());
}

TEST_F(FindModules, ReadsHowOneFindsOut) {
  module("alpha",
         "priority 7\nliba.so\ndevice /dev/a[0-9]*\ndevice /dev/b /dev/c\nmask A_VISIBLE none No\nmask B_VISIBLE\n"
         "support a b\nkind a a:host\nkind a:device\nmask\n");
  const std::vector<Module> found = find();
  ASSERT_THAT(found, SizeIs(1));
  EXPECT_THAT(found[0].runtimes, ElementsAre("liba.so"));
  EXPECT_THAT(found[0].devices, ElementsAre("/dev/a[0-9]*", "/dev/b", "/dev/c"));
  ASSERT_THAT(found[0].masks, SizeIs(2));
  EXPECT_EQ(found[0].masks[0].variable, "A_VISIBLE");
  EXPECT_THAT(found[0].masks[0].values_for_none, ElementsAre("none", "No"));
  EXPECT_EQ(found[0].masks[1].variable, "B_VISIBLE");
  EXPECT_THAT(found[0].support_words, ElementsAre("a", "b"));
  EXPECT_THAT(found[0].memory_kinds, ElementsAre("a", "a:host", "a:device"));
}

TEST_F(FindModules, SeeADevice_WhereAFileOfItIs) {
  Module seen;
  EXPECT_TRUE(has_device_files(seen)) << "there is no file to look for";
  seen.devices = {(folder_ / "other").string(), (folder_ / "node[0-9]*").string()};
  EXPECT_FALSE(has_device_files(seen));
  write("node", "");
  EXPECT_FALSE(has_device_files(seen));
  write("node0", "");
  EXPECT_TRUE(has_device_files(seen));
}

TEST_F(FindModules, SeeNoDevice_WhereTheFirstWordOfAMaskNamesNone) {
  Module seen;
  seen.masks = {{"SEEN_VISIBLE", {"NoDevices"}}};
  const std::vector<std::pair<const char *, bool>> masks = {
      {"0", true},     {"1,0", true}, {" 2", true},         {"GPU-8c3f, 1", true},
      {"0,-1", true},  {"", false},   {"  ", false},        {"-1", false},
      {"-1,0", false}, {",0", false}, {"NoDevices", false}, {"NoDevices,0", false}};
  EXPECT_TRUE(has_device_files(seen));
  for (const auto &[value, is_seen] : masks) {
    ASSERT_EQ(setenv("SEEN_VISIBLE", value, 1), 0);
    EXPECT_EQ(has_device_files(seen), is_seen) << "\"" << value << "\"";
  }
  ASSERT_EQ(unsetenv("SEEN_VISIBLE"), 0);
}

TEST_F(FindModules, TakesLooseNeeds) {
  module("empty", "");
  module("blank", "\n   \n\tliba.so.1   \n\npriority    3\nlibb.so");
  const std::vector<Module> found = find();
  ASSERT_THAT(names(found), ElementsAre("blank", "empty"));
  EXPECT_EQ(found[0].priority, 3);
  EXPECT_THAT(found[0].runtimes, ElementsAre("liba.so.1", "libb.so"));
  EXPECT_EQ(found[1].priority, Module().priority);
  EXPECT_THAT(found[1].runtimes, IsEmpty());
  EXPECT_THAT(problems_, IsEmpty());
}

TEST_F(FindModules, PutsSmallPrioritiesFirst_ThenNames) {
  module("zulu", "priority 5\n");
  module("mike", "priority 50\n");
  module("alpha", "priority 50\n");
  module("last", "");
  module("first", "priority -1\n");
  EXPECT_THAT(names(find()), ElementsAre("first", "zulu", "alpha", "mike", "last"));
}

TEST_F(FindModules, LeavesOtherFilesAlone) {
  write("libsluice_mpich.so", "");
  write("libother.so", "");
  write("libsluice_backend_old.so.1", "");
  write("libsluice_backend_lonely.needs", "priority 1\n");
  write("sluice_backend_x.so", "");
  module("alpha", "priority 1\n");
  EXPECT_THAT(names(find()), ElementsAre("alpha"));
  EXPECT_THAT(problems_, IsEmpty());
}

TEST_F(FindModules, SaysSo_WhenNeedsIsMissing_AndGoesOn) {
  module("alpha", "priority 1\n");
  write("libsluice_backend_bare.so", "");
  EXPECT_THAT(names(find()), ElementsAre("alpha"));
  ASSERT_THAT(problems_, SizeIs(1));
  EXPECT_THAT(problems_[0].message(),
              AllOf(HasSubstr("libsluice_backend_bare.needs"), HasSubstr("cannot be read"), HasSubstr("reinstall")));
}

TEST_F(FindModules, SaysSo_WhenNeedsCannotBeRead) {
  write("libsluice_backend_locked.so", "");
  // A link to nowhere cannot be opened by root either.
  fs::create_symlink(folder_ / "nowhere", folder_ / "libsluice_backend_locked.needs");
  EXPECT_THAT(find(), IsEmpty());
  ASSERT_THAT(problems_, SizeIs(1));
  EXPECT_THAT(problems_[0].message(), HasSubstr("libsluice_backend_locked.needs"));
}

TEST_F(FindModules, SaysSo_WhenThereIsNoFolder) {
  const std::string nowhere = (folder_ / "nowhere").string();
  EXPECT_THAT(find_modules(nowhere, &problems_), IsEmpty());
  ASSERT_THAT(problems_, SizeIs(1));
  EXPECT_THAT(problems_[0].message(),
              AllOf(HasSubstr(nowhere), HasSubstr("No such file"), HasSubstr("SLUICE_BACKEND_PATH")));
}

TEST_F(FindModules, FindsNothing_InAnEmptyFolder) {
  EXPECT_THAT(find(), IsEmpty());
  EXPECT_THAT(problems_, IsEmpty());
}

}  // namespace
}  // namespace sluice::device::find_modules_test
