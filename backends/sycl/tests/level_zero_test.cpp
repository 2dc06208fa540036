// SPDX-License-Identifier: BSD-3-Clause
// Level Zero's mechanism for memory of other processes, on the loop-back loader: what arrives, what is refused, and
// that nothing is left open. The other process is a child that this one forks, which only opens and reads.
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <filesystem>
#include <functional>
#include <iterator>
#include <string>
#include <vector>

#include "../ipc_handle.h"
#include "../level_zero_ipc.h"
#include "loopback_loader.h"

namespace {

namespace level_zero = sluice::backends::sycl::level_zero;
using loopback::HandleForm;
using sluice::backends::Outcome;
using sluice::backends::sycl::NativeRange;

constexpr size_t kBytes = 3 * 65536;
int g_context_place = 0;
int g_device_place = 0;
constexpr level_zero::Context kContext = &g_context_place;
constexpr level_zero::Device kDevice = &g_device_place;

const level_zero::Calls &calls() {
  const level_zero::Calls *found = nullptr;
  const Outcome outcome = level_zero::find_calls_of_process(&found);
  EXPECT_TRUE(outcome.is_success()) << outcome.text;
  return *found;
}

long n_descriptors() {
  return std::distance(std::filesystem::directory_iterator("/proc/self/fd"), std::filesystem::directory_iterator());
}

unsigned char pattern(size_t at, unsigned seed) {
  return static_cast<unsigned char>((at * 131 + seed * 29 + at / 251) & 0xFFU);
}

class Memory {
 public:
  explicit Memory(unsigned seed, void *wanted = nullptr)
      : begin_(static_cast<unsigned char *>(loopback_alloc(kContext, kBytes, wanted))) {
    EXPECT_NE(begin_, nullptr);
    for (size_t i = 0; i < kBytes; ++i) begin_[i] = pattern(i, seed);
  }
  ~Memory() { loopback_free(begin_); }
  Memory(const Memory &) = delete;
  Memory &operator=(const Memory &) = delete;
  unsigned char *at(size_t offset) const { return begin_ + offset; }

 private:
  unsigned char *begin_;
};

Outcome export_at(const void *address, level_zero::MemoryName *name) {
  NativeRange range;
  Outcome outcome = level_zero::find_range(calls(), kContext, address, &range);
  return outcome.is_success() ? level_zero::export_memory(calls(), kContext, range, name) : outcome;
}

// All numbers of descriptors that the parent has or may get mean something else in this process.
bool take_numbers() {
  std::FILE *other = std::tmpfile();
  for (int number = 3; other != nullptr && number < 100; ++number) {
    if (number != fileno(other) && dup2(fileno(other), number) != number) return false;
  }
  return other != nullptr;
}

// What `body`, which runs in a child, says by its return value.
int in_child(const std::function<int()> &body) {
  const pid_t child = fork();
  if (child == 0) _exit(take_numbers() ? body() : 99);
  int status = 0;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status)) << "the child ended by signal " << WTERMSIG(status);
  return WEXITSTATUS(status);
}

int complain(const std::string &text, int code) {
  std::fprintf(stderr, "  child: %s\n", text.c_str());
  return code;
}

// Opens, compares every byte with the pattern, closes; 0 when all was right and no descriptor is left.
int check_in_child(const level_zero::MemoryName &name, unsigned seed) {
  return in_child([&] {
    const long before = n_descriptors();
    void *base = nullptr;
    Outcome outcome = level_zero::open_memory(calls(), kContext, kDevice, name, &base);
    if (!outcome.is_success()) return complain(outcome.text, 1);
    for (size_t i = 0; i < kBytes; ++i) {
      if (static_cast<unsigned char *>(base)[i] != pattern(i, seed)) return complain("wrong byte", 2);
    }
    outcome = level_zero::close_memory(calls(), kContext, base);
    if (!outcome.is_success()) return complain(outcome.text, 3);
    const loopback::State &state = *loopback_state();
    if (state.n_opens != state.n_closes) return complain("opened more than closed", 4);
    return n_descriptors() == before ? 0 : complain("a descriptor is left", 5);
  });
}

