// SPDX-License-Identifier: BSD-3-Clause
// The registry over real module files: a module is loaded when its runtime appears in the process, and only then.
// main() points SLUICE_BACKEND_PATH at the modules that the build made for this.
#include "device/registry.hpp"

#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <thread>

#include "environment.hpp"

namespace sluice::device::registry_test {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// A vendor's runtime that the program uses, for the length of a test.
class Runtime {
 public:
  explicit Runtime(const std::string &letter)
      : library_(dlopen((std::string(SLUICE_UNIT_MODULES) + "/runtimes/libunit_runtime_" + letter + ".so").c_str(),
                        RTLD_NOW | RTLD_LOCAL)) {
    EXPECT_NE(library_, nullptr) << dlerror();
  }
  ~Runtime() {
    if (library_ != nullptr) dlclose(library_);
  }
  Runtime(const Runtime &) = delete;
  Runtime &operator=(const Runtime &) = delete;

 private:
  void *library_;
};

std::vector<std::string> names(Registry *registry) {
  std::vector<std::string> result;
  for (const Backend *backend : registry->backends()) result.emplace_back(backend->name());
  return result;
}

// How often the module was started and not ended; -1 when it is not in the process.
int live(const std::string &name) {
  const std::string path = module_folder() + "/libsluice_backend_" + name + ".so";
  void *library = dlopen(path.c_str(), RTLD_NOW | RTLD_NOLOAD);
  if (library == nullptr) return -1;
  const auto *number = static_cast<const int *>(dlsym(library, "unit_live"));
  const int result = number != nullptr ? *number : -2;
  dlclose(library);
  return result;
}

TEST(Registry, LoadsNothing_WithoutARuntime) {
  Registry registry;
  EXPECT_THAT(names(&registry), IsEmpty());
  EXPECT_EQ(live("early"), -1) << "a module was opened though nobody uses its runtime";
}

TEST(Registry, LoadsAModule_WhenItsRuntimeAppears) {
  Registry registry;
  EXPECT_THAT(names(&registry), IsEmpty());
  const Runtime runtime("b");
  EXPECT_THAT(names(&registry), ElementsAre("late"));
  EXPECT_EQ(registry.find("late"), registry.backends()[0]);
  EXPECT_EQ(live("late"), 1);
  EXPECT_THAT(names(&registry), ElementsAre("late")) << "loaded once";
  EXPECT_EQ(live("late"), 1);
}

TEST(Registry, AsksSmallPrioritiesFirst) {
  const Runtime a("a");
  const Runtime b("b");
  Registry registry;
  EXPECT_THAT(names(&registry), ElementsAre("early", "late"));
}

TEST(Registry, AsksSmallPrioritiesFirst_WhenTheyAppearLater) {
  Registry registry;
  const Runtime b("b");
  EXPECT_THAT(names(&registry), ElementsAre("late"));
  const Runtime a("a");
  EXPECT_THAT(names(&registry), ElementsAre("early", "late"));
}

TEST(Registry, WarnsOnce_AboutAModuleThatCannotBeLoaded) {
  Registry registry;
  EXPECT_THAT(names(&registry), IsEmpty());
  ::testing::internal::CaptureStderr();
  {
    const Runtime runtime("c");
    EXPECT_THAT(names(&registry), IsEmpty());
  }
  const Runtime another("b");
  const Runtime again("c");
  EXPECT_THAT(names(&registry), ElementsAre("late"));
  const std::string text = ::testing::internal::GetCapturedStderr();
  EXPECT_THAT(text, AllOf(HasSubstr("warning device"), HasSubstr("libsluice_backend_broken.so"),
                          HasSubstr("treated as host memory")));
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 1)
      << "once, and a machine without a device is no warning: " << text;
}

TEST(Registry, NamesAKnobThatTheBackendDoesNotKnow) {
  ASSERT_EQ(setenv("SLUICE_LATE_SPEEED", "1", 1), 0);
  Registry registry;
  ::testing::internal::CaptureStderr();
  Status status;
  EXPECT_NE(registry.load("late", &status), nullptr) << status.message();
  EXPECT_THAT(::testing::internal::GetCapturedStderr(),
              AllOf(HasSubstr("unknown knob SLUICE_LATE_SPEEED"), HasSubstr("backend late")));
  ASSERT_EQ(unsetenv("SLUICE_LATE_SPEEED"), 0);
}

TEST(Registry, LeavesOutWhatTheKnobDoesNotName) {
  const Runtime runtime("c");
  Registry registry;
  ::testing::internal::CaptureStderr();
  EXPECT_THAT(names(&registry), IsEmpty());
  ::testing::internal::GetCapturedStderr();
  EXPECT_EQ(live("forbidden"), -1);
}

TEST(Registry, LoadsByName_WithoutARuntime) {
  Registry registry;
  Status status;
  Backend *backend = registry.load("late", &status);
  ASSERT_NE(backend, nullptr) << status.message();
  EXPECT_EQ(registry.load("late", &status), backend) << "the second call finds the first's";
  EXPECT_EQ(live("late"), 1);
}

TEST(Registry, LoadsAModuleOnce_ByNameAndByRuntime) {
  Registry registry;
  EXPECT_THAT(names(&registry), IsEmpty());
  Status status;
  ASSERT_NE(registry.load("late", &status), nullptr) << status.message();
  const Runtime runtime("b");
  EXPECT_THAT(names(&registry), ElementsAre("late"));
  EXPECT_EQ(live("late"), 1) << "init() is called once";
}

TEST(Registry, SaysWhyANameCannotBeLoaded) {
  Registry registry;
  Status status;
  EXPECT_EQ(registry.load("nonesuch", &status), nullptr);
  EXPECT_EQ(status.kind(), ErrorKind::kInvalidArgument);
  EXPECT_THAT(status.message(), AllOf(HasSubstr("\"nonesuch\""), HasSubstr(module_folder())));
  EXPECT_EQ(registry.load("absent", &status), nullptr);
  EXPECT_EQ(status.kind(), ErrorKind::kUnsupported);
  EXPECT_EQ(registry.load("broken", &status), nullptr);
  EXPECT_EQ(status.kind(), ErrorKind::kBackend);
}

TEST(Registry, EndsItsBackends) {
  Status status;
  {
    Registry registry;
    ASSERT_NE(registry.load("late", &status), nullptr) << status.message();
    registry.clear();
    EXPECT_EQ(live("late"), -1);
    ASSERT_NE(registry.load("early", &status), nullptr) << status.message();
  }
  EXPECT_EQ(live("early"), -1);
}

TEST(Registry, LoadsOnce_WhenManyThreadsLook) {
  Registry registry;
  EXPECT_TRUE(registry.backends().empty());
  const Runtime a("a");
  const Runtime b("b");
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&] {
      if (registry.backends().size() != 2 || registry.find("early") == nullptr) ++wrong;
    });
  }
  for (std::thread &thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(live("early"), 1);
  EXPECT_EQ(live("late"), 1);
}

}  // namespace
}  // namespace sluice::device::registry_test

int main(int argc, char **argv) {
  sluice::tests::clear_knobs();
  const std::string folder = std::string(SLUICE_UNIT_MODULES) + "/registry";
  if (setenv("SLUICE_BACKEND_PATH", folder.c_str(), 1) != 0) return 1;
  if (setenv("SLUICE_BACKENDS", "early,late,broken,absent", 1) != 0) return 1;
  ::testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
