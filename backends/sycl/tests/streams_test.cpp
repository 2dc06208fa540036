// SPDX-License-Identifier: BSD-3-Clause
// The program's streams, where they are peculiar to this runtime: which addresses are streams, what is refused, and
// that a queue that waits is let go with its words, with the module and with the process. The rest is the conformance
// suite's.
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <string>
#include <sycl/sycl.hpp>
#include <thread>
#include <vector>

#include "emulated_driver.h"
#include "sluice/backend.h"

namespace {

// Null: its default.
const char *const g_streams_of_user = std::getenv("SLUICE_SYCL_STREAMS");
const char *g_streams_knob = g_streams_of_user;

const char *knob(const char *name) {
  return std::strcmp(name, "SLUICE_SYCL_STREAMS") == 0 ? g_streams_knob : nullptr;
}

constexpr sluice_host_services_t kServices = {sizeof kServices, [](int, const char *) {}, knob};

const sluice_backend_t &table() {
  static const sluice_backend_t *loaded = [] {
    void *library = dlopen(SLUICE_MODULE_PATH, RTLD_NOW | RTLD_LOCAL);
    EXPECT_NE(library, nullptr) << dlerror();
    const auto entry = reinterpret_cast<sluice_backend_table_fn>(dlsym(library, SLUICE_BACKEND_TABLE_SYMBOL));
    EXPECT_EQ(entry()->init(&kServices), SLUICE_SUCCESS) << entry()->last_error();
    return entry();
  }();
  return *loaded;
}

// As a user that comes with this in its environment, and goes.
void set_streams_knob(const char *word) {
  g_streams_knob = word;
  ASSERT_EQ(table().init(&kServices), SLUICE_SUCCESS) << table().last_error();
  table().fini();
}

sycl::queue in_order_queue() {
  return sycl::queue(sycl::property::queue::in_order());
}

std::string refusal_of(sycl::queue *queue, sluice_result_t wanted) {
  sluice_stream_t *stream = nullptr;
  int32_t device = -1;
  EXPECT_EQ(table().stream_open(queue, &stream, &device), wanted);
  EXPECT_EQ(stream, nullptr);
  return table().last_error();
}

// A registered queue that was opened, and eight words that are 0.
class Opened {
 public:
  explicit Opened(sycl::queue *queue) {
    EXPECT_EQ(table().register_context(queue), SLUICE_SUCCESS) << table().last_error();
    EXPECT_EQ(table().stream_open(queue, &stream_, &device_), SLUICE_SUCCESS) << table().last_error();
    void *memory = nullptr;
    EXPECT_EQ(table().host_alloc(device_, 8 * sizeof(uint64_t), 0, &memory), SLUICE_SUCCESS);
    words_ = static_cast<uint64_t *>(memory);
    std::fill_n(words_, 8, 0);
  }
  ~Opened() {
    free_words();
    EXPECT_EQ(table().stream_close(stream_), SLUICE_SUCCESS);
  }
  Opened(const Opened &) = delete;
  Opened &operator=(const Opened &) = delete;

  void free_words() { EXPECT_EQ(table().host_free(device_, std::exchange(words_, nullptr)), SLUICE_SUCCESS); }
  sluice_result_t write(uint64_t value) { return table().stream_write(stream_, words_, value); }
  sluice_result_t wait(uint64_t least) { return table().stream_wait(stream_, words_ + 1, least); }
  sluice_stream_t *get() const { return stream_; }
  int32_t device() const { return device_; }
  uint64_t written() const { return __atomic_load_n(words_, __ATOMIC_ACQUIRE); }
  void release(uint64_t value) { __atomic_store_n(words_ + 1, value, __ATOMIC_RELEASE); }
  void await_written(uint64_t value) const {
    while (written() != value) std::this_thread::yield();
  }

 private:
  sluice_stream_t *stream_ = nullptr;
  int32_t device_ = -1;
  uint64_t *words_ = nullptr;
};

}  // namespace

#define SKIP_WITHOUT_STREAMS()                                                              \
  if (table().device_count() <= 0) GTEST_SKIP() << "missing: a device of the runtime";      \
  if (in_order_queue().get_backend() != sycl::backend::opencl && g_streams_knob == nullptr) \
  GTEST_SKIP() << "missing: a device whose streams are taken without SLUICE_SYCL_STREAMS"