// The child's open must fail in this way, with this in its text and no descriptor left.
void expect_refused(const level_zero::MemoryName &name, sluice_result_t result, const std::string &words) {
  const int code = in_child([&] {
    const long before = n_descriptors();
    void *base = nullptr;
    const Outcome outcome = level_zero::open_memory(calls(), kContext, kDevice, name, &base);
    if (outcome.result != result) return complain("result " + std::to_string(outcome.result) + ": " + outcome.text, 1);
    if (outcome.text.find(words) == std::string::npos) return complain("other words: " + outcome.text, 2);
    if (loopback_state()->n_opens != loopback_state()->n_closes) return complain("left open", 3);
    return n_descriptors() == before ? 0 : complain("a descriptor is left", 4);
  });
  EXPECT_EQ(code, 0);
}

class LevelZero : public testing::Test {
 protected:
  void SetUp() override { loopback_reset(HandleForm::kDescriptor); }
  void TearDown() override { level_zero::stop_serving(); }
};

TEST_F(LevelZero, Memory_ArrivesWholeFromAnyPointerInIt) {
  const Memory memory(7);
  for (const size_t offset : {size_t{0}, size_t{1}, kBytes / 2, kBytes - 1}) {
    level_zero::MemoryName name{};
    const Outcome outcome = export_at(memory.at(offset), &name);
    ASSERT_TRUE(outcome.is_success()) << outcome.text;
    EXPECT_EQ(name.begin, reinterpret_cast<uintptr_t>(memory.at(0)));
    EXPECT_EQ(name.size_bytes, kBytes);
    EXPECT_EQ(check_in_child(name, 7), 0);
  }
}

TEST_F(LevelZero, EveryFormOfHandle_IsOpenedAndLeavesNoDescriptor) {
  const long before = n_descriptors();
  for (const HandleForm form :
       {HandleForm::kDescriptor, HandleForm::kFreshDescriptors, HandleForm::kKeptDescriptor, HandleForm::kProcess}) {
    SCOPED_TRACE(static_cast<int>(form));
    loopback_reset(form);
    {
      const Memory memory(1);
      const Memory other(2);
      const long with_memory = n_descriptors();
      level_zero::MemoryName names[2] = {};
      ASSERT_TRUE(export_at(memory.at(5), &names[0]).is_success());
      ASSERT_TRUE(export_at(other.at(5), &names[1]).is_success());
      EXPECT_EQ(check_in_child(names[0], 1), 0);
      EXPECT_EQ(check_in_child(names[1], 2), 0);
      level_zero::stop_serving();  // the listener's are gone, and the thread is done
      const bool is_kept = form == HandleForm::kKeptDescriptor;
      EXPECT_EQ(n_descriptors(), with_memory + (is_kept ? 2 : 0)) << "only the driver's own may be left";
      const bool has_put = form == HandleForm::kDescriptor || form == HandleForm::kProcess;
      EXPECT_EQ(loopback_state()->n_puts, has_put ? loopback_state()->n_gets.load() : 0);
    }
    EXPECT_EQ(n_descriptors(), before);
  }
}

TEST_F(LevelZero, FreedMemory_IsRefused_AndWhatFollowsAtItsPlaceIsAnother) {
  void *place = nullptr;
  level_zero::MemoryName old{};
  {
    const Memory memory(3);
    place = memory.at(0);
    ASSERT_TRUE(export_at(place, &old).is_success());
  }
  expect_refused(old, SLUICE_ERROR_NATIVE, "freed");
  const Memory next(4, place);
  ASSERT_EQ(next.at(0), place);
  expect_refused(old, SLUICE_ERROR_NATIVE, "freed");
  level_zero::MemoryName name{};
  ASSERT_TRUE(export_at(place, &name).is_success());
  EXPECT_NE(name.id, old.id);
  EXPECT_EQ(check_in_child(name, 4), 0);
}

