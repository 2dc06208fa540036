// SPDX-License-Identifier: BSD-3-Clause
// The module's own calls of Level Zero on the real loader and the emulated driver, without the runtime above. Each call
// fails once each time that it is made: the native text comes out, and afterwards everything works again.
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <level_zero/ze_api.h>

#include <cstdlib>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "../level_zero_events.h"
#include "../level_zero_ipc.h"
#include "../level_zero_lists.h"
#include "copy_batch.h"
#include "emulated_driver.h"

namespace {

namespace level_zero = sluice::backends::sycl::level_zero;
using sluice::backends::Outcome;
using sluice::backends::sycl::NativeRange;
using sluice::tests::CopyBatch;
using sluice::tests::EmulatedDriver;

// What a runtime has when it calls the module: a loader that is initialised, a device and a context.
struct Native {
  level_zero::Calls calls;
  ze_device_handle_t device = nullptr;
  ze_context_handle_t context = nullptr;
  decltype(&zeMemAllocDevice) alloc = nullptr;
  decltype(&zeMemFree) free = nullptr;
  decltype(&zeMemCloseIpcHandle) close = nullptr;
  decltype(&zeEventQueryStatus) query_event = nullptr;
  std::string problem;
};

template <typename Function>
Function find(void *library, const char *name) {
  return reinterpret_cast<Function>(dlsym(library, name));
}

Native start() {
  Native made;
  void *loader = dlopen(LOADER_PATH, RTLD_NOW | RTLD_GLOBAL);
  if (loader == nullptr || !level_zero::find_calls(LOADER_PATH, &made.calls).is_success()) {
    made.problem = "no loader";
    return made;
  }
  made.alloc = find<decltype(&zeMemAllocDevice)>(loader, "zeMemAllocDevice");
  made.free = find<decltype(&zeMemFree)>(loader, "zeMemFree");
  made.close = find<decltype(&zeMemCloseIpcHandle)>(loader, "zeMemCloseIpcHandle");
  made.query_event = find<decltype(&zeEventQueryStatus)>(loader, "zeEventQueryStatus");
  ze_driver_handle_t driver = nullptr;
  uint32_t n = 1;
  const ze_context_desc_t description{ZE_STRUCTURE_TYPE_CONTEXT_DESC, nullptr, 0};
  if (find<decltype(&zeInit)>(loader, "zeInit")(0) != 0 ||
      find<decltype(&zeDriverGet)>(loader, "zeDriverGet")(&n, &driver) != 0 ||
      find<decltype(&zeDeviceGet)>(loader, "zeDeviceGet")(driver, &n, &made.device) != 0 ||
      find<decltype(&zeContextCreate)>(loader, "zeContextCreate")(driver, &description, &made.context) != 0) {
    made.problem = "the emulated driver is not there (ZE_ENABLE_ALT_DRIVERS)";
  }
  return made;
}

const Native &native() {
  static const Native made = start();
  return made;
}

class DeviceMemory {
 public:
  explicit DeviceMemory(size_t size_bytes) {
    const ze_device_mem_alloc_desc_t description{ZE_STRUCTURE_TYPE_DEVICE_MEM_ALLOC_DESC, nullptr, 0, 0};
    EXPECT_EQ(native().alloc(native().context, &description, size_bytes, 64, native().device, &begin_), 0);
  }
  ~DeviceMemory() { EXPECT_EQ(native().free(native().context, begin_), 0); }
  DeviceMemory(const DeviceMemory &) = delete;
  DeviceMemory &operator=(const DeviceMemory &) = delete;
  unsigned char *get() const { return static_cast<unsigned char *>(begin_); }

