// SPDX-License-Identifier: BSD-3-Clause
// Which mechanism the module takes for the memory of other processes, as far as a device without any can show it.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "../../module_table.h"
#include "../device_choice.h"
#include "../ipc_handle.h"
#include "../level_zero_ipc.h"
#include "sluice/backend.h"

namespace {

using sluice::backends::sycl::Mechanism;
using sluice::backends::sycl::level_zero::MemoryName;

std::string &ipc_knob() {
  static std::string text;
  return text;
}

std::string &devices_knob() {
  static std::string text;
  return text;
}

const char *knob(const char *name) {
  if (std::strcmp(name, "SLUICE_SYCL_IPC") == 0 && !ipc_knob().empty()) return ipc_knob().c_str();
  if (std::strcmp(name, "SLUICE_SYCL_DEVICES") == 0 && !devices_knob().empty()) return devices_knob().c_str();
  return nullptr;
}

constexpr sluice_host_services_t kServices = {sizeof(sluice_host_services_t), [](int, const char *) {}, knob};

const sluice_backend_t &table() {
  return sluice::backends::module_table();
}

// A handle of another process, which is right but for what it stands for.
sluice_ipc_handle_t make_in_child(Mechanism mechanism, const std::vector<std::byte> &native) {
  int ends[2] = {-1, -1};
  EXPECT_EQ(pipe(ends), 0);
  sluice_ipc_handle_t handle = {};
  const pid_t child = fork();
  if (child == 0) {
    const bool is_made =
        sluice::backends::sycl::write_handle(mechanism, native.data(), native.size(), 0, 0, &handle).is_success();
    _exit(is_made && write(ends[1], &handle, sizeof handle) == sizeof handle ? 0 : 1);
  }
  EXPECT_EQ(read(ends[0], &handle, sizeof handle), static_cast<ssize_t>(sizeof handle));
  int status = 0;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  close(ends[0]);
  close(ends[1]);
  return handle;
}

void expect_text(const char *words) {
  EXPECT_NE(std::strstr(table().last_error(), words), nullptr) << table().last_error();
}

class Mechanisms : public testing::Test {
 protected:
  void SetUp() override {
    ipc_knob().clear();
    const sluice_result_t result = table().init(&kServices);
    ASSERT_EQ(result, SLUICE_SUCCESS) << table().last_error();
    is_begun_ = true;
    if (table().device_count() < 1) GTEST_SKIP() << "missing: a device of the runtime";
  }
  void TearDown() override {
    if (is_begun_) table().fini();
  }

  // As a user that comes with this in its environment, and goes: what it had stays in force.
  static void set_ipc_knob(const char *word) {
    ipc_knob() = word;
    ASSERT_EQ(table().init(&kServices), SLUICE_SUCCESS) << table().last_error();
    table().fini();
  }