TEST_F(LevelZero, Faults_GiveTheNativeCode) {
  const Memory memory(5);
  level_zero::MemoryName name{};
  ASSERT_TRUE(export_at(memory.at(0), &name).is_success());
  loopback_state()->open_fault = 0x70000001;
  expect_refused(name, SLUICE_ERROR_NATIVE, "zeMemOpenIpcHandle: 0x70000001 (ZE_RESULT_ERROR_DEVICE_LOST)");
  loopback_state()->open_fault = 0x70000003;
  expect_refused(name, SLUICE_ERROR_OUT_OF_MEMORY, "0x70000003");
  loopback_state()->open_fault = 0;
  loopback_state()->get_fault = 0x70010000;
  expect_refused(name, SLUICE_ERROR_NATIVE, "zeMemGetIpcHandle: 0x70010000");
  level_zero::MemoryName none{};
  const Outcome outcome = export_at(memory.at(0), &none);
  EXPECT_EQ(outcome.result, SLUICE_ERROR_UNSUPPORTED);
  EXPECT_NE(outcome.text.find("0x70010000"), std::string::npos) << outcome.text;
}

TEST_F(LevelZero, HalfTheMemory_IsRefused) {
  const Memory memory(6);
  level_zero::MemoryName name{};
  ASSERT_TRUE(export_at(memory.at(0), &name).is_success());
  loopback_state()->opens_half = true;
  expect_refused(name, SLUICE_ERROR_UNSUPPORTED, "ZE_FLAT_DEVICE_HIERARCHY");
}

TEST_F(LevelZero, WrongNames_AreRefused) {
  const Memory memory(8);
  level_zero::MemoryName name{};
  ASSERT_TRUE(export_at(memory.at(0), &name).is_success());
  level_zero::MemoryName wrong = name;
  wrong.context = 1000;
  expect_refused(wrong, SLUICE_ERROR_NATIVE, "no memory of that context");
  wrong = name;
  wrong.begin += 1;
  expect_refused(wrong, SLUICE_ERROR_NATIVE, "freed");
  wrong = name;
  wrong.socket_name[0] ^= 1;
  expect_refused(wrong, SLUICE_ERROR_UNSUPPORTED, "cannot be asked");
  wrong = name;
  wrong.pid = getppid();
  expect_refused(wrong, SLUICE_ERROR_UNSUPPORTED, "another process answers");
  EXPECT_EQ(check_in_child(name, 8), 0);
}

TEST_F(LevelZero, AfterTheEnd_NamesAreGoodForNothingAndNewOnesAre) {
  const Memory memory(9);
  level_zero::MemoryName name{};
  ASSERT_TRUE(export_at(memory.at(0), &name).is_success());
  level_zero::stop_serving();
  expect_refused(name, SLUICE_ERROR_UNSUPPORTED, "cannot be asked");
  ASSERT_TRUE(export_at(memory.at(0), &name).is_success());
  EXPECT_EQ(check_in_child(name, 9), 0);
}

constexpr uint64_t kFar = 0x1234'5678'9ABC;  // of an offset

// The bytes that travel, read by the other process.
TEST_F(LevelZero, HandleOfAnotherVersion_IsRefused) {
  using sluice::backends::sycl::HandleContent;
  using sluice::backends::sycl::Mechanism;
  const Memory memory(10);
  level_zero::MemoryName name{};
  ASSERT_TRUE(export_at(memory.at(0), &name).is_success());
  sluice_ipc_handle_t handle{};
  ASSERT_TRUE(write_handle(Mechanism::kLevelZero, &name, sizeof name, 0, kBytes, &handle).is_success());
  HandleContent content;
  EXPECT_EQ(read_handle(handle, &content).result, SLUICE_ERROR_INVALID_ARGUMENT) << "of this process itself";
  const auto read_in_child = [&](const sluice_ipc_handle_t &bytes) {
    return in_child([&] {
      const bool is_right = read_handle(bytes, &content).is_success() && content.mechanism == Mechanism::kLevelZero &&
                            content.native_bytes == sizeof name &&
                            std::memcmp(content.native.data(), &name, sizeof name) == 0;
      return is_right ? 0 : static_cast<int>(read_handle(bytes, &content).result);
    });
  };
  EXPECT_EQ(read_in_child(handle), 0);
  for (size_t i = 0; i < sizeof handle.bytes; ++i) {
    sluice_ipc_handle_t changed = handle;
    changed.bytes[i] ^= 1;  // byte 0 tells the version
    EXPECT_EQ(read_in_child(changed), SLUICE_ERROR_INVALID_ARGUMENT) << "byte " << i;
  }
}

