// SPDX-License-Identifier: BSD-3-Clause
// What the module does while a stream of the program's waits for a word, on the loop-back driver, which holds up the
// host then wherever the vendor's was seen to (docs/adr/0032); and that the loop-back driver does so.
#include <cuda.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "loaded_module.h"
#include "loopback.h"
#include "sluice/backend.h"

namespace {

constexpr size_t kBytes = 5000;

class Waits : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    ASSERT_NO_FATAL_FAILURE(load_module(kNoServices, &table));
    ASSERT_EQ(table->program_set_device(0), SLUICE_SUCCESS);
    void *memory = nullptr;
    ASSERT_EQ(table->host_alloc(0, sizeof(uint64_t), 0, &memory), SLUICE_SUCCESS);
    word = static_cast<uint64_t *>(memory);
    ASSERT_EQ(table->program_alloc(SLUICE_MEMORY_DEVICE, kBytes, &device_memory), SLUICE_SUCCESS);
  }

  void SetUp() override {
    *word = 0;
    open(0);
    ASSERT_EQ(table->queue_create(0, &early_), SLUICE_SUCCESS) << table->last_error();
  }
  void TearDown() override {
    release();
    for (size_t i = 0; i < n_streams_; ++i) {
      EXPECT_EQ(table->stream_close(streams_[i]), SLUICE_SUCCESS);
      EXPECT_EQ(table->program_stream_destroy(native_[i]), SLUICE_SUCCESS);
    }
    EXPECT_EQ(table->queue_destroy(early_), SLUICE_SUCCESS) << table->last_error();
    for (CUstream stream : more_streams_) EXPECT_EQ(cuStreamDestroy(stream), CUDA_SUCCESS);
    more_streams_.clear();
    EXPECT_EQ(loopback_held_up(), 0);
  }

  // A stream of the program's, that the module knows.
  void open(size_t i) {
    ASSERT_EQ(table->program_stream_create(&native_[i]), SLUICE_SUCCESS) << table->last_error();
    int32_t device = -1;
    ASSERT_EQ(table->stream_open(native_[i], &streams_[i], &device), SLUICE_SUCCESS) << table->last_error();
    n_streams_ = i + 1;
  }
  void wait(size_t i) { ASSERT_EQ(table->stream_wait(streams_[i], word, 1), SLUICE_SUCCESS) << table->last_error(); }
  // Lets the streams go on, and waits until they have.
  void release() {
    __atomic_store_n(word, 1, __ATOMIC_RELEASE);
    for (size_t i = 0; i < n_streams_; ++i) {
      EXPECT_EQ(table->program_stream_synchronize(native_[i]), SLUICE_SUCCESS);
    }
  }
  // There and back through `queue`.
  void expect_copies(sluice_queue_t *queue, int seed) {
    std::vector<unsigned char> from(kBytes);
    std::vector<unsigned char> to(kBytes, 0xEE);
    for (size_t i = 0; i < kBytes; ++i) from[i] = static_cast<unsigned char>(i * 7 + i / 251 + seed);
    ASSERT_EQ(table->copy(queue, device_memory, from.data(), kBytes), SLUICE_SUCCESS) << table->last_error();
    ASSERT_EQ(table->copy(queue, to.data(), device_memory, kBytes), SLUICE_SUCCESS) << table->last_error();
    ASSERT_EQ(from, to);
  }
  // Runs `call` in a thread of its own: whether it is held up until the streams go on.
  template <typename Call>
  void expect_held_up(Call call, bool is_held_up = true) {
    std::atomic<bool> has_returned = false;
    CUcontext context = nullptr;
    ASSERT_EQ(cuCtxGetCurrent(&context), CUDA_SUCCESS);
    std::thread thread([&] {
      EXPECT_EQ(cuCtxPushCurrent(context), CUDA_SUCCESS);
      call();
      has_returned = true;
    });
    while (loopback_held_up() == 0 && !has_returned) std::this_thread::yield();
    EXPECT_NE(has_returned, is_held_up);
    release();
    thread.join();
  }
  template <typename Call>
  void expect_not_held_up(Call call) {
    expect_held_up(call, false);
  }
  // Makes streams until the next one needs more room in the driver.
  void use_up_room() {
    while (loopback::state().n_streams < loopback::state().n_room) {
      CUstream stream = nullptr;
      ASSERT_EQ(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
      more_streams_.push_back(stream);
    }
  }

  static const sluice_backend_t *table;
  static uint64_t *word;
  static void *device_memory;
  sluice_queue_t *early_ = nullptr;
  size_t n_streams_ = 0;
  std::array<void *, 40> native_{};
  std::array<sluice_stream_t *, 40> streams_{};
  std::vector<CUstream> more_streams_;
};