// The driver's own waits are let go by nobody, and host tasks do not come before them (docs/adr/0040).
#define SKIP_WITHOUT_EVENTS()                                                     \
  SKIP_WITHOUT_STREAMS();                                                         \
  if (std::string("driver") == (g_streams_knob != nullptr ? g_streams_knob : "")) \
  GTEST_SKIP() << "missing: waits by events; SLUICE_SYCL_STREAMS=driver"

// What Level Zero refuses while a wait is made: nothing is enqueued, the native text comes out, and the next wait
// works.
TEST(ProgramQueues, AWaitThatTheDriverRefuses_SaysWhy) {
  using sluice::tests::EmulatedDriver;
  SKIP_WITHOUT_EVENTS();
  if (in_order_queue().get_backend() == sycl::backend::opencl) GTEST_SKIP() << "missing: the emulated driver";
  sycl::queue queue = in_order_queue();
  Opened opened(&queue);
  for (const std::string call : {"zeEventPoolCreate", "zeEventCreate"}) {
    EmulatedDriver::set_fault(call + "/1");
    EXPECT_EQ(opened.wait(1), SLUICE_ERROR_NATIVE);
    EXPECT_EQ(std::string(table().last_error()).rfind(call + ": 0x70000001", 0), 0U) << table().last_error();
    EmulatedDriver::set_fault();
  }
  EXPECT_EQ(opened.wait(1), SLUICE_SUCCESS) << table().last_error();
  EXPECT_EQ(opened.write(1), SLUICE_SUCCESS) << table().last_error();
  EXPECT_EQ(opened.written(), 0U);
  opened.release(1);
  opened.await_written(1);
}

TEST(ProgramQueues, OnlyThoseThatWereRegistered_AreStreams) {
  SKIP_WITHOUT_STREAMS();
  sycl::queue queue = in_order_queue();
  EXPECT_EQ(table().stream_query(&queue), -1);
  EXPECT_NE(refusal_of(&queue, SLUICE_ERROR_INVALID_ARGUMENT).find("sluice_register_context"), std::string::npos);
  ASSERT_EQ(table().register_context(&queue), SLUICE_SUCCESS) << table().last_error();
  EXPECT_EQ(table().stream_query(&queue), 1);
  // The same queue, at an address that was not named.
  const sycl::queue copy = queue;
  EXPECT_EQ(table().stream_query(&copy), -1);
  EXPECT_EQ(table().stream_query(nullptr), -1);
  EXPECT_EQ(table().stream_query(reinterpret_cast<const void *>(uintptr_t{16})), -1) << "no memory there";
}

// An address at which something else is now than what was registered.
TEST(ProgramQueues, ThoseThatAreNoMore_AreNoStreams) {
  SKIP_WITHOUT_STREAMS();
  alignas(sycl::queue) std::byte place[sizeof(sycl::queue)];
  auto *queue = new (place) sycl::queue(in_order_queue());
  ASSERT_EQ(table().register_context(queue), SLUICE_SUCCESS) << table().last_error();
  EXPECT_EQ(table().stream_query(place), 1);
  queue->~queue();
  queue = new (place) sycl::queue(in_order_queue());
  EXPECT_EQ(table().stream_query(place), -1) << "another queue at the same address";
  ASSERT_EQ(table().register_context(queue), SLUICE_SUCCESS) << table().last_error();
  EXPECT_EQ(table().stream_query(place), 1);
  queue->~queue();
  std::memset(place, 0x5A, sizeof place);
  EXPECT_EQ(table().stream_query(place), -1);
}

TEST(ProgramQueues, WhatCannotBe_IsRefused) {
  SKIP_WITHOUT_STREAMS();
  sycl::queue unordered;
  ASSERT_EQ(table().register_context(&unordered), SLUICE_SUCCESS) << table().last_error();
  EXPECT_NE(refusal_of(&unordered, SLUICE_ERROR_UNSUPPORTED).find("in_order"), std::string::npos);
  sycl::queue queue = in_order_queue();
  ASSERT_EQ(table().register_context(&queue), SLUICE_SUCCESS) << table().last_error();
  set_streams_knob("off");
  EXPECT_NE(refusal_of(&queue, SLUICE_ERROR_UNSUPPORTED).find("SLUICE_SYCL_STREAMS=off"), std::string::npos);
  set_streams_knob("driver");
  if (queue.get_backend() == sycl::backend::opencl) {
    EXPECT_NE(refusal_of(&queue, SLUICE_ERROR_UNSUPPORTED).find("driver"), std::string::npos);
  }
  set_streams_knob(g_streams_of_user);
}

