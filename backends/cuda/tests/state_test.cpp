// SPDX-License-Identifier: BSD-3-Clause
// What the conformance suite cannot see from outside: contexts, stream captures and dead streams, on the loop-back
// driver.
#include <cuda.h>
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

#include "loopback.h"
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

bool is_primary_active(CUdevice device) {
  unsigned flags = 0;
  int is_active = 0;
  EXPECT_EQ(cuDevicePrimaryCtxGetState(device, &flags, &is_active), CUDA_SUCCESS);
  return is_active != 0;
}

CUcontext current() {
  CUcontext context = nullptr;
  EXPECT_EQ(cuCtxGetCurrent(&context), CUDA_SUCCESS);
  return context;
}

}  // namespace

// In this order: each test needs the driver as the one before has left it.

TEST(State, DriverThatNobodyUsed_IsNotStarted) {
  int count = 0;
  sluice_pointer_info_t info = {SLUICE_MEMORY_DEVICE, 1, 1};
  EXPECT_EQ(table().query_pointer(&count, &info), SLUICE_SUCCESS);
  EXPECT_EQ(info.kind, SLUICE_MEMORY_HOST);
  EXPECT_EQ(table().support_words()[0], nullptr) << "whether it shows a device is not known yet";
  EXPECT_EQ(table().memory_kind_words()[0], nullptr);
  EXPECT_EQ(cuDeviceGetCount(&count), CUDA_ERROR_NOT_INITIALIZED);
}

TEST(State, WithoutAContext_NoneIsCreated) {
  EXPECT_EQ(table().device_count(), loopback::kDevices);
  EXPECT_STREQ(table().support_words()[0], "cuda");
  EXPECT_STREQ(table().memory_kind_words()[0], "cuda");
  EXPECT_FALSE(is_primary_active(0));
  sluice_queue_t *queue = nullptr;
  EXPECT_EQ(table().queue_create(0, &queue), SLUICE_ERROR_NO_DEVICE);
  EXPECT_NE(std::strstr(table().last_error(), "no context on device 0"), nullptr) << table().last_error();
  void *memory = nullptr;
  EXPECT_EQ(table().host_alloc(1, 4096, 0, &memory), SLUICE_ERROR_NO_DEVICE);
  EXPECT_FALSE(is_primary_active(0));
  EXPECT_FALSE(is_primary_active(1));
}

TEST(State, ContextThatIsNotPrimary_IsUsed) {
  static CUctx_st own = {1};
  ASSERT_EQ(cuCtxPushCurrent(&own), CUDA_SUCCESS);
  CUdeviceptr memory = 0;
  ASSERT_EQ(cuMemAlloc(&memory, 4096), CUDA_SUCCESS);
  CUcontext popped = nullptr;
  ASSERT_EQ(cuCtxPopCurrent(&popped), CUDA_SUCCESS);
  sluice_pointer_info_t info = {};
  ASSERT_EQ(table().query_pointer(reinterpret_cast<void *>(memory), &info), SLUICE_SUCCESS);
  EXPECT_EQ(info.device, 1);
  sluice_queue_t *queue = nullptr;
  ASSERT_EQ(table().queue_create(1, &queue), SLUICE_SUCCESS) << table().last_error();
  const std::string up = "pattern";
  std::string back(up.size(), ' ');
  EXPECT_EQ(table().copy(queue, reinterpret_cast<void *>(memory), up.data(), up.size()), SLUICE_SUCCESS);
  EXPECT_EQ(table().copy(queue, back.data(), reinterpret_cast<void *>(memory), up.size()), SLUICE_SUCCESS);
  EXPECT_EQ(back, up);
  EXPECT_EQ(table().queue_destroy(queue), SLUICE_SUCCESS) << table().last_error();
  EXPECT_FALSE(is_primary_active(1));
  EXPECT_EQ(current(), nullptr);
}

TEST(State, PrimaryContext_IsGivenBackByTheQueue) {
  CUcontext context = nullptr;
  ASSERT_EQ(cuDevicePrimaryCtxRetain(&context, 0), CUDA_SUCCESS);
  sluice_queue_t *queue = nullptr;
  ASSERT_EQ(table().queue_create(0, &queue), SLUICE_SUCCESS) << table().last_error();
  void *memory = nullptr;
  ASSERT_EQ(table().host_alloc(0, 4096, 0, &memory), SLUICE_SUCCESS);
  EXPECT_EQ(table().host_free(0, memory), SLUICE_SUCCESS);
  EXPECT_EQ(table().queue_destroy(queue), SLUICE_SUCCESS);
  EXPECT_EQ(loopback::state().n_retained[0], 1);
}