const sluice_backend_t *Waits::table = nullptr;
uint64_t *Waits::word = nullptr;
void *Waits::device_memory = nullptr;

}  // namespace

TEST_F(Waits, TheDriverHoldsUp_WhoeverFreesMemory) {
  CUdeviceptr memory = 0;
  ASSERT_EQ(cuMemAlloc(&memory, 4096), CUDA_SUCCESS);
  wait(0);
  expect_held_up([memory] { EXPECT_EQ(cuMemFree(memory), CUDA_SUCCESS); });
}

TEST_F(Waits, TheDriverHoldsUp_WhoeverFillsAStream) {
  wait(0);
  expect_held_up([this] {
    for (size_t i = 0; i < loopback::kStreamDepth + 2; ++i) {
      EXPECT_EQ(cuStreamWriteValue64(static_cast<CUstream>(native_[0]), reinterpret_cast<CUdeviceptr>(word), 1, 0),
                CUDA_SUCCESS);
    }
  });
}

TEST_F(Waits, TheDriverHoldsUp_WhoeverMakesAStreamThatNeedsRoom) {
  use_up_room();
  wait(0);
  expect_held_up([this] {
    CUstream stream = nullptr;
    EXPECT_EQ(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
    more_streams_.push_back(stream);
  });
}

TEST_F(Waits, TheDriverHoldsUp_WhoeverAsksItsOwnDefaultStreamFirst) {
  use_up_room();
  wait(0);
  expect_held_up([] { EXPECT_EQ(cuStreamQuery(CU_STREAM_PER_THREAD), CUDA_SUCCESS); });
}

// Memory that the module has not seen, in a thread that has no default stream of its own.
TEST_F(Waits, NewMemoryIsLookedAt_WithoutRoomForAStream) {
  void *memory = nullptr;
  ASSERT_EQ(table->program_alloc(SLUICE_MEMORY_DEVICE, kBytes, &memory), SLUICE_SUCCESS);
  use_up_room();
  wait(0);
  expect_not_held_up([memory] {
    sluice_pointer_info_t info = {};
    EXPECT_EQ(table->query_pointer(memory, &info), SLUICE_SUCCESS) << table->last_error();
    EXPECT_EQ(info.kind, SLUICE_MEMORY_DEVICE);
  });
  EXPECT_EQ(table->program_free(memory), SLUICE_SUCCESS);
}

TEST_F(Waits, AQueueIsMade_WithoutRoomForAStream) {
  use_up_room();
  wait(0);
  expect_not_held_up([this] {
    sluice_queue_t *queue = nullptr;
    ASSERT_EQ(table->queue_create(0, &queue), SLUICE_SUCCESS) << table->last_error();
    expect_copies(queue, 5);
    EXPECT_EQ(table->queue_destroy(queue), SLUICE_SUCCESS) << table->last_error();
  });
}

TEST_F(Waits, CopiesGoOn_BesideAnyNumberOfStreamsThatWait) {
  for (size_t i = 1; i < native_.size(); ++i) open(i);
  for (size_t i = 0; i < n_streams_; ++i) wait(i);
  expect_copies(early_, 1);
}

// Another process's lock, as an open file of this one: then a kernel that waits would keep that process off the device.
TEST_F(Waits, NoKernelWaits_WhereAnotherProcessHasTheDevice) {
  std::array<char, 32> address{};
  ASSERT_EQ(cuDeviceGetPCIBusId(address.data(), address.size(), 0), CUDA_SUCCESS);
  const std::string path = "/dev/shm/sluice_cuda-" + std::to_string(geteuid()) + "-" + address.data();
  const int file = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
  ASSERT_GE(file, 0) << path;
  struct flock lock = {};
  lock.l_type = F_RDLCK;
  lock.l_len = 1;
  ASSERT_EQ(fcntl(file, F_OFD_SETLK, &lock), 0);
  open(1);
  const int n_kernels = loopback::state().n_kernels;
  wait(1);
  EXPECT_EQ(loopback::state().n_kernels, n_kernels);
  release();
  // But not where the two have it at the same time.
  loopback::state().has_service = true;
  *word = 0;
  open(2);
  wait(2);
  loopback::state().has_service = false;
  EXPECT_EQ(loopback::state().n_kernels, n_kernels + 1);
  release();
  EXPECT_EQ(close(file), 0);
}

TEST_F(Waits, SharedWords_AreMade_AndGoLater) {
  const size_t page_bytes = 4096;
  void *page = mmap(nullptr, page_bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(page, MAP_FAILED);
  wait(0);
  ASSERT_EQ(table->host_register(0, page, page_bytes), SLUICE_SUCCESS) << table->last_error();
  ASSERT_EQ(table->stream_write(streams_[0], static_cast<uint64_t *>(page), 7), SLUICE_SUCCESS) << table->last_error();
  release();
  EXPECT_EQ(*static_cast<uint64_t *>(page), 7U);
  __atomic_store_n(word, 0, __ATOMIC_RELEASE);
  wait(0);
  EXPECT_EQ(table->host_unregister(0, page), SLUICE_NOT_READY);
  release();
  EXPECT_EQ(table->host_unregister(0, page), SLUICE_SUCCESS) << table->last_error();
  EXPECT_EQ(table->host_unregister(0, page), SLUICE_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(munmap(page, page_bytes), 0);
}

// More than there are streams of the module's: some share one.
TEST_F(Waits, QueuesAreMade) {
  wait(0);
  std::vector<sluice_queue_t *> queues;
  for (int i = 0; i < 40; ++i) {
    sluice_queue_t *queue = nullptr;
    ASSERT_EQ(table->queue_create(0, &queue), SLUICE_SUCCESS) << table->last_error();
    queues.push_back(queue);
  }
  for (size_t i = 0; i < queues.size(); ++i) expect_copies(queues[i], static_cast<int>(i));
  // Tickets of two that share a stream, asked for crosswise.
  const sluice_copy_t piece = {device_memory, static_cast<char *>(device_memory) + kBytes / 2, kBytes / 4};
  std::vector<uint64_t> tickets(queues.size());
  for (size_t i = 0; i < queues.size(); ++i) {
    ASSERT_EQ(table->enqueue_copies(queues[i], &piece, 1), SLUICE_SUCCESS);
    ASSERT_EQ(table->enqueue_ticket(queues[i], &tickets[i]), SLUICE_SUCCESS);
  }
  for (size_t i = queues.size(); i-- > 0;) EXPECT_EQ(table->wait_ticket(queues[i], tickets[i]), SLUICE_SUCCESS);
  for (sluice_queue_t *queue : queues) EXPECT_EQ(table->queue_destroy(queue), SLUICE_SUCCESS) << table->last_error();
}

TEST_F(Waits, MemoryIsMade) {
  wait(0);
  void *memory = nullptr;
  ASSERT_EQ(table->host_alloc(0, 4096, 0, &memory), SLUICE_SUCCESS) << table->last_error();
  EXPECT_EQ(table->host_free(0, memory), SLUICE_SUCCESS) << table->last_error();
  if (table->device_alloc != nullptr) {
    ASSERT_EQ(table->device_alloc(0, 4096, &memory), SLUICE_SUCCESS) << table->last_error();
    EXPECT_EQ(table->device_free(0, memory), SLUICE_SUCCESS) << table->last_error();
  }
}

TEST_F(Waits, WhatIsGivenBack_GoesLater) {
  void *memory = nullptr;
  sluice_queue_t *queue = nullptr;
  ASSERT_EQ(table->host_alloc(0, 4096, 0, &memory), SLUICE_SUCCESS) << table->last_error();
  ASSERT_EQ(table->queue_create(0, &queue), SLUICE_SUCCESS) << table->last_error();
  const auto is_registered = [&] {
    const std::scoped_lock lock(loopback::state().mutex);
    return loopback::find_block(reinterpret_cast<CUdeviceptr>(memory)) != nullptr;
  };
  wait(0);
  EXPECT_EQ(table->host_free(0, memory), SLUICE_SUCCESS) << table->last_error();
  EXPECT_EQ(table->host_free(0, memory), SLUICE_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(table->queue_destroy(queue), SLUICE_SUCCESS) << table->last_error();
  EXPECT_TRUE(is_registered());
  release();
  // Within the next call that makes something.
  void *other = nullptr;
  ASSERT_EQ(table->host_alloc(0, 64, 0, &other), SLUICE_SUCCESS) << table->last_error();
  EXPECT_TRUE(other == memory || !is_registered());
  EXPECT_EQ(table->host_free(0, other), SLUICE_SUCCESS);
}