 private:
  void *begin_ = nullptr;
};

// Up in one batch, and down in another, which are both there before the first begins.
Outcome copy_in_lists(const CopyBatch &batch, unsigned char *device, const unsigned char *view, std::string *problem) {
  static auto *const back = new std::vector<unsigned char>();  // a list that fails may still write it
  back->assign(batch.size_bytes(), 0);
  CopyBatch::poison(back->data(), back->size());
  std::unique_ptr<level_zero::CopyLists> lists;
  Outcome outcome = level_zero::CopyLists::make(native().calls, native().context, native().device, &lists);
  uint64_t number = 0;
  EmulatedDriver::hold_queues(true);
  if (outcome.is_success()) outcome = lists->enqueue(batch.copies(device, batch.src()), &number);
  if (outcome.is_success()) outcome = lists->enqueue(batch.copies(back->data(), view), &number);
  EmulatedDriver::hold_queues(false);
  if (outcome.is_success()) outcome = lists->wait(number);
  if (outcome.is_success()) *problem = batch.problem(back->data());
  const Outcome closed = lists != nullptr ? lists->close() : Outcome{};
  return outcome.is_success() ? closed : outcome;
}

// Memory that is exported, opened, filled by the one address and read by the other.
Outcome use_memory_and_lists(std::string *problem) {
  static const auto *const batch = new CopyBatch(20, 3);
  const DeviceMemory memory(batch->size_bytes());
  NativeRange range;
  level_zero::MemoryName name{};
  void *opened = nullptr;
  Outcome outcome = level_zero::find_range(native().calls, native().context, memory.get() + 1, &range);
  if (outcome.is_success()) outcome = level_zero::export_memory(native().calls, native().context, range, &name);
  if (outcome.is_success()) {
    outcome = level_zero::open_memory(native().calls, native().context, native().device, name, &opened);
  }
  if (!outcome.is_success()) return outcome;
  outcome = copy_in_lists(*batch, memory.get(), static_cast<unsigned char *>(opened), problem);
  const Outcome closed = level_zero::close_memory(native().calls, native().context, opened);
  return outcome.is_success() ? closed : outcome;
}

// Each has a place of its own; pools go when the last of their events goes, in whatever order.
Outcome use_events(std::string *problem) {
  constexpr size_t kEvents = level_zero::EventPool::kEvents + 3;
  std::shared_ptr<level_zero::EventPool> pool;
  std::vector<std::unique_ptr<level_zero::Event>> events(kEvents);
  Outcome outcome;
  for (auto &event : events) {
    if (outcome.is_success()) outcome = level_zero::Event::make(native().calls, native().context, &pool, &event);
  }
  for (size_t i = 0; i < kEvents && outcome.is_success(); i += 2) outcome = events[i]->signal();
  for (size_t i = 0; i < kEvents && outcome.is_success(); ++i) {
    const bool is_signalled = native().query_event(static_cast<ze_event_handle_t>(events[i]->native())) == 0;
    if (is_signalled != (i % 2 == 0)) *problem = "event " + std::to_string(i);
  }
  for (size_t i = 1; i < kEvents; i += 2) events[i].reset();
  return outcome;
}

class NativeCalls : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(native().problem, "");
    EmulatedDriver::set_fault();
  }
  void TearDown() override {
    EmulatedDriver::set_fault();
    level_zero::stop_serving();
  }
};

using Use = Outcome (*)(std::string *problem);

void expect_success(Use use) {
  EmulatedDriver::set_fault();
  std::string problem;
  const Outcome outcome = use(&problem);
  EXPECT_TRUE(outcome.is_success()) << outcome.text;
  EXPECT_EQ(problem, "");
}

// What gives things back says so to nobody: an error would mean that they are gone.
const std::set<std::string> kGivesBack = {"zeMemPutIpcHandle", "zeEventDestroy", "zeEventPoolDestroy",
                                          "zeCommandListDestroy", "zeFenceDestroy"};

