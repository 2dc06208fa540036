// SPDX-License-Identifier: BSD-3-Clause
// Mappings of other processes' memory: found again, bounded, never closed in use, and refusals remembered.
#include "device/ipc_imports.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <memory>
#include <set>
#include <string>
#include <tuple>

#include "fake_backend.hpp"

namespace sluice::device::ipc_imports_test {
namespace {

// What the table's functions below see; they carry no user data.
struct Runtime {
  std::set<void *> mapped;
  int opens = 0;
  int bad_closes = 0;
  sluice_result_t answer = SLUICE_SUCCESS;
  std::uint64_t mapped_bytes = 1U << 20U;  // of each mapping
};
Runtime runtime;

sluice_result_t open_one(std::int32_t /*device*/, const sluice_ipc_handle_t *handle, void **base,
                         std::uint64_t *size_bytes) {
  ++runtime.opens;
  if (runtime.answer != SLUICE_SUCCESS) return runtime.answer;
  std::uintptr_t address = 0;
  std::memcpy(&address, handle->bytes, sizeof address);
  *base = reinterpret_cast<void *>(address);  // NOLINT(performance-no-int-to-ptr): a name, never touched
  *size_bytes = runtime.mapped_bytes;
  runtime.mapped.insert(*base);
  return SLUICE_SUCCESS;
}

sluice_result_t close_one(std::int32_t /*device*/, void *base) {
  if (runtime.mapped.erase(base) == 0) ++runtime.bad_closes;
  return SLUICE_SUCCESS;
}

class IpcImportsTest : public ::testing::Test {
 protected:
  IpcImportsTest() {
    runtime = {};
    table.ipc_export = [](const void *, sluice_ipc_handle_t *, std::uint64_t *, std::uint64_t *) {
      return SLUICE_ERROR_UNSUPPORTED;
    };
    table.ipc_open = open_one;
    table.ipc_close = close_one;
    Status status;
    backend = Backend::over_table(&table, &status);
    EXPECT_TRUE(status.is_ok()) << status.message();
  }
  ~IpcImportsTest() override {
    imports.clear();
    EXPECT_EQ(runtime.bad_closes, 0);
    EXPECT_TRUE(runtime.mapped.empty());
  }

  // Opens allocation `number` of a process; the handle says which.
  Status open(std::uintptr_t number, ImportedPtr *imported, std::uint64_t size_bytes = 4096) {
    sluice_ipc_handle_t handle{};
    std::memcpy(handle.bytes, &number, sizeof number);
    return imports.open(backend.get(), 0, handle, {1, number * 4096, size_bytes}, imported);
  }

