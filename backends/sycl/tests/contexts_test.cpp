// SPDX-License-Identifier: BSD-3-Clause
// What the conformance suite cannot see from outside: a runtime that nobody uses, contexts of the program's own, and
// the end of the process.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <sycl/sycl.hpp>
#include <vector>

#include "sluice/backend.h"

namespace {

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

sluice_memory_kind_t kind_of(const void *address) {
  sluice_pointer_info_t info = {};
  EXPECT_EQ(table().query_pointer(address, &info), SLUICE_SUCCESS) << table().last_error();
  return info.kind;
}

std::vector<unsigned char> pattern(size_t size, size_t iteration) {
  std::vector<unsigned char> bytes(size);
  for (size_t i = 0; i < size; ++i) bytes[i] = static_cast<unsigned char>(i * 7 + iteration * 31 + 1);
  return bytes;
}

}  // namespace

// In this order: the first needs a process that has used no device.

TEST(Contexts, RuntimeThatNobodyUsed_IsNotStarted) {
  int local = 0;
  EXPECT_EQ(kind_of(&local), SLUICE_MEMORY_HOST);
  EXPECT_EQ(dlopen("libur_loader.so.0", RTLD_NOW | RTLD_NOLOAD), nullptr) << "the query has started the runtime";
}

TEST(Contexts, MemoryOfTheDefaultContext_IsKnown_WhenTheProgramStartsLater) {
  const std::vector<sycl::device> devices = sycl::device::get_devices();
  if (devices.empty()) GTEST_SKIP() << "missing: a device of the runtime";
  sycl::queue queue(devices.front());
  void *memory = sycl::malloc_device(4096, queue);
  ASSERT_NE(memory, nullptr);
  EXPECT_EQ(kind_of(memory), SLUICE_MEMORY_DEVICE);
  sycl::free(memory, queue);
}

TEST(Contexts, OwnContext_IsKnown_OnceRegistered) {
  const std::vector<sycl::device> devices = sycl::device::get_devices();
  if (devices.empty()) GTEST_SKIP() << "missing: a device of the runtime";
  sycl::context context(devices.front());
  sycl::queue queue(context, devices.front(), sycl::property::queue::in_order());
  constexpr size_t kBytes = 100003;
  auto *memory = sycl::malloc_device<unsigned char>(kBytes, queue);
  ASSERT_NE(memory, nullptr);
  // A driver of Level Zero may know memory of one context in all.
  if (devices.front().get_backend() != sycl::backend::ext_oneapi_level_zero) {
    EXPECT_EQ(kind_of(memory), SLUICE_MEMORY_HOST);
  }
  ASSERT_EQ(table().register_context(&queue), SLUICE_SUCCESS) << table().last_error();
  ASSERT_EQ(table().register_context(&queue), SLUICE_SUCCESS) << "a second time";
  EXPECT_EQ(kind_of(memory + kBytes / 2), SLUICE_MEMORY_DEVICE);
  EXPECT_EQ(kind_of(&context), SLUICE_MEMORY_HOST);

  auto *usual = sycl::malloc_device<unsigned char>(kBytes, sycl::queue(devices.front()));
  sluice_queue_t *copies = nullptr;
  ASSERT_EQ(table().queue_create(0, &copies), SLUICE_SUCCESS) << table().last_error();
  for (size_t iteration = 0; iteration < 10; ++iteration) {
    const std::vector<unsigned char> bytes = pattern(kBytes, iteration);
    std::vector<unsigned char> middle(kBytes);
    std::vector<unsigned char> back(kBytes);
    // From context to context, in order, without a wait in between.
    const sluice_copy_t steps[] = {{memory, bytes.data(), kBytes},
                                   {middle.data(), memory, kBytes},
                                   {usual, middle.data(), kBytes},
                                   {back.data(), usual, kBytes}};
    for (const sluice_copy_t &step : steps)
      ASSERT_EQ(table().enqueue_copies(copies, &step, 1), SLUICE_SUCCESS) << table().last_error();
    uint64_t ticket = 0;
    ASSERT_EQ(table().enqueue_ticket(copies, &ticket), SLUICE_SUCCESS);
    ASSERT_EQ(table().wait_ticket(copies, ticket), SLUICE_SUCCESS) << table().last_error();
    ASSERT_EQ(back, bytes) << "iteration " << iteration;
  }
  EXPECT_EQ(table().queue_destroy(copies), SLUICE_SUCCESS);
}