void fail_each_time(Use use, const char *call) {
  expect_success(use);
  const uint64_t n_calls = EmulatedDriver::n_calls(call);
  EXPECT_GT(n_calls, 0U) << "the call is not made at all";
  for (uint64_t i = 1; i <= n_calls; ++i) {
    SCOPED_TRACE(std::string(call) + ", time " + std::to_string(i));
    EmulatedDriver::set_fault(std::string(call) + "/" + std::to_string(i));
    std::string problem;
    const Outcome outcome = use(&problem);
    EXPECT_EQ(problem, "");
    EXPECT_GE(EmulatedDriver::n_calls(call), i) << "it did not come to that";
    const std::string text = std::string(call) + ": 0x70000001 (ZE_RESULT_ERROR_DEVICE_LOST)";
    if (kGivesBack.contains(call)) {
      EXPECT_TRUE(outcome.is_success()) << outcome.text;
    } else {
      EXPECT_FALSE(outcome.is_success());
      EXPECT_NE(outcome.text.find(text), std::string::npos) << outcome.text;
    }
    expect_success(use);
  }
}

TEST_F(NativeCalls, OfMemory_Fail) {
  for (const char *call : {"zeMemGetAllocProperties", "zeMemGetAddressRange", "zeMemGetIpcHandle", "zeMemPutIpcHandle",
                           "zeMemOpenIpcHandle", "zeMemCloseIpcHandle"})
    fail_each_time(use_memory_and_lists, call);
}

TEST_F(NativeCalls, OfLists_Fail) {
  for (const char *call :
       {"zeDeviceGetCommandQueueGroupProperties", "zeCommandQueueCreate", "zeCommandQueueDestroy",
        "zeCommandQueueExecuteCommandLists", "zeCommandListCreate", "zeCommandListDestroy", "zeCommandListClose",
        "zeCommandListReset", "zeCommandListAppendBarrier", "zeCommandListAppendMemoryCopy", "zeFenceCreate",
        "zeFenceDestroy", "zeFenceHostSynchronize", "zeFenceQueryStatus", "zeFenceReset"})
    fail_each_time(use_memory_and_lists, call);
}

TEST_F(NativeCalls, OfEvents_Fail) {
  for (const char *call :
       {"zeEventPoolCreate", "zeEventPoolDestroy", "zeEventCreate", "zeEventDestroy", "zeEventHostSignal"})
    fail_each_time(use_events, call);
}

// What the errors of the specification become.
TEST_F(NativeCalls, Errors_HaveTheirMeaning) {
  const struct {
    const char *code;
    sluice_result_t result;
  } errors[] = {{"70000002", SLUICE_ERROR_OUT_OF_MEMORY},
                {"70000003", SLUICE_ERROR_OUT_OF_MEMORY},
                {"78000003", SLUICE_ERROR_UNSUPPORTED},
                {"7ffffffe", SLUICE_ERROR_NATIVE}};
  for (const auto &[code, result] : errors) {
    EmulatedDriver::set_fault(std::string("zeMemOpenIpcHandle/1/") + code);
    std::string problem;
    const Outcome outcome = use_memory_and_lists(&problem);
    EXPECT_EQ(outcome.result, result) << outcome.text;
    EXPECT_NE(outcome.text.find(code), std::string::npos) << outcome.text;
  }
}

// The driver refuses to destroy a pool whose events are there.
TEST_F(NativeCalls, EventPools_GoWithTheLastOfTheirEvents) {
  const int before = EmulatedDriver::n_event_pools();
  expect_success(use_events);
  EXPECT_EQ(EmulatedDriver::n_calls("zeEventPoolCreate"), 2U);
  EXPECT_EQ(EmulatedDriver::n_event_pools(), before);
}

// Nothing fails. What is made stands in the trace with what gives it back (native_trace.py).
TEST_F(NativeCalls, WholeUse_GivesBackAllThatItMakes) {
  expect_success(use_memory_and_lists);
  expect_success(use_events);
}

