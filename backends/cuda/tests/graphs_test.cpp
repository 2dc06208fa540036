// SPDX-License-Identifier: BSD-3-Clause
// Kernels as graphs of one, on the loop-back driver: that they are launched so, with the arguments of each call, and
// where they are launched by themselves instead. What the kernels do is the conformance suite's (and, launched by
// themselves, .as_kernels).
#include <cuda.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "loaded_module.h"
#include "loopback.h"
#include "sluice/backend.h"

namespace {

constexpr size_t kElements = 1000;

class Graphs : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    static const sluice_host_services_t services = {
        sizeof services, [](int, const char *text) { logged += std::string(text) + "\n"; },
        [](const char *name) -> const char * {
          return std::strcmp(name, "SLUICE_CUDA_LAUNCH") == 0 ? "graph" : nullptr;
        }};
    ASSERT_NO_FATAL_FAILURE(load_module(services, &table));
    ASSERT_EQ(table->program_set_device(0), SLUICE_SUCCESS);
    for (int32_t *&memory : memories) {
      void *made = nullptr;
      ASSERT_EQ(table->program_alloc(SLUICE_MEMORY_DEVICE, kElements * sizeof(int32_t), &made), SLUICE_SUCCESS);
      memory = static_cast<int32_t *>(made);
    }
  }
  void SetUp() override { ASSERT_EQ(table->queue_create(0, &queue_), SLUICE_SUCCESS) << table->last_error(); }
  void TearDown() override {
    EXPECT_EQ(table->queue_destroy(queue_), SLUICE_SUCCESS) << table->last_error();
    EXPECT_EQ(loopback::state().n_executables, 0) << "graphs were left";
  }

  // memories[2] = memories[0] op memories[1], of `count` elements, enqueued.
  void enqueue(sluice_operation_t operation, size_t count) {
    sluice_reduction_t reduction = {};
    reduction.element = SLUICE_ELEMENT_INT32;
    reduction.operation = operation;
    reduction.count = count;
    reduction.n_sources = 2;
    const void *const sources[] = {memories[0], memories[1]};
    void *const dsts[] = {memories[2]};
    reduction.sources = sources;
    reduction.n_dsts = 1;
    reduction.dsts = dsts;
    ASSERT_EQ(table->enqueue_reduction(queue_, &reduction), SLUICE_SUCCESS) << table->last_error();
  }
  void wait() {
    uint64_t ticket = 0;
    ASSERT_EQ(table->enqueue_ticket(queue_, &ticket), SLUICE_SUCCESS) << table->last_error();
    ASSERT_EQ(table->wait_ticket(queue_, ticket), SLUICE_SUCCESS) << table->last_error();
  }
  // Runs one, and looks at each element, and at those behind.
  void expect_reduced(sluice_operation_t operation, size_t count, int32_t seed) {
    for (size_t i = 0; i < kElements; ++i) {
      memories[0][i] = static_cast<int32_t>(i) * 3 + seed;
      memories[1][i] = 1000 - static_cast<int32_t>(i);
      memories[2][i] = -77;
    }
    enqueue(operation, count);
    wait();
    for (size_t i = 0; i < kElements; ++i) {
      const int32_t sum = memories[0][i] + memories[1][i];
      const int32_t most = std::max(memories[0][i], memories[1][i]);
      ASSERT_EQ(memories[2][i], i >= count ? -77 : operation == SLUICE_OPERATION_SUM ? sum : most) << i;
    }
  }
  static int n_graphs() { return loopback::state().n_graphs; }
  static int n_kernels() { return loopback::state().n_kernels; }

  static inline const sluice_backend_t *table = nullptr;
  static inline int32_t *memories[3] = {nullptr, nullptr, nullptr};  // the loop-back device's memory is the host's too
  static inline std::string logged;
  sluice_queue_t *queue_ = nullptr;
};

TEST_F(Graphs, AreMadeOnceForEachKernel_AndTakeTheArgumentsOfEachCall) {
  const int before = n_graphs();
  expect_reduced(SLUICE_OPERATION_SUM, kElements, 5);
  expect_reduced(SLUICE_OPERATION_SUM, 17, 6);
  expect_reduced(SLUICE_OPERATION_MAX, kElements - 1, 7);
  expect_reduced(SLUICE_OPERATION_SUM, kElements, 8);
  EXPECT_EQ(n_graphs() - before, 4);
  EXPECT_EQ(loopback::state().n_executables, 2);
}

TEST_F(Graphs, KeepTheirArguments_WhenMoreAreEnqueuedBeforeTheyRan) {
  for (size_t i = 0; i < kElements; ++i) {
    memories[0][i] = 1;
    memories[1][i] = static_cast<int32_t>(i);
    memories[2][i] = -77;
  }
  loopback_hold(true);
  enqueue(SLUICE_OPERATION_SUM, kElements);
  enqueue(SLUICE_OPERATION_SUM, 1);
  loopback_hold(false);
  wait();
  for (size_t i = 0; i < kElements; ++i) ASSERT_EQ(memories[2][i], static_cast<int32_t>(i) + 1) << i;
}

TEST_F(Graphs, AreLeftOut_WhenTheDriverMakesNone) {
  loopback::state().refuses_graphs = true;
  logged.clear();
  const int graphs = n_graphs();
  const int kernels = n_kernels();
  expect_reduced(SLUICE_OPERATION_SUM, kElements, 1);
  expect_reduced(SLUICE_OPERATION_SUM, kElements, 2);
  loopback::state().refuses_graphs = false;
  expect_reduced(SLUICE_OPERATION_SUM, kElements, 3);  // it is not asked again
  EXPECT_EQ(n_graphs(), graphs);
  EXPECT_EQ(n_kernels(), kernels + 3);
  EXPECT_NE(logged.find("launched by itself, not as a graph: cuGraphInstantiate"), std::string::npos) << logged;
  EXPECT_EQ(logged.find("not as a graph"), logged.rfind("not as a graph")) << logged;
}