// As memory of OpenMP's runtime, or of Level Zero's calls: a driver of Level Zero knows it, and the runtime has no
// handle of it.
TEST(Contexts, MemoryThatTheRuntimeDoesNotKnow_IsExportedByTheDriver) {
  const std::vector<sycl::device> devices = sycl::device::get_devices();
  if (devices.empty() || devices.front().get_backend() != sycl::backend::ext_oneapi_level_zero)
    GTEST_SKIP() << "missing: a device of Level Zero";
  sycl::context context(devices.front());
  sycl::queue queue(context, devices.front());
  constexpr size_t kBytes = 100003;
  auto *memory = sycl::malloc_device<unsigned char>(kBytes, queue);
  ASSERT_NE(memory, nullptr);
  sluice_ipc_handle_t handles[2] = {};
  for (sluice_ipc_handle_t &handle : handles) {
    uint64_t offset = 0;
    uint64_t size_bytes = 0;
    ASSERT_EQ(table().ipc_export(memory + 17, &handle, &offset, &size_bytes), SLUICE_SUCCESS) << table().last_error();
    EXPECT_GE(size_bytes, offset + kBytes - 17);
  }
  EXPECT_EQ(std::memcmp(&handles[0], &handles[1], sizeof handles[0]), 0) << "it was exported twice";
  sycl::free(memory, queue);
}

// A kernel that touches an address that is none for it takes the device with it. The first block is memory, and the
// second lies far behind it, on this stack.
TEST(Contexts, PackWhoseMemoryIsNotOfOneAllocation_IsRefused) {
  const std::vector<sycl::device> devices = sycl::device::get_devices();
  if (devices.empty() || devices.front().is_cpu() || table().can_pack(0) == 0)
    GTEST_SKIP() << "missing: a device that does not reach all memory of the process, and packs by kernels";
  sycl::queue queue(devices.front());
  auto *memory = sycl::malloc_device<unsigned char>(64, queue);
  auto *packed = sycl::malloc_device<unsigned char>(64, queue);
  unsigned char outside[8] = {};
  sluice_queue_t *kernels = nullptr;
  ASSERT_EQ(table().queue_create(0, &kernels), SLUICE_SUCCESS) << table().last_error();
  ASSERT_GT(reinterpret_cast<uintptr_t>(outside), reinterpret_cast<uintptr_t>(memory));
  sluice_pack_t pack{};
  pack.layout.n_dimensions = 1;
  pack.layout.dimensions[0] = {2, outside - memory};
  pack.layout.core_bytes = sizeof outside;
  pack.origin = memory;
  pack.beside = packed;
  pack.span_bytes = static_cast<uint64_t>(outside + sizeof outside - memory);
  pack.size_bytes = 2 * sizeof outside;
  for (const sluice_pack_direction_t direction : {SLUICE_PACK, SLUICE_UNPACK}) {
    pack.direction = direction;
    EXPECT_EQ(table().enqueue_pack(kernels, &pack), SLUICE_ERROR_UNSUPPORTED) << direction;
  }
  // Both blocks are memory, of two allocations, between which there may be none.
  const auto [low, high] = std::minmax(memory, packed);
  pack.origin = low;
  pack.layout.dimensions[0].stride_bytes = high - low;
  pack.span_bytes = static_cast<uint64_t>(high + sizeof outside - low);
  pack.beside = low + 32;
  EXPECT_EQ(table().enqueue_pack(kernels, &pack), SLUICE_ERROR_UNSUPPORTED);
  pack.origin = memory;
  pack.beside = packed;
  pack.layout.dimensions[0].stride_bytes = 32;  // and the queue is as good as before
  pack.span_bytes = 32 + sizeof outside;
  EXPECT_EQ(table().enqueue_pack(kernels, &pack), SLUICE_SUCCESS) << table().last_error();
  EXPECT_EQ(table().queue_destroy(kernels), SLUICE_SUCCESS);
  sycl::free(memory, queue);
  sycl::free(packed, queue);
}

// A program that never calls MPI_Finalize: what is left is given back by destructors, or not at all.
TEST(Contexts, EndOfTheProcess_WithThingsLeft_IsQuiet) {
  if (table().device_count() == 0) GTEST_SKIP() << "missing: a device of the runtime";
  static sluice_queue_t *queue = nullptr;
  static void *memory = nullptr;
  struct Late {
    ~Late() {
      sluice_pointer_info_t info = {};
      table().query_pointer(memory, &info);
      table().host_free(0, memory);
      table().queue_destroy(queue);
      table().fini();
    }
  };
  ASSERT_EQ(table().queue_create(0, &queue), SLUICE_SUCCESS);
  ASSERT_EQ(table().host_alloc(0, 4096, 0, &memory), SLUICE_SUCCESS);
  static const Late late;
}