TEST(ProgramQueues, OneThatIsRecorded_IsRefused_UntilTheEnd) {
  SKIP_WITHOUT_STREAMS();
  namespace experimental = sycl::ext::oneapi::experimental;
  sycl::queue queue = in_order_queue();
  if (!queue.get_device().has(sycl::aspect::ext_oneapi_limited_graph))
    GTEST_SKIP() << "missing: a device that has graphs (aspect ext_oneapi_limited_graph)";
  Opened opened(&queue);
  experimental::command_graph graph(queue);
  graph.begin_recording(queue);
  EXPECT_EQ(opened.write(1), SLUICE_ERROR_UNSUPPORTED);
  EXPECT_EQ(opened.wait(1), SLUICE_ERROR_UNSUPPORTED);
  EXPECT_NE(std::string(table().last_error()).find("recorded"), std::string::npos);
  graph.end_recording(queue);
  EXPECT_EQ(opened.write(2), SLUICE_SUCCESS) << table().last_error();
  queue.wait();
  EXPECT_EQ(opened.written(), 2U);
}

// What the runtime itself runs on the host has its place between the commands on words.
TEST(ProgramQueues, HostTasks_ComeInTheirPlace) {
  SKIP_WITHOUT_EVENTS();
  sycl::queue queue = in_order_queue();
  Opened opened(&queue);
  std::atomic<int> n_tasks{0};
  for (uint64_t turn = 1; turn <= 20; ++turn) {
    ASSERT_EQ(opened.wait(turn), SLUICE_SUCCESS) << table().last_error();
    queue.submit([&](sycl::handler &handler) { handler.host_task([&n_tasks] { ++n_tasks; }); });
    ASSERT_EQ(opened.write(turn), SLUICE_SUCCESS) << table().last_error();
    for (int look = 0; look < 20; ++look) {
      ASSERT_EQ(n_tasks, static_cast<int>(turn - 1)) << "the host task did not wait";
      std::this_thread::yield();
    }
    opened.release(turn);
    opened.await_written(turn);
    ASSERT_EQ(n_tasks, static_cast<int>(turn)) << "the write did not come behind the host task";
  }
  queue.wait();
}

// Nobody sees half of one value and half of another.
TEST(ProgramQueues, Writes_ComeWhole) {
  SKIP_WITHOUT_STREAMS();
  sycl::queue queue = in_order_queue();
  Opened opened(&queue);
  constexpr uint64_t kOnes = ~uint64_t{0};
  std::atomic<bool> is_over{false};
  uint64_t n_halves = 0;
  std::thread reader([&] {
    while (!is_over) {
      const uint64_t seen = opened.written();
      n_halves += seen != 0 && seen != kOnes ? 1 : 0;
    }
  });
  for (int i = 0; i < 4000; ++i) {
    EXPECT_EQ(opened.write(i % 2 == 0 ? kOnes : 0), SLUICE_SUCCESS);
    if (i % 100 == 0) queue.wait();
  }
  queue.wait();
  is_over = true;
  reader.join();
  EXPECT_EQ(n_halves, 0U);
}

TEST(ProgramQueues, OneThatWaits_IsLetGo_WhenItsWordsAreGivenBack) {
  SKIP_WITHOUT_EVENTS();
  sycl::queue queue = in_order_queue();
  Opened opened(&queue);
  ASSERT_EQ(opened.wait(1), SLUICE_SUCCESS) << table().last_error();
  opened.free_words();
  queue.wait();
}