TEST(State, CaptureMode_IsAsBefore) {
  CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_THREAD_LOCAL;
  ASSERT_EQ(cuThreadExchangeStreamCaptureMode(&mode), CUDA_SUCCESS);
  sluice_queue_t *queue = nullptr;
  ASSERT_EQ(table().queue_create(0, &queue), SLUICE_SUCCESS) << table().last_error();
  std::vector<char> from(100, 'x');
  std::vector<char> to(100);
  EXPECT_EQ(table().copy(queue, to.data(), from.data(), from.size()), SLUICE_SUCCESS);
  EXPECT_EQ(table().queue_destroy(queue), SLUICE_SUCCESS);
  ASSERT_EQ(cuThreadExchangeStreamCaptureMode(&mode), CUDA_SUCCESS);
  EXPECT_EQ(mode, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
}

TEST(State, StreamOfTheProgram_WorksInItsOwnContext_AndNotWhileItIsCaptured) {
  void *memory = nullptr;
  ASSERT_EQ(table().host_alloc(0, 64, 0, &memory), SLUICE_SUCCESS) << table().last_error();
  auto *word = static_cast<uint64_t *>(memory);
  *word = 0;
  CUcontext primary = nullptr;
  ASSERT_EQ(cuDevicePrimaryCtxRetain(&primary, 0), CUDA_SUCCESS);
  ASSERT_EQ(cuCtxPushCurrent(primary), CUDA_SUCCESS);
  CUstream native = nullptr;
  ASSERT_EQ(cuStreamCreate(&native, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
  CUcontext popped = nullptr;
  ASSERT_EQ(cuCtxPopCurrent(&popped), CUDA_SUCCESS);
  sluice_stream_t *stream = nullptr;
  int32_t device = -1;
  ASSERT_EQ(table().stream_open(native, &stream, &device), SLUICE_SUCCESS) << table().last_error();
  EXPECT_EQ(device, 0);
  loopback::state().captured = native;
  EXPECT_EQ(table().stream_write(stream, word, 1), SLUICE_ERROR_UNSUPPORTED);
  EXPECT_NE(std::strstr(table().last_error(), "captured"), nullptr) << table().last_error();
  EXPECT_EQ(table().stream_wait(stream, word, 1), SLUICE_ERROR_UNSUPPORTED);
  loopback::state().captured = nullptr;
  EXPECT_EQ(table().stream_write(stream, word, 7), SLUICE_SUCCESS) << table().last_error();
  EXPECT_EQ(table().stream_wait(stream, word, 7), SLUICE_SUCCESS) << table().last_error();
  EXPECT_EQ(cuStreamSynchronize(native), CUDA_SUCCESS);
  EXPECT_EQ(*word, 7U);
  EXPECT_EQ(current(), nullptr);
  EXPECT_EQ(table().stream_close(stream), SLUICE_SUCCESS);
  EXPECT_EQ(cuStreamDestroy(native), CUDA_SUCCESS);
  EXPECT_EQ(table().host_free(0, memory), SLUICE_SUCCESS);
}

TEST(State, DeadStream_IsAnErrorAndNoHang) {
  sluice_queue_t *queue = nullptr;
  ASSERT_EQ(table().queue_create(0, &queue), SLUICE_SUCCESS) << table().last_error();
  loopback_break();
  std::vector<char> from(100, 'x');
  std::vector<char> to(100);
  EXPECT_EQ(table().copy(queue, to.data(), from.data(), from.size()), SLUICE_ERROR_NATIVE);
  EXPECT_NE(std::strstr(table().last_error(), "illegal memory access"), nullptr) << table().last_error();
  std::uint64_t ticket = 0;
  EXPECT_EQ(table().enqueue_ticket(queue, &ticket), SLUICE_ERROR_NATIVE);
  EXPECT_NE(std::strstr(table().last_error(), "illegal memory access"), nullptr) << table().last_error();
  table().queue_destroy(queue);
}