 private:
  bool is_begun_ = false;
};

TEST_F(Mechanisms, HandleThatTheDeviceCannotOpen_IsUnsupported) {
  void *base = nullptr;
  uint64_t mapped_bytes = 0;
  const auto open = [&](int mechanism) {
    const sluice_ipc_handle_t handle = make_in_child(static_cast<Mechanism>(mechanism), std::vector<std::byte>(8));
    return table().ipc_open(0, &handle, &base, &mapped_bytes);
  };
  EXPECT_EQ(open(77), SLUICE_ERROR_UNSUPPORTED);
  expect_text("mechanism 77");
  for (const char *word : {"extension", "off"}) {
    set_ipc_knob(word);
    EXPECT_EQ(open(2), SLUICE_ERROR_UNSUPPORTED);
    expect_text("forbids level_zero");
  }
  set_ipc_knob("level_zero");
  EXPECT_EQ(open(1), SLUICE_ERROR_UNSUPPORTED);
  expect_text("forbids extension");
  EXPECT_NE(open(2), SLUICE_SUCCESS);  // not one of Level Zero here; elsewhere the bytes are no name of memory
}

// Bytes that are none of the runtime's nor of the driver's, under the seal of another process, and of the right
// lengths, too.
TEST_F(Mechanisms, SealedBytes_AreRefused) {
  constexpr size_t kMostOthers = 60;  // as many as there is place for, where most bytes are zeros
  std::mt19937 random(5);
  for (const Mechanism mechanism : {Mechanism::kExtension, Mechanism::kLevelZero}) {
    for (const size_t size_bytes : {size_t{0}, size_t{8}, sizeof(MemoryName), size_t{108}, size_t{120}}) {
      for (size_t n_others = 0; n_others <= std::min(size_bytes, kMostOthers); n_others += 4) {
        std::vector<std::byte> bytes(size_bytes);
        for (size_t i = 0; i < n_others; ++i) bytes[random() % size_bytes] = static_cast<std::byte>(random());
        const sluice_ipc_handle_t handle = make_in_child(mechanism, bytes);
        void *base = nullptr;
        uint64_t mapped_bytes = 0;
        EXPECT_NE(table().ipc_open(0, &handle, &base, &mapped_bytes), SLUICE_SUCCESS) << size_bytes;
        EXPECT_STRNE(table().last_error(), "");
        EXPECT_EQ(base, nullptr);
      }
    }
  }
}

TEST_F(Mechanisms, Knob_IsObeyedByExports) {
  void *memory = nullptr;
  ASSERT_EQ(table().program_set_device(0), SLUICE_SUCCESS) << table().last_error();
  ASSERT_EQ(table().program_alloc(SLUICE_MEMORY_DEVICE, 100, &memory), SLUICE_SUCCESS) << table().last_error();
  sluice_ipc_handle_t handle = {};
  uint64_t offset = 0;
  uint64_t size_bytes = 0;
  set_ipc_knob("off");
  EXPECT_EQ(table().ipc_export(memory, &handle, &offset, &size_bytes), SLUICE_ERROR_UNSUPPORTED);
  expect_text("SLUICE_SYCL_IPC is off");
  EXPECT_EQ(table().program_free(memory), SLUICE_SUCCESS);
}

TEST_F(Mechanisms, Knob_WithAnotherWord_LeavesTheDefaultInForce) {
  ipc_knob() = "pigeon";
  EXPECT_EQ(table().init(&kServices), SLUICE_SUCCESS) << table().last_error();
  table().fini();
}

}  // namespace

// Any other word leaves the default in force.
TEST(DeviceChoice, Knob_TakesItsWords) {
  ipc_knob().clear();
  for (const char *word : {"auto", "gpu", "cpu", "all", "none"}) {
    devices_knob() = word;
    EXPECT_EQ(table().init(&kServices), SLUICE_SUCCESS) << word << ": " << table().last_error();
    table().fini();
  }
  devices_knob().clear();
}

TEST(DeviceChoice, TakesCpusOnly_WhereThereIsNoGpu_OrWhenTheyAreAskedFor) {
  using sluice::backends::sycl::is_chosen;
  constexpr sluice::backends::sycl::DeviceKind kGpu = {true, false};
  constexpr sluice::backends::sycl::DeviceKind kCpu = {false, true};
  constexpr sluice::backends::sycl::DeviceKind kOther = {false, false};
  EXPECT_TRUE(is_chosen("auto", kGpu, true));
  EXPECT_FALSE(is_chosen("auto", kCpu, true));
  EXPECT_TRUE(is_chosen("auto", kCpu, false));
  EXPECT_TRUE(is_chosen("all", kCpu, true));
  EXPECT_TRUE(is_chosen("all", kGpu, true));
  EXPECT_TRUE(is_chosen("cpu", kCpu, true));
  EXPECT_FALSE(is_chosen("cpu", kGpu, true));
  EXPECT_FALSE(is_chosen("gpu", kCpu, false));
  for (const char *knob : {"auto", "all", "gpu", "cpu"}) EXPECT_FALSE(is_chosen(knob, kOther, false)) << knob;
}