// Some runtimes would wait for the stream (docs/adr/0032).
TEST(ProgramQueues, MemoryThatIsGivenBackWhileOneWaits_IsFreedLater) {
  SKIP_WITHOUT_EVENTS();
  sycl::queue queue = in_order_queue();
  Opened opened(&queue);
  const auto is_there = [](const void *memory) {
    sluice_pointer_info_t info = {};
    EXPECT_EQ(table().query_pointer(memory, &info), SLUICE_SUCCESS) << table().last_error();
    return info.kind != SLUICE_MEMORY_HOST;
  };
  void *pinned = nullptr;
  void *scratch = nullptr;
  ASSERT_EQ(table().host_alloc(opened.device(), 64, 0, &pinned), SLUICE_SUCCESS) << table().last_error();
  // So long that no later allocation comes to begin where this one began.
  ASSERT_EQ(table().device_alloc(opened.device(), 8 << 20, &scratch), SLUICE_SUCCESS) << table().last_error();
  ASSERT_EQ(opened.wait(1), SLUICE_SUCCESS) << table().last_error();
  EXPECT_EQ(table().host_free(opened.device(), pinned), SLUICE_SUCCESS) << table().last_error();
  EXPECT_EQ(table().device_free(opened.device(), scratch), SLUICE_SUCCESS) << table().last_error();
  EXPECT_TRUE(is_there(pinned));
  EXPECT_TRUE(is_there(scratch));
  opened.release(1);
  queue.wait();
  const Opened next(&queue);  // takes nothing of that size before it frees
  EXPECT_FALSE(is_there(scratch));
  ASSERT_EQ(table().host_alloc(opened.device(), 64, 0, &pinned), SLUICE_SUCCESS) << table().last_error();
  EXPECT_EQ(table().host_free(opened.device(), pinned), SLUICE_SUCCESS) << table().last_error();
  EXPECT_FALSE(is_there(pinned));
}

