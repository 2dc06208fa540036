// SPDX-License-Identifier: BSD-3-Clause
// Explicit scaling: memory that a program makes on one tile of a device (a SYCL sub-device) is memory of that device,
// copied like any other, and other processes map it. The other process is this program again.
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <string>
#include <sycl/sycl.hpp>
#include <vector>

#include "sluice/backend.h"

namespace {

constexpr size_t kBytes = 100003;
constexpr size_t kInside = 4097;
constexpr const char *kHandle = "SUB_DEVICES_TEST_HANDLE";  // has the child open it

const sluice_backend_t &table() {
  static const sluice_backend_t *loaded = [] {
    void *library = dlopen(SLUICE_MODULE_PATH, RTLD_NOW | RTLD_LOCAL);
    EXPECT_NE(library, nullptr) << dlerror();
    const auto entry = reinterpret_cast<sluice_backend_table_fn>(dlsym(library, SLUICE_BACKEND_TABLE_SYMBOL));
    static const sluice_host_services_t services = {sizeof services, [](int, const char *) {},
                                                    [](const char *) -> const char * { return nullptr; }};
    EXPECT_EQ(entry()->init(&services), SLUICE_SUCCESS) << entry()->last_error();
    return entry();
  }();
  return *loaded;
}

std::vector<unsigned char> pattern(unsigned tile) {
  std::vector<unsigned char> bytes(kBytes);
  for (size_t i = 0; i < kBytes; ++i) bytes[i] = static_cast<unsigned char>(i * 7 + i / 251 + tile * 31 + 1);
  return bytes;
}

std::vector<sycl::device> tiles() {
  using sycl::info::partition_affinity_domain;
  const std::vector<sycl::device> devices = sycl::device::get_devices(sycl::info::device_type::gpu);
  if (devices.empty() || devices.front().get_info<sycl::info::device::partition_max_sub_devices>() < 2) return {};
  return devices.front().create_sub_devices<sycl::info::partition_property::partition_by_affinity_domain>(
      partition_affinity_domain::next_partitionable);
}

std::string as_text(const sluice_ipc_handle_t &handle) {
  std::string text;
  for (const unsigned char byte : handle.bytes)
    text += {static_cast<char>('a' + byte / 16), static_cast<char>('a' + byte % 16)};
  return text;
}

sluice_ipc_handle_t from_text(const char *text) {
  sluice_ipc_handle_t handle{};
  for (size_t i = 0; i < sizeof handle.bytes; ++i) {
    handle.bytes[i] = static_cast<unsigned char>((text[2 * i] - 'a') * 16 + (text[2 * i + 1] - 'a'));
  }
  return handle;
}

// What this program does in a process that has the handle in its environment.
void open_and_compare(const char *text, unsigned tile) {
  const sluice_ipc_handle_t handle = from_text(text);
  void *base = nullptr;
  uint64_t size_bytes = 0;
  ASSERT_EQ(table().ipc_open(0, &handle, &base, &size_bytes), SLUICE_SUCCESS) << table().last_error();
  ASSERT_GE(size_bytes, kBytes);
  std::vector<unsigned char> back(kBytes);
  const auto offset = std::strtoull(std::getenv("SUB_DEVICES_TEST_OFFSET"), nullptr, 10);
  sluice_queue_t *queue = nullptr;
  ASSERT_EQ(table().queue_create(0, &queue), SLUICE_SUCCESS) << table().last_error();
  ASSERT_EQ(table().copy(queue, back.data(), static_cast<std::byte *>(base) + offset, kBytes), SLUICE_SUCCESS)
      << table().last_error();
  EXPECT_EQ(back, pattern(tile));
  EXPECT_EQ(table().queue_destroy(queue), SLUICE_SUCCESS);
  EXPECT_EQ(table().ipc_close(0, base), SLUICE_SUCCESS) << table().last_error();
}

// 0 when the other process found what it was to find.
int run_other(const sluice_ipc_handle_t &handle, uint64_t offset, unsigned tile) {
  const pid_t child = fork();
  if (child == 0) {
    setenv(kHandle, as_text(handle).c_str(), 1);
    setenv("SUB_DEVICES_TEST_OFFSET", std::to_string(offset).c_str(), 1);
    setenv("SUB_DEVICES_TEST_TILE", std::to_string(tile).c_str(), 1);
    execl("/proc/self/exe", "sycl_sub_devices_test", "--gtest_filter=SubDevices.Other", nullptr);
    _exit(99);
  }
  int status = -1;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  return status;
}

TEST(SubDevices, Other) {
  const char *text = std::getenv(kHandle);
  if (text == nullptr) GTEST_SKIP() << "only in the process that the other test starts";
  open_and_compare(text, static_cast<unsigned>(std::atoi(std::getenv("SUB_DEVICES_TEST_TILE"))));
}

TEST(SubDevices, MemoryOfATile_IsItsDevices_AndOthersMapIt) {
  const std::vector<sycl::device> all = tiles();
  if (all.size() < 2) GTEST_SKIP() << "missing: a device of two tiles";
  const sycl::context context = all.front().get_platform().khr_get_default_context();
  for (unsigned tile = 0; tile < all.size(); ++tile) {
    SCOPED_TRACE(tile);
    sycl::queue queue(context, all[tile], sycl::property::queue::in_order());
    auto *memory = sycl::malloc_device<unsigned char>(kBytes + kInside, queue);
    ASSERT_NE(memory, nullptr);
    sluice_pointer_info_t info = {};
    ASSERT_EQ(table().query_pointer(memory + kInside, &info), SLUICE_SUCCESS) << table().last_error();
    EXPECT_EQ(info.kind, SLUICE_MEMORY_DEVICE);
    EXPECT_EQ(info.device, 0) << "the device whose tile it is";
    // Filled by Sluice's queue of the whole device.
    sluice_queue_t *copies = nullptr;
    ASSERT_EQ(table().queue_create(0, &copies), SLUICE_SUCCESS) << table().last_error();
    EXPECT_EQ(table().copy(copies, memory + kInside, pattern(tile).data(), kBytes), SLUICE_SUCCESS)
        << table().last_error();
    sluice_ipc_handle_t handle{};
    uint64_t offset = 0;
    uint64_t size_bytes = kBytes;
    ASSERT_EQ(table().ipc_export(memory + kInside, &handle, &offset, &size_bytes), SLUICE_SUCCESS)
        << table().last_error();
    EXPECT_EQ(run_other(handle, offset, tile), 0);
    EXPECT_EQ(table().queue_destroy(copies), SLUICE_SUCCESS);
    sycl::free(memory, queue);
  }
}

}  // namespace
