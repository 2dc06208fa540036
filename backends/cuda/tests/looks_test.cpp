// SPDX-License-Identifier: BSD-3-Clause
// A kernel for buffers that were looked at just before, on the loop-back driver: the driver is not asked again whether
// it may touch them, and what has become other memory since is found out.
#include <cuda.h>
#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "loaded_module.h"
#include "loopback.h"
#include "sluice/backend.h"

namespace {

constexpr size_t kElements = 600;
constexpr size_t kBytes = kElements * sizeof(int32_t);

class Looks : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    ASSERT_NO_FATAL_FAILURE(load_module(kNoServices, &table));
    ASSERT_EQ(table->program_set_device(0), SLUICE_SUCCESS);
    void *memory = nullptr;  // the program has a context from here on
    ASSERT_EQ(table->program_alloc(SLUICE_MEMORY_DEVICE, kBytes, &memory), SLUICE_SUCCESS) << table->last_error();
    ASSERT_EQ(table->program_free(memory), SLUICE_SUCCESS);
  }
  void SetUp() override { ASSERT_EQ(table->queue_create(0, &queue_), SLUICE_SUCCESS) << table->last_error(); }
  void TearDown() override {
    EXPECT_EQ(table->queue_destroy(queue_), SLUICE_SUCCESS) << table->last_error();
    for (int32_t *memory : made_) EXPECT_EQ(table->program_free(memory), SLUICE_SUCCESS);
  }

  int32_t *allocate(int32_t device) {
    void *memory = nullptr;
    EXPECT_EQ(table->program_set_device(device), SLUICE_SUCCESS);
    EXPECT_EQ(table->program_alloc(SLUICE_MEMORY_DEVICE, kBytes, &memory), SLUICE_SUCCESS) << table->last_error();
    EXPECT_EQ(table->program_set_device(0), SLUICE_SUCCESS);
    made_.push_back(static_cast<int32_t *>(memory));
    return made_.back();
  }
  static void look(const int32_t *address) {
    sluice_pointer_info_t info = {};
    ASSERT_EQ(table->query_pointer(address, &info), SLUICE_SUCCESS) << table->last_error();
  }
  // to[i] = a[i] + b[i]
  sluice_result_t add(const int32_t *a, const int32_t *b, int32_t *to, size_t count) {
    const void *const sources[] = {a, b};
    void *const dsts[] = {to};
    sluice_reduction_t reduction = {};
    reduction.element = SLUICE_ELEMENT_INT32;
    reduction.operation = SLUICE_OPERATION_SUM;
    reduction.count = count;
    reduction.n_sources = 2;
    reduction.sources = sources;
    reduction.n_dsts = 1;
    reduction.dsts = dsts;
    const sluice_result_t result = table->enqueue_reduction(queue_, &reduction);
    if (result != SLUICE_SUCCESS) return result;
    uint64_t ticket = 0;
    EXPECT_EQ(table->enqueue_ticket(queue_, &ticket), SLUICE_SUCCESS);
    return table->wait_ticket(queue_, ticket);
  }
  // How often the driver is asked for a sum of the second half, which three looks precede.
  int questions(const int32_t *a, const int32_t *b, int32_t *to) {
    for (const int32_t *address : {a, b, static_cast<const int32_t *>(to)}) look(address);
    const int before = loopback::state().n_queries;
    constexpr size_t kHalf = kElements / 2;
    EXPECT_EQ(add(a + kHalf, b + kHalf, to + kHalf, kHalf), SLUICE_SUCCESS) << table->last_error();
    return loopback::state().n_queries - before;
  }

  static inline const sluice_backend_t *table = nullptr;
  sluice_queue_t *queue_ = nullptr;
  std::vector<int32_t *> made_;
};

TEST_F(Looks, AreNotRepeatedByKernels) {
  int32_t *a = allocate(0);
  int32_t *b = allocate(0);
  int32_t *to = allocate(0);
  EXPECT_EQ(questions(a, b, to), 3) << "how far each of them goes";
  for (int k = 0; k < 4; ++k) {
    for (size_t i = 0; i < kElements; ++i) a[i] = b[i] = static_cast<int32_t>(i) + k;
    EXPECT_EQ(questions(a, b, to), 0);
    for (size_t i = kElements / 2; i < kElements; ++i) ASSERT_EQ(to[i], 2 * (static_cast<int32_t>(i) + k)) << i;
  }
}

TEST_F(Looks, AreAskedFor_WhereThereWasNone) {
  int32_t *a = allocate(0);
  int32_t *b = allocate(0);
  int32_t *to = allocate(0);
  // Threads have looks of their own; these have none, and one only at what it does not touch.
  const int before = loopback::state().n_queries;
  std::thread([&] { EXPECT_EQ(add(a, b, to, kElements), SLUICE_SUCCESS) << table->last_error(); }).join();
  EXPECT_EQ(loopback::state().n_queries - before, 3);
  for (const int32_t *address : {a, b, to}) look(address);
  const int after = loopback::state().n_queries;
  std::thread([&] {
    look(b);
    EXPECT_EQ(add(a, a, to, kElements), SLUICE_SUCCESS) << table->last_error();
  }).join();
  EXPECT_EQ(loopback::state().n_queries - after, 1 + 1 + 3) << "the look, how far it goes, and what was not looked at";
}

TEST_F(Looks, SayWhoseMemoryItIs) {
  int32_t *a = allocate(0);
  int32_t *other = allocate(1);
  for (const int32_t *address : {a, other}) look(address);
  EXPECT_EQ(add(a, other, a, kElements), SLUICE_ERROR_UNSUPPORTED);
  EXPECT_NE(std::string(table->last_error()).find("memory of another device"), std::string::npos)
      << table->last_error();
}

// Memory of one device becomes another's under the same address: the newest look counts, and where there is none the
// driver is asked.
TEST_F(Looks, AreOfTheMemoryThatIsThereNow) {
  int32_t *a = allocate(0);
  int32_t *to = allocate(0);
  EXPECT_EQ(questions(a, a, to), 2);
  loopback::state().mutex.lock();
  loopback::Block &block = loopback::state().blocks[reinterpret_cast<CUdeviceptr>(a)];
  const loopback::Block was = block;
  block.context = &loopback::state().primary[1];
  block.id = ++loopback::state().last_id;
  loopback::state().mutex.unlock();
  look(a + 5);
  EXPECT_EQ(add(a, to, to, kElements), SLUICE_ERROR_UNSUPPORTED);
  loopback::state().mutex.lock();
  loopback::state().blocks[reinterpret_cast<CUdeviceptr>(a)] = was;
  loopback::state().mutex.unlock();
}

}  // namespace