// Runtimes have handles of more bytes than there is room for, many of which are zero.
TEST_F(LevelZero, LongHandle_IsWrittenWithoutItsZeros) {
  using sluice::backends::sycl::HandleContent;
  using sluice::backends::sycl::Mechanism;
  sluice_ipc_handle_t handle{};
  const auto is_read = [&](const std::array<std::byte, 200> &native, size_t size) {
    return in_child([&] {
      HandleContent content;
      if (!read_handle(handle, &content).is_success() || content.native_bytes != size || content.offset != kFar ||
          content.least_bytes != kBytes / 64 * 64)
        return 1;
      return std::memcmp(content.native.data(), native.data(), size) == 0 ? 0 : 2;
    });
  };
  for (const size_t size : {1, 104, 108, 109, 120, 127, 200}) {
    for (const size_t n_full : {size_t{0}, size / 3, size * 3 / 8}) {
      std::array<std::byte, 200> native{};
      for (size_t i = 0; i < n_full; ++i) native.at(i * size / n_full) = static_cast<std::byte>(i + 1);
      ASSERT_TRUE(write_handle(Mechanism::kExtension, native.data(), size, kFar, kBytes, &handle).is_success()) << size;
      EXPECT_EQ(is_read(native, size), 0) << size << " bytes, " << n_full << " of them not zero";
    }
  }
  std::array<std::byte, 200> full;
  full.fill(std::byte{1});
  EXPECT_TRUE(write_handle(Mechanism::kExtension, full.data(), 104, kFar, kBytes, &handle).is_success());
  EXPECT_EQ(write_handle(Mechanism::kExtension, full.data(), 105, kFar, kBytes, &handle).result,
            SLUICE_ERROR_UNSUPPORTED);
  EXPECT_EQ(write_handle(Mechanism::kExtension, full.data(), 8, kFar << 16U, kBytes, &handle).result,
            SLUICE_ERROR_UNSUPPORTED);
}

TEST_F(LevelZero, LoaderWithoutAFunction_IsNamed) {
  level_zero::Calls old;
  EXPECT_EQ(level_zero::find_calls(OLD_LOADER_PATH, &old).result, SLUICE_ERROR_UNSUPPORTED) << "nobody has loaded it";
  void *library = dlopen(OLD_LOADER_PATH, RTLD_NOW | RTLD_LOCAL);
  ASSERT_NE(library, nullptr) << dlerror();
  ASSERT_TRUE(level_zero::find_calls(OLD_LOADER_PATH, &old).is_success());
  level_zero::MemoryName name{};
  void *base = nullptr;
  for (const Outcome &outcome : {level_zero::export_memory(old, kContext, NativeRange{}, &name),
                                 level_zero::open_memory(old, kContext, kDevice, name, &base)}) {
    EXPECT_EQ(outcome.result, SLUICE_ERROR_UNSUPPORTED);
    EXPECT_NE(outcome.text.find("zeMemGetIpcHandle"), std::string::npos) << outcome.text;
  }
  const Outcome outcome = level_zero::check_event_calls(old);
  EXPECT_EQ(outcome.result, SLUICE_ERROR_UNSUPPORTED);
  EXPECT_NE(outcome.text.find("zeEventPoolCreate"), std::string::npos) << outcome.text;
  EXPECT_EQ(dlclose(library), 0);
}

}  // namespace