namespace {

constexpr size_t kPageBytes = 4096;

// Three pages that processes might share; null: there is no memory.
uint64_t *map_pages() {
  void *made = mmap(nullptr, 3 * kPageBytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  return made != MAP_FAILED ? static_cast<uint64_t *>(made) : nullptr;
}

}  // namespace

#define SKIP_WITHOUT_CPU_DEVICE()                                                                         \
  SKIP_WITHOUT_EVENTS();                                                                                  \
  if (in_order_queue().get_backend() != sycl::backend::opencl || !in_order_queue().get_device().is_cpu()) \
  GTEST_SKIP() << "missing: OpenCL's CPU device"

// By then the pages may be unmapped: nobody looks at them any more.
TEST(ProgramQueues, OneThatWaits_IsLetGo_WhenItsWordsAreUnregistered) {
  SKIP_WITHOUT_CPU_DEVICE();
  sycl::queue queue = in_order_queue();
  const Opened opened(&queue);
  uint64_t *pages = map_pages();
  ASSERT_NE(pages, nullptr);
  ASSERT_EQ(table().host_register(opened.device(), pages, kPageBytes), SLUICE_SUCCESS) << table().last_error();
  ASSERT_EQ(table().stream_wait(opened.get(), pages + 9, 1), SLUICE_SUCCESS) << table().last_error();
  EXPECT_EQ(table().host_unregister(opened.device(), pages), SLUICE_SUCCESS) << table().last_error();
  ASSERT_EQ(munmap(pages, 3 * kPageBytes), 0);
  queue.wait();
}

// A range begins and ends where it was said to, and is there once.
TEST(ProgramQueues, RegisteredMemory_HasItsEnds) {
  SKIP_WITHOUT_CPU_DEVICE();
  sycl::queue queue = in_order_queue();
  const Opened opened(&queue);
  uint64_t *pages = map_pages();
  ASSERT_NE(pages, nullptr);
  const auto page = [&](size_t number) { return pages + number * kPageBytes / sizeof(uint64_t); };
  ASSERT_EQ(table().host_register(opened.device(), page(1), kPageBytes), SLUICE_SUCCESS) << table().last_error();
  EXPECT_EQ(table().stream_write(opened.get(), page(1) - 1, 5), SLUICE_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(table().stream_write(opened.get(), page(2), 5), SLUICE_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(table().stream_write(opened.get(), page(2) - 1, 5), SLUICE_SUCCESS) << table().last_error();
  EXPECT_EQ(table().stream_copy(opened.get(), page(1), page(2) - 2, 17), SLUICE_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(table().stream_copy(opened.get(), page(1), page(2) - 2, 16), SLUICE_SUCCESS) << table().last_error();
  // What the queue would come to there would end the program.
  const sluice_units_t beyond = {page(2), kPageBytes, kPageBytes};
  EXPECT_EQ(table().stream_take(opened.get(), page(1) + 8, &beyond, 16, page(1)), SLUICE_ERROR_INVALID_ARGUMENT);
  EXPECT_NE(std::string(table().last_error()).find("host_register"), std::string::npos);
  queue.wait();
  EXPECT_EQ(page(1)[1], 5U);
  EXPECT_EQ(table().host_register(opened.device(), page(0), 2 * kPageBytes), SLUICE_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(table().host_register(opened.device(), page(1), kPageBytes), SLUICE_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(table().host_register(opened.device(), nullptr, kPageBytes), SLUICE_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(table().host_register(opened.device(), page(0), kPageBytes), SLUICE_SUCCESS) << table().last_error();
  EXPECT_EQ(table().host_register(opened.device(), page(2), kPageBytes), SLUICE_SUCCESS) << table().last_error();
  EXPECT_EQ(table().host_unregister(opened.device(), page(1) + 1), SLUICE_ERROR_INVALID_ARGUMENT);
  for (size_t number = 0; number < 3; ++number) {
    EXPECT_EQ(table().host_unregister(opened.device(), page(number)), SLUICE_SUCCESS) << table().last_error();
  }
  EXPECT_EQ(table().stream_write(opened.get(), page(1), 5), SLUICE_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(munmap(pages, 3 * kPageBytes), 0);
}

// The kernel is another one for each context.
TEST(ProgramQueues, OneOfAContextOfItsOwn_TakesMessages) {
  SKIP_WITHOUT_CPU_DEVICE();
  const sycl::device device = in_order_queue().get_device();
  sycl::queue queue(sycl::context(device), device, sycl::property::queue::in_order());
  const Opened opened(&queue);
  uint64_t *pages = map_pages();
  ASSERT_NE(pages, nullptr);
  ASSERT_EQ(table().host_register(opened.device(), pages, 3 * kPageBytes), SLUICE_SUCCESS) << table().last_error();
  auto *slots = reinterpret_cast<unsigned char *>(pages) + kPageBytes;
  auto *taken = sycl::malloc_device<unsigned char>(kPageBytes, queue);
  std::vector<unsigned char> seen(kPageBytes, 0);
  for (size_t i = 0; i < 2 * kPageBytes; ++i) slots[i] = static_cast<unsigned char>(i % 251);
  const sluice_units_t units = {slots, 2 * kPageBytes, 100};
  constexpr uint64_t kLength = 1501;
  constexpr uint64_t kUnit = 7;
  queue.memset(taken, 0xA5, kPageBytes);
  ASSERT_EQ(table().stream_wait(opened.get(), pages, uint64_t{1} << 32U), SLUICE_SUCCESS) << table().last_error();
  ASSERT_EQ(table().stream_take(opened.get(), taken, &units, kPageBytes, pages), SLUICE_SUCCESS)
      << table().last_error();
  __atomic_store_n(pages, uint64_t{1} << 32U | kUnit << SLUICE_LENGTH_BITS | kLength, __ATOMIC_RELEASE);
  queue.memcpy(seen.data(), taken, kPageBytes).wait();
  for (size_t i = 0; i < kPageBytes; ++i) {
    ASSERT_EQ(seen[i], i < kLength ? static_cast<unsigned char>((i + kUnit * 100) % 251) : 0xA5) << "byte " << i;
  }
  EXPECT_EQ(table().host_unregister(opened.device(), pages), SLUICE_SUCCESS) << table().last_error();
  sycl::free(taken, queue);
  EXPECT_EQ(munmap(pages, 3 * kPageBytes), 0);
}

TEST(ProgramQueues, OneThatWaits_IsLetGo_WhenTheModuleEnds) {
  SKIP_WITHOUT_EVENTS();
  sycl::queue queue = in_order_queue();
  Opened opened(&queue);
  ASSERT_EQ(opened.wait(1), SLUICE_SUCCESS) << table().last_error();
  table().fini();
  queue.wait();
  // And another user of it finds everything as usual.
  ASSERT_EQ(table().init(&kServices), SLUICE_SUCCESS) << table().last_error();
  ASSERT_EQ(opened.wait(2), SLUICE_SUCCESS) << table().last_error();
  ASSERT_EQ(opened.write(1), SLUICE_SUCCESS) << table().last_error();
  EXPECT_EQ(opened.written(), 0U);
  opened.release(2);
  queue.wait();
  EXPECT_EQ(opened.written(), 1U);
}

// The last test: the process ends while a queue waits for what never comes.
TEST(ProgramQueues, OneThatWaits_HoldsUpNoEndOfTheProcess) {
  SKIP_WITHOUT_EVENTS();
  static auto *queue = new sycl::queue(in_order_queue());
  static auto *opened = new Opened(queue);
  ASSERT_EQ(opened->wait(1), SLUICE_SUCCESS) << table().last_error();
  ASSERT_EQ(opened->write(1), SLUICE_SUCCESS) << table().last_error();
}