// To make one may wait for the device, which waits for a message (docs/adr/0032).
TEST_F(Graphs, AreMadeLater_WhenAStreamWaits) {
  expect_reduced(SLUICE_OPERATION_SUM, kElements, 1);  // loads the kernel, which has to be there
  ASSERT_EQ(table->queue_destroy(queue_), SLUICE_SUCCESS);
  ASSERT_EQ(table->queue_create(0, &queue_), SLUICE_SUCCESS) << table->last_error();
  void *memory = nullptr;
  ASSERT_EQ(table->host_alloc(0, sizeof(uint64_t), 0, &memory), SLUICE_SUCCESS);
  auto *word = static_cast<uint64_t *>(memory);
  *word = 0;
  void *native = nullptr;
  sluice_stream_t *stream = nullptr;
  int32_t device = -1;
  ASSERT_EQ(table->program_stream_create(&native), SLUICE_SUCCESS);
  ASSERT_EQ(table->stream_open(native, &stream, &device), SLUICE_SUCCESS) << table->last_error();
  ASSERT_EQ(table->stream_wait(stream, word, 1), SLUICE_SUCCESS);
  const int before = n_graphs();
  expect_reduced(SLUICE_OPERATION_SUM, kElements, 2);
  EXPECT_EQ(n_graphs(), before);
  __atomic_store_n(word, 1, __ATOMIC_RELEASE);
  ASSERT_EQ(table->program_stream_synchronize(native), SLUICE_SUCCESS);
  expect_reduced(SLUICE_OPERATION_SUM, kElements, 3);
  EXPECT_EQ(n_graphs(), before + 1);
  EXPECT_EQ(table->stream_close(stream), SLUICE_SUCCESS);
  EXPECT_EQ(table->program_stream_destroy(native), SLUICE_SUCCESS);
  EXPECT_EQ(table->host_free(0, memory), SLUICE_SUCCESS);
}

// A reduction that is like the last one is launched as it stands; its end is counted all the same.
TEST_F(Graphs, AreNotChanged_WhenALaunchIsLikeTheLastOne) {
  const int before = loopback::state().n_set_parameters;
  for (int32_t k = 0; k < 5; ++k) expect_reduced(SLUICE_OPERATION_SUM, kElements, k);
  // The first one, and the one behind it, which counts on.
  EXPECT_EQ(loopback::state().n_set_parameters - before, 2);
  expect_reduced(SLUICE_OPERATION_SUM, kElements - 3, 9);
  expect_reduced(SLUICE_OPERATION_SUM, kElements - 3, 10);
  expect_reduced(SLUICE_OPERATION_SUM, kElements, 11);
  EXPECT_EQ(loopback::state().n_set_parameters - before, 4);
}

// The stream is asked where nobody tells, and a kernel that should have and did not is an error, not a wait for ever.
TEST_F(Graphs, WhoseEndIsNotTold_FailTheirQueue) {
  expect_reduced(SLUICE_OPERATION_SUM, kElements, 1);
  loopback::state().forgets_ends = true;
  enqueue(SLUICE_OPERATION_SUM, kElements);
  uint64_t ticket = 0;
  ASSERT_EQ(table->enqueue_ticket(queue_, &ticket), SLUICE_SUCCESS);
  EXPECT_EQ(table->wait_ticket(queue_, ticket), SLUICE_ERROR_NATIVE);
  EXPECT_NE(std::string(table->last_error()).find("its end never told"), std::string::npos) << table->last_error();
  loopback::state().forgets_ends = false;
  EXPECT_NE(table->queue_destroy(queue_), SLUICE_NOT_READY);
  ASSERT_EQ(table->queue_create(0, &queue_), SLUICE_SUCCESS) << table->last_error();
  expect_reduced(SLUICE_OPERATION_SUM, kElements, 2);
}

// A kernel's word stands for all that was enqueued before it, and for nothing behind it.
TEST_F(Graphs, TellOfTheirEndOnlyAsTheLastCommand) {
  for (int32_t k = 0; k < 3; ++k) expect_reduced(SLUICE_OPERATION_SUM, kElements, k);
  loopback_hold(true);
  enqueue(SLUICE_OPERATION_SUM, kElements);
  uint64_t first = 0;
  ASSERT_EQ(table->enqueue_ticket(queue_, &first), SLUICE_SUCCESS);
  EXPECT_EQ(table->test_ticket(queue_, first), SLUICE_NOT_READY);
  enqueue(SLUICE_OPERATION_MAX, kElements);
  const sluice_copy_t copy = {memories[0], memories[2], kElements * sizeof(int32_t)};
  ASSERT_EQ(table->enqueue_copies(queue_, &copy, 1), SLUICE_SUCCESS);
  uint64_t second = 0;
  ASSERT_EQ(table->enqueue_ticket(queue_, &second), SLUICE_SUCCESS);
  enqueue(SLUICE_OPERATION_SUM, 1);
  uint64_t third = 0;
  ASSERT_EQ(table->enqueue_ticket(queue_, &third), SLUICE_SUCCESS);
  for (const uint64_t ticket : {first, second, third}) EXPECT_EQ(table->test_ticket(queue_, ticket), SLUICE_NOT_READY);
  loopback_hold(false);
  for (const uint64_t ticket : {first, second, third}) EXPECT_EQ(table->wait_ticket(queue_, ticket), SLUICE_SUCCESS);
  EXPECT_EQ(memories[2][0], memories[0][0] + memories[1][0]);
}

}  // namespace