// Nothing above the driver asks for these; a program of Level Zero may.
TEST_F(NativeCalls, EventsOfOtherProcesses_AreTheSameEvents) {
  void *loader = dlopen(LOADER_PATH, RTLD_NOW);
  const auto make = find<decltype(&zeEventPoolCreate)>(loader, "zeEventPoolCreate");
  const auto make_event = find<decltype(&zeEventCreate)>(loader, "zeEventCreate");
  const auto destroy_event = find<decltype(&zeEventDestroy)>(loader, "zeEventDestroy");
  const auto open = find<decltype(&zeEventPoolOpenIpcHandle)>(loader, "zeEventPoolOpenIpcHandle");
  const auto signal = find<decltype(&zeEventHostSignal)>(loader, "zeEventHostSignal");
  const auto get_handle = find<decltype(&zeEventPoolGetIpcHandle)>(loader, "zeEventPoolGetIpcHandle");
  const ze_event_pool_desc_t of_one{ZE_STRUCTURE_TYPE_EVENT_POOL_DESC, nullptr, ZE_EVENT_POOL_FLAG_HOST_VISIBLE, 3};
  const ze_event_pool_desc_t of_several{ZE_STRUCTURE_TYPE_EVENT_POOL_DESC, nullptr,
                                        ZE_EVENT_POOL_FLAG_HOST_VISIBLE | ZE_EVENT_POOL_FLAG_IPC, 3};
  ze_device_handle_t device = native().device;
  ze_event_pool_handle_t pool = nullptr;
  ze_event_pool_handle_t opened = nullptr;
  ze_ipc_event_pool_handle_t handle = {};
  ASSERT_EQ(make(native().context, &of_one, 1, &device, &pool), 0);
  EXPECT_EQ(get_handle(pool, &handle), ZE_RESULT_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(open(native().context, handle, &opened), ZE_RESULT_ERROR_INVALID_ARGUMENT) << "bytes that are no handle";
  ASSERT_EQ(find<decltype(&zeEventPoolDestroy)>(loader, "zeEventPoolDestroy")(pool), 0);

  ASSERT_EQ(make(native().context, &of_several, 1, &device, &pool), 0);
  ASSERT_EQ(get_handle(pool, &handle), 0);
  for (uint32_t i = 0; i < of_several.count; ++i) {
    const ze_event_desc_t description{ZE_STRUCTURE_TYPE_EVENT_DESC, nullptr, i, 0, 0};
    ze_event_handle_t mine = nullptr;
    ze_event_handle_t theirs = nullptr;
    ASSERT_EQ(make_event(pool, &description, &mine), 0);
    if (i == 1) {
      ASSERT_EQ(signal(mine), 0);
    }
    ASSERT_EQ(open(native().context, handle, &opened), 0);
    ASSERT_EQ(make_event(opened, &description, &theirs), 0);
    EXPECT_EQ(native().query_event(theirs), i == 1 ? ZE_RESULT_SUCCESS : ZE_RESULT_NOT_READY) << i;
    ASSERT_EQ(signal(theirs), 0);
    EXPECT_EQ(native().query_event(mine), ZE_RESULT_SUCCESS) << i;
    EXPECT_EQ(destroy_event(theirs), 0);
    EXPECT_EQ(find<decltype(&zeEventPoolCloseIpcHandle)>(loader, "zeEventPoolCloseIpcHandle")(opened), 0);
    EXPECT_EQ(destroy_event(mine), 0);
  }
  EXPECT_EQ(find<decltype(&zeEventPoolDestroy)>(loader, "zeEventPoolDestroy")(pool), 0);
}

// What the module must never do is seen by the loader's validation layer, and counted (native_trace.py): its calls do
// not come to the driver.
TEST_F(NativeCalls, PlantedMisuse_IsFoundByTheLayer) {
  if (std::getenv("ZE_ENABLE_VALIDATION_LAYER") == nullptr)
    GTEST_SKIP() << "no validation layer: set ZE_ENABLE_VALIDATION_LAYER=1";
  const uint64_t before = EmulatedDriver::n_calls("zeMemCloseIpcHandle");
  EXPECT_EQ(native().free(native().context, nullptr), ZE_RESULT_ERROR_INVALID_NULL_POINTER);
  EXPECT_EQ(native().close(native().context, nullptr), ZE_RESULT_ERROR_INVALID_NULL_POINTER);
  EXPECT_EQ(native().query_event(nullptr), ZE_RESULT_ERROR_INVALID_NULL_HANDLE);
  EXPECT_EQ(EmulatedDriver::n_calls("zeMemCloseIpcHandle"), before);
}

}  // namespace
