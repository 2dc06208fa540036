// SPDX-License-Identifier: BSD-3-Clause
// Queues of the whole module whose batches go in lists of Level Zero, on the emulated driver: order between lists and
// the runtime's own commands, tickets, and what happens when lists are refused or fail.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <string>
#include <sycl/sycl.hpp>
#include <thread>
#include <vector>

#include "copy_batch.h"
#include "emulated_driver.h"
#include "sluice/backend.h"

namespace {

using sluice::tests::CopyBatch;
using sluice::tests::EmulatedDriver;

std::atomic<int> g_n_warnings{0};
constexpr const char *kExecute = "zeCommandQueueExecuteCommandLists";

const sluice_backend_t &table() {
  static const sluice_backend_t *loaded = [] {
    void *library = dlopen(SLUICE_MODULE_PATH, RTLD_NOW | RTLD_LOCAL);
    EXPECT_NE(library, nullptr) << dlerror();
    const auto entry = reinterpret_cast<sluice_backend_table_fn>(dlsym(library, SLUICE_BACKEND_TABLE_SYMBOL));
    static const sluice_host_services_t services = {
        sizeof services, [](int level, const char *) { g_n_warnings += level <= 1 ? 1 : 0; },
        [](const char *name) -> const char * { return std::strcmp(name, "SLUICE_SYCL_LISTS") == 0 ? "on" : nullptr; }};
    EXPECT_EQ(entry()->init(&services), SLUICE_SUCCESS) << entry()->last_error();
    return entry();
  }();
  return *loaded;
}

std::string said(sluice_result_t result) {
  return result == SLUICE_SUCCESS ? "" : std::to_string(result) + ": " + table().last_error();
}

class DeviceBuffer {
 public:
  DeviceBuffer(size_t size_bytes, const sycl::queue &queue)
      : queue_(queue), memory_(sycl::malloc_device<unsigned char>(size_bytes, queue)) {
    queue_.memset(memory_, 0xA5, size_bytes).wait();
  }
  ~DeviceBuffer() { sycl::free(memory_, queue_); }
  DeviceBuffer(const DeviceBuffer &) = delete;
  DeviceBuffer &operator=(const DeviceBuffer &) = delete;
  unsigned char *get() const { return memory_; }

 private:
  sycl::queue queue_;
  unsigned char *memory_;
};

class ListQueues : public testing::Test {
 protected:
  void SetUp() override {
    if (table().device_count() < 1) GTEST_SKIP() << "missing: a device of the runtime";
    EmulatedDriver::set_fault();
    ASSERT_EQ(table().queue_create(0, &queue_), SLUICE_SUCCESS) << table().last_error();
    back_.resize(batch_.size_bytes());
    CopyBatch::poison(back_.data(), back_.size());
  }
  void TearDown() override {
    EmulatedDriver::set_fault();
    EmulatedDriver::hold_queues(false);
    EXPECT_EQ(said(table().queue_destroy(queue_)), "");
  }
  std::string enqueue(unsigned char *dst, const unsigned char *src) {
    const std::vector<sluice_copy_t> copies = batch_.copies(dst, src);
    return said(table().enqueue_copies(queue_, copies.data(), copies.size()));
  }
  std::string enqueue_whole(unsigned char *dst, const unsigned char *src) {
    const sluice_copy_t whole{dst, src, batch_.size_bytes()};
    return said(table().enqueue_copies(queue_, &whole, 1));
  }
  std::string finish() {
    uint64_t ticket = 0;
    const sluice_result_t result = table().enqueue_ticket(queue_, &ticket);
    return said(result == SLUICE_SUCCESS ? table().wait_ticket(queue_, ticket) : result);
  }

