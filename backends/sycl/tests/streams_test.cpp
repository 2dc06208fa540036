// SPDX-License-Identifier: BSD-3-Clause
// The program's streams, where they are peculiar to this runtime: which addresses are streams, what is refused, and
// that a queue that waits is let go with its words, with the module and with the process. The rest is the conformance
// suite's.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <string>
#include <sycl/sycl.hpp>
#include <thread>

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
  g_streams_knob = "off";
  EXPECT_NE(refusal_of(&queue, SLUICE_ERROR_UNSUPPORTED).find("SLUICE_SYCL_STREAMS=off"), std::string::npos);
  g_streams_knob = "driver";
  if (queue.get_backend() == sycl::backend::opencl) {
    EXPECT_NE(refusal_of(&queue, SLUICE_ERROR_UNSUPPORTED).find("driver"), std::string::npos);
  }
  g_streams_knob = g_streams_of_user;
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