  tests::FakeBackend fake;
  sluice_backend_t table = fake.table();
  std::unique_ptr<Backend> backend;
  IpcImports imports{2};
};

TEST_F(IpcImportsTest, MapsAHandleOnce) {
  ImportedPtr first;
  ImportedPtr again;
  ASSERT_TRUE(open(1, &first).is_ok());
  ASSERT_TRUE(open(1, &again).is_ok());
  EXPECT_EQ(first, again);
  EXPECT_EQ(runtime.opens, 1);
}

TEST_F(IpcImportsTest, ClosesTheLeastRecentlyUsed_AndNoneInUse) {
  ImportedPtr held;
  ImportedPtr used;
  ASSERT_TRUE(open(1, &held).is_ok());
  for (const std::uintptr_t number : {2, 3, 2, 4}) ASSERT_TRUE(open(number, &used).is_ok());
  EXPECT_TRUE(runtime.mapped.contains(held->base())) << "closed a mapping in use";
  EXPECT_TRUE(runtime.mapped.contains(used->base()));
  EXPECT_EQ(imports.size(), 2U);
  EXPECT_EQ(runtime.mapped.size(), 2U);
  held.reset();
  used.reset();
}

TEST_F(IpcImportsTest, DoesNotAskAgain_AfterARefusal) {
  runtime.answer = SLUICE_ERROR_UNSUPPORTED;
  ImportedPtr imported;
  for (int i = 0; i < 3; ++i) EXPECT_FALSE(open(7, &imported).is_ok());
  EXPECT_EQ(runtime.opens, 1);
  EXPECT_FALSE(open(8, &imported).is_ok());
  EXPECT_EQ(runtime.opens, 2) << "another allocation is another question";
  runtime.answer = SLUICE_SUCCESS;
  imports.clear();
  EXPECT_TRUE(open(7, &imported).is_ok()) << "a refusal outlived clear()";
  imported.reset();
}

TEST_F(IpcImportsTest, AsksAgain_WhenTheRefusalMayPass) {
  ImportedPtr imported;
  runtime.answer = SLUICE_ERROR_OUT_OF_MEMORY;
  EXPECT_FALSE(open(7, &imported).is_ok());
  EXPECT_FALSE(open(7, &imported).is_ok());
  EXPECT_EQ(runtime.opens, 2);
  runtime.answer = SLUICE_SUCCESS;
  ASSERT_TRUE(open(7, &imported).is_ok());
  runtime.answer = SLUICE_ERROR_NATIVE;
  ImportedPtr other;
  constexpr std::uint64_t kOverAll = 8 * 4096;  // the mapping of allocation 7 is in use, and may be in the way
  EXPECT_FALSE(open(3, &other, kOverAll).is_ok());
  runtime.answer = SLUICE_SUCCESS;
  EXPECT_TRUE(open(3, &other, kOverAll).is_ok());
  imported.reset();
  other.reset();
}

TEST_F(IpcImportsTest, DoesNotBelieveMoreThanIsMapped) {
  runtime.mapped_bytes = 4096;
  ImportedPtr imported;
  for (int i = 0; i < 2; ++i) {  // when it is mapped, and when it is found again
    const Status status = open(7, &imported, 4097);
    EXPECT_EQ(status.kind(), ErrorKind::kBadPeer);
    EXPECT_NE(status.message().find("4097 bytes of device memory where 4096 are mapped"), std::string::npos)
        << status.message();
    EXPECT_EQ(imported, nullptr);
  }
  // An honest word is believed then, without another mapping.
  ASSERT_TRUE(open(7, &imported, 4096).is_ok());
  EXPECT_EQ(runtime.opens, 1);
  EXPECT_EQ(imported->size_bytes(), 4096U);
  constexpr std::uint64_t kMost = ~std::uint64_t{0};
  for (const auto &[offset, size, holds] : {std::tuple{std::uint64_t{0}, std::uint64_t{4096}, true},
                                            {4096, 0, true},
                                            {4095, 1, true},
                                            {4095, 2, false},
                                            {4097, 0, false},
                                            {1, kMost, false},
                                            {kMost, 1, false},
                                            {kMost, kMost, false}}) {
    EXPECT_EQ(imported->holds(offset, size), holds) << offset << ' ' << size;
  }
}

// Else one process could have another's memory read and written, under its own name.
TEST_F(IpcImportsTest, GivesAHandle_ToWhoeverSaidItFirst) {
  sluice_ipc_handle_t handle{};
  handle.bytes[1] = 1;
  runtime.mapped_bytes = 4096;
  ImportedPtr imported;
  ASSERT_TRUE(imports.open(backend.get(), 0, handle, {1, 4096, 4096}, &imported).is_ok());
  const Status status = imports.open(backend.get(), 0, handle, {2, 4096, 4096}, &imported);
  EXPECT_EQ(status.kind(), ErrorKind::kBadPeer);
  EXPECT_NE(status.message().find("ranks 1 and 2"), std::string::npos) << status.message();
  imported.reset();
}

TEST_F(IpcImportsTest, ForgetsTheOldestRefusal) {
  runtime.answer = SLUICE_ERROR_UNSUPPORTED;
  ImportedPtr imported;
  for (std::uintptr_t number = 1; number <= IpcImports::kMostRefusals + 1; ++number) {
    EXPECT_FALSE(open(number, &imported).is_ok());
  }
  const int opens = runtime.opens;
  EXPECT_FALSE(open(2, &imported).is_ok());
  EXPECT_EQ(runtime.opens, opens);
  EXPECT_FALSE(open(1, &imported).is_ok());
  EXPECT_EQ(runtime.opens, opens + 1);
}

}  // namespace
}  // namespace sluice::device::ipc_imports_test