  sycl::queue native_{sycl::device::get_devices().at(0).get_platform().khr_get_default_context(),
                      sycl::device::get_devices().at(0)};
  // Of all tests: lists of a queue that failed may still be carried out when their test is over.
  static inline const CopyBatch &batch_ = *new CopyBatch{64, 21};
  static inline std::vector<unsigned char> &back_ = *new std::vector<unsigned char>();
  sluice_queue_t *queue_ = nullptr;
};

// List, command of the runtime, list, command, ...: each takes what the one before has brought, with nobody waiting.
TEST_F(ListQueues, ListsAndSingleCopies_KeepTheirOrder) {
  const DeviceBuffer first(batch_.size_bytes(), native_);
  const DeviceBuffer second(batch_.size_bytes(), native_);
  const DeviceBuffer third(batch_.size_bytes(), native_);
  for (int iteration = 1; iteration <= 20; ++iteration) {
    CopyBatch::poison(back_.data(), back_.size());
    ASSERT_EQ(enqueue_whole(first.get(), back_.data()), "");
    ASSERT_EQ(enqueue(first.get(), batch_.src()), "");
    ASSERT_EQ(enqueue_whole(second.get(), first.get()), "");
    ASSERT_EQ(enqueue_whole(third.get(), back_.data()), "");
    ASSERT_EQ(enqueue(third.get(), second.get()), "");
    ASSERT_EQ(said(table().copy(queue_, back_.data(), third.get(), back_.size())), "");
    ASSERT_EQ(batch_.problem(back_.data()), "");
    ASSERT_EQ(EmulatedDriver::n_calls(kExecute), 2U * static_cast<unsigned>(iteration)) << "no list was used";
  }
}

// The same where the list is held back until somebody waits for it.
TEST_F(ListQueues, SingleCopy_WaitsForListsInFlight) {
  const DeviceBuffer device(batch_.size_bytes(), native_);
  EmulatedDriver::hold_queues(true);
  ASSERT_EQ(enqueue(device.get(), batch_.src()), "");
  EXPECT_EQ(enqueue_whole(back_.data(), device.get()), "");
  EXPECT_EQ(finish(), "");
  EXPECT_EQ(batch_.problem(back_.data()), "");
}

TEST_F(ListQueues, Tickets_AreThoseOfLists) {
  EmulatedDriver::hold_queues(true);
  ASSERT_EQ(enqueue(back_.data(), batch_.src()), "");
  uint64_t ticket = 0;
  ASSERT_EQ(table().enqueue_ticket(queue_, &ticket), SLUICE_SUCCESS);
  EXPECT_EQ(table().test_ticket(queue_, ticket), SLUICE_NOT_READY);
  EmulatedDriver::hold_queues(false);
  while (table().test_ticket(queue_, ticket) == SLUICE_NOT_READY) std::this_thread::yield();
  EXPECT_EQ(said(table().test_ticket(queue_, ticket)), "");
  EXPECT_EQ(batch_.problem(back_.data()), "");
}

// More tickets than a queue keeps, of lists that were used again long ago.
TEST_F(ListQueues, ManyTickets_AreAllDone) {
  std::vector<uint64_t> tickets(300);
  for (uint64_t &ticket : tickets) {
    ASSERT_EQ(enqueue(back_.data(), batch_.src()), "");
    ASSERT_EQ(table().enqueue_ticket(queue_, &ticket), SLUICE_SUCCESS) << table().last_error();
  }
  EXPECT_EQ(said(table().wait_ticket(queue_, tickets.back())), "");
  for (const uint64_t ticket : tickets) EXPECT_EQ(said(table().test_ticket(queue_, ticket)), "");
  EXPECT_EQ(batch_.problem(back_.data()), "");
}

TEST_F(ListQueues, Destruction_WaitsForLists) {
  EmulatedDriver::hold_queues(true);
  ASSERT_EQ(enqueue(back_.data(), batch_.src()), "");
  EXPECT_NE(batch_.problem(back_.data()), "");
  EXPECT_EQ(said(table().queue_destroy(queue_)), "");
  queue_ = nullptr;
  EXPECT_EQ(batch_.problem(back_.data()), "");
}

// A batch in memory of two contexts: one by one, or in a list where the driver knows memory of one context in all.
TEST_F(ListQueues, BatchOfTwoContexts_IsRight) {
  const sycl::device device = native_.get_device();
  static sycl::queue own(sycl::context(device), device, sycl::property::queue::in_order());
  ASSERT_EQ(table().register_context(&own), SLUICE_SUCCESS) << table().last_error();
  const DeviceBuffer here(batch_.size_bytes(), native_);
  const DeviceBuffer there(batch_.size_bytes(), own);
  std::vector<unsigned char> other(back_);
  std::vector<sluice_copy_t> up = batch_.copies(here.get(), batch_.src());
  const std::vector<sluice_copy_t> more = batch_.copies(there.get(), batch_.src());
  up.insert(up.end(), more.begin(), more.end());
  ASSERT_EQ(said(table().enqueue_copies(queue_, up.data(), up.size())), "");
  const uint64_t n_before = EmulatedDriver::n_calls(kExecute);
  ASSERT_EQ(enqueue(back_.data(), here.get()), "");
  ASSERT_EQ(enqueue(other.data(), there.get()), "");
  EXPECT_EQ(EmulatedDriver::n_calls(kExecute), n_before + 2) << "each batch of one context is a list";
  ASSERT_EQ(finish(), "");
  EXPECT_EQ(batch_.problem(back_.data()), "");
  EXPECT_EQ(batch_.problem(other.data()), "");
}

// Whatever is refused before anything is executed: copies go one by one, said once for all queues.
TEST_F(ListQueues, RefusedLists_AreReplaced_AndSaidOnce) {
  for (const char *call : {"zeDeviceGetCommandQueueGroupProperties", "zeCommandQueueCreate", "zeCommandListCreate",
                           "zeFenceCreate", "zeCommandListAppendMemoryCopy", "zeCommandListClose"}) {
    SCOPED_TRACE(call);
    EmulatedDriver::set_fault(std::string(call) + "/1");
    sluice_queue_t *const spared = queue_;
    ASSERT_EQ(table().queue_create(0, &queue_), SLUICE_SUCCESS);
    for (int iteration = 0; iteration < 3; ++iteration) {
      CopyBatch::poison(back_.data(), back_.size());
      EXPECT_EQ(enqueue(back_.data(), batch_.src()), "");
      EXPECT_EQ(finish(), "");
      EXPECT_EQ(batch_.problem(back_.data()), "");
    }
    EXPECT_EQ(EmulatedDriver::n_calls(kExecute), 0U);
    EXPECT_EQ(said(table().queue_destroy(queue_)), "");
    queue_ = spared;
  }
  EXPECT_EQ(g_n_warnings, 1);
}

// Execution that fails ends the queue, with the native text; others go on.
TEST_F(ListQueues, FailedLists_EndTheQueue) {
  for (const char *call : {kExecute, "zeFenceHostSynchronize"}) {
    sluice_queue_t *const spared = queue_;
    ASSERT_EQ(table().queue_create(0, &queue_), SLUICE_SUCCESS);
    EmulatedDriver::set_fault(std::string(call) + "/1");
    EmulatedDriver::hold_queues(true);
    std::string problem = enqueue(back_.data(), batch_.src());
    if (problem.empty()) problem = finish();
    EmulatedDriver::set_fault();
    EmulatedDriver::hold_queues(false);
    EXPECT_NE(problem.find("0x70000001 (ZE_RESULT_ERROR_DEVICE_LOST)"), std::string::npos) << problem;
    EXPECT_NE(enqueue(back_.data(), batch_.src()).find("ZE_RESULT_ERROR_DEVICE_LOST"), std::string::npos);
    EXPECT_NE(finish().find("ZE_RESULT_ERROR_DEVICE_LOST"), std::string::npos);
    EXPECT_NE(table().queue_destroy(queue_), SLUICE_SUCCESS);
    queue_ = spared;
  }
  CopyBatch::poison(back_.data(), back_.size());
  EXPECT_EQ(enqueue(back_.data(), batch_.src()), "");
  EXPECT_EQ(finish(), "");
  EXPECT_EQ(batch_.problem(back_.data()), "");
}

}  // namespace
