// SPDX-License-Identifier: BSD-3-Clause
// Messages of a program's graph (sluice/stream_message.h) as the module adds them, on the loop-back driver: in how many
// nodes, between which commands of the program's, and that a refusal leaves nothing behind. That each launch carries
// the right data is for tests/ranks/queue/captured.cpp.
#include <cuda.h>
#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <string>
#include <vector>

#include "loopback.h"
#include "messages_module.h"
#include "sluice/backend.h"
#include "sluice/stream_message.h"

namespace {

using loopback::state;

constexpr size_t kBytes = 1000;
constexpr size_t kLong = 300007;  // many blocks share it

class Capture : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    static const sluice_host_services_t services = {sizeof services,
                                                    [](int, const char *text) {
                                                      if (std::strstr(text, "without MPIX_Enqueue_wait") != nullptr)
                                                        ++n_warnings;
                                                    },
                                                    [](const char *) -> const char * { return nullptr; }};
    load_messages_module(services, &table, &messages);
  }

  void SetUp() override {
    if (messages == nullptr) GTEST_SKIP() << "missing: kernels (tools/setup installs their compiler)";
    ASSERT_NO_FATAL_FAILURE(make_words(*table, &words_));
    ends_ = static_cast<sluice_captured_end_t *>(allocate(kMost * sizeof(sluice_captured_end_t)));
    std::memset(ends_, 0, kMost * sizeof(sluice_captured_end_t));
    slots_ = static_cast<unsigned char *>(allocate(2 * kLong));
    data_ = static_cast<unsigned char *>(allocate(kLong));
    to_ = static_cast<unsigned char *>(allocate(kLong));
    ASSERT_EQ(table->program_stream_create(&native_), SLUICE_SUCCESS) << table->last_error();
    int32_t device = -1;
    ASSERT_EQ(table->stream_open(native_, &stream_, &device), SLUICE_SUCCESS) << table->last_error();
  }
  void TearDown() override {
    state().n_nodes = -1;
    if (messages == nullptr) return;
    EXPECT_EQ(table->program_stream_synchronize(native_), SLUICE_SUCCESS);
    EXPECT_EQ(table->stream_close(stream_), SLUICE_SUCCESS);
    EXPECT_EQ(table->program_stream_destroy(native_), SLUICE_SUCCESS);
    for (void *memory : memory_) EXPECT_EQ(table->program_free(memory), SLUICE_SUCCESS);
    EXPECT_EQ(table->host_free(0, words_), SLUICE_SUCCESS);
  }

  void *allocate(size_t size_bytes) {
    void *memory = nullptr;
    EXPECT_EQ(table->program_alloc(SLUICE_MEMORY_DEVICE, size_bytes, &memory), SLUICE_SUCCESS);
    memory_.push_back(memory);
    return memory;
  }
  CUstream native() const { return static_cast<CUstream>(native_); }
  void begin() const { ASSERT_EQ(cuStreamBeginCapture(native(), CU_STREAM_CAPTURE_MODE_GLOBAL), CUDA_SUCCESS); }
  // Launches what was captured, n_launches times, and says how many nodes it has.
  int end_and_launch(int n_launches) const {
    CUgraph graph = nullptr;
    CUgraphExec executable = nullptr;
    EXPECT_EQ(cuStreamEndCapture(native(), &graph), CUDA_SUCCESS);
    EXPECT_EQ(cuGraphInstantiate(&executable, graph, 0), CUDA_SUCCESS);
    EXPECT_EQ(cuGraphDestroy(graph), CUDA_SUCCESS);
    const int before = state().n_kernels;
    for (int k = 0; k < n_launches; ++k) EXPECT_EQ(cuGraphLaunch(executable, native()), CUDA_SUCCESS);
    const int n_nodes = state().n_kernels - before;
    EXPECT_EQ(table->program_stream_synchronize(native_), SLUICE_SUCCESS);
    EXPECT_EQ(cuGraphExecDestroy(executable), CUDA_SUCCESS);
    return n_nodes / n_launches;
  }
  // The two ends of a message from data_ to to_, which both lie here.
  std::vector<sluice_captured_t> message(size_t size_bytes) const {
    ends_[0] = ends_[1] = {slots_, kLong - kLong % 16, size_bytes, words_, words_ + 1, 1, 0, 0, 0};
    return {{ends_, data_, size_bytes, 1}, {ends_ + 1, to_, size_bytes, 0}};
  }
  // As many sends, or receives, of nothing, which need not wait.
  std::vector<sluice_captured_t> nothings(size_t n, bool are_sends) const {
    std::vector<sluice_captured_t> made;
    for (size_t k = 0; k < n; ++k) {
      ends_[k] = {slots_, 16, 0, words_ + 2 * k, words_ + 2 * k + 1, 1, 0, 0, 0};
      words_[2 * k] = are_sends ? 0 : 99;  // receives find their message
      words_[2 * k + 1] = 0;
      made.push_back({ends_ + k, data_, 0, are_sends ? 1 : 0});
    }
    return made;
  }
  void add(const std::vector<sluice_captured_t> &added) const {
    ASSERT_EQ(messages->capture(stream_, added.data(), static_cast<uint32_t>(added.size())), SLUICE_SUCCESS)
        << table->last_error();
  }
  void expect_refused(sluice_result_t result, const char *text) const {
    EXPECT_EQ(result, SLUICE_ERROR_UNSUPPORTED);
    EXPECT_NE(std::strstr(table->last_error(), text), nullptr) << table->last_error();
  }

  static constexpr size_t kMost = 100;
  static inline int n_warnings = 0;
  static inline const sluice_backend_t *table = nullptr;
  static inline const sluice_stream_message_t *messages = nullptr;
  uint64_t *words_ = nullptr;
  sluice_captured_end_t *ends_ = nullptr;
  unsigned char *slots_ = nullptr;
  unsigned char *data_ = nullptr;
  unsigned char *to_ = nullptr;
  std::vector<void *> memory_;
  void *native_ = nullptr;
  sluice_stream_t *stream_ = nullptr;
};

}  // namespace

TEST_F(Capture, IsForAStreamThatIsCaptured) {
  EXPECT_EQ(messages->is_captured(stream_), 0);
  const auto one = nothings(1, true);
  expect_refused(messages->capture(stream_, one.data(), 1), "not being captured");
  expect_refused(messages->capture_join(stream_), "not being captured");
  begin();
  EXPECT_EQ(messages->is_captured(stream_), 1);
  expect_refused(messages->capture_join(stream_), "no message was captured");
  add(one);
  EXPECT_EQ(messages->capture_join(stream_), SLUICE_SUCCESS) << table->last_error();
  EXPECT_EQ(end_and_launch(1), 1);
  EXPECT_EQ(messages->is_captured(stream_), 0);
  begin();  // another graph
  expect_refused(messages->capture_join(stream_), "no message was captured");
  add({});
  EXPECT_EQ(messages->capture_join(stream_), SLUICE_SUCCESS) << "a batch of nothing can be waited for";
  ASSERT_EQ(cuMemcpyAsync(reinterpret_cast<CUdeviceptr>(to_), reinterpret_cast<CUdeviceptr>(data_), 1, native()),
            CUDA_SUCCESS);
  EXPECT_EQ(end_and_launch(1), 1);  // the copy
}

// 32 messages in a node, sends and receives apart.
TEST_F(Capture, TakesAsFewNodesAsMayBe) {
  for (const auto &[n, n_nodes] : {std::pair<size_t, int>{1, 1}, {32, 1}, {33, 2}, {100, 4}}) {
    for (const bool are_sends : {true, false}) {
      begin();
      add(nothings(n, are_sends));
      ASSERT_EQ(messages->capture_join(stream_), SLUICE_SUCCESS);
      EXPECT_EQ(end_and_launch(1), n_nodes) << n;
    }
  }
  begin();
  add(message(kBytes));
  EXPECT_EQ(end_and_launch(1), 1);  // nobody joins: that is no error of the graph's, which receives nothing
  EXPECT_EQ(n_warnings, 0);
  begin();
  add({});
  EXPECT_EQ(n_warnings, 1);
  EXPECT_EQ(messages->capture_join(stream_), SLUICE_SUCCESS) << "the receive was another graph's";
  ASSERT_EQ(cuMemcpyAsync(reinterpret_cast<CUdeviceptr>(to_), reinterpret_cast<CUdeviceptr>(data_), 1, native()),
            CUDA_SUCCESS);
  EXPECT_EQ(end_and_launch(1), 1);
}

TEST_F(Capture, ARefusalLeavesNothingInTheGraph) {
  begin();
  const auto many = nothings(100, true);
  state().n_nodes = 3;  // of the four that these take
  EXPECT_EQ(messages->capture(stream_, many.data(), 100), SLUICE_ERROR_OUT_OF_MEMORY) << table->last_error();
  state().n_nodes = -1;
  expect_refused(messages->capture_join(stream_), "no message was captured");
  add(nothings(2, true));
  EXPECT_EQ(messages->capture_join(stream_), SLUICE_SUCCESS);
  EXPECT_EQ(end_and_launch(1), 1);
}

// Whatever has no order runs the wrong way round on this driver.
TEST_F(Capture, ComesBehindWhatIsBefore_AndBeforeWhatIsBehind) {
  const auto address = [](void *memory) { return reinterpret_cast<CUdeviceptr>(memory); };
  auto *source = static_cast<unsigned char *>(allocate(kLong));
  auto *other = static_cast<unsigned char *>(allocate(kLong));
  auto *kept = static_cast<unsigned char *>(allocate(kLong));
  for (const bool has_work_between : {false, true}) {
    for (const size_t size_bytes : {size_t{1}, kBytes, kLong - 7}) {
      for (size_t i = 0; i < size_bytes; ++i) source[i] = static_cast<unsigned char>(i * 7 + i / 251 + size_bytes);
      for (unsigned char *memory : {data_, to_, kept, slots_}) std::memset(memory, 0xEE, kLong);
      words_[0] = words_[1] = 0;
      const auto both = message(size_bytes);
      begin();
      ASSERT_EQ(cuMemcpyAsync(address(data_), address(source), size_bytes, native()), CUDA_SUCCESS);
      add(both);
      if (has_work_between) {
        ASSERT_EQ(cuMemcpyAsync(address(other), address(source), 1, native()), CUDA_SUCCESS);
      }
      ASSERT_EQ(messages->capture_join(stream_), SLUICE_SUCCESS) << table->last_error();
      ASSERT_EQ(cuMemcpyAsync(address(kept), address(to_), size_bytes, native()), CUDA_SUCCESS);
      ASSERT_EQ(cuMemcpyAsync(address(data_), address(slots_ + kLong), size_bytes, native()), CUDA_SUCCESS);
      EXPECT_EQ(end_and_launch(3), has_work_between ? 6 : 5);  // three or four copies among them
      EXPECT_EQ(std::memcmp(kept, source, size_bytes), 0) << size_bytes;
      EXPECT_EQ(kept[size_bytes], 0xEE);
      EXPECT_EQ(to_[size_bytes], 0xEE);
      EXPECT_EQ(words_[0], 3U);
      EXPECT_EQ(words_[1], 3U);
      EXPECT_EQ(ends_[0].n_launches, 3U);
      EXPECT_EQ(ends_[1].n_launches, 3U);
    }
  }
}

TEST_F(Capture, CopiesComeInTheirOrder_AndBeforeWhatIsBehind) {
  auto *kept = static_cast<unsigned char *>(allocate(kLong));
  std::memset(data_, 0x11, kLong);
  for (unsigned char *memory : {to_, kept}) std::memset(memory, 0xEE, kLong);
  const std::array<sluice_copy_t, 2> copies{{{to_, data_, kBytes}, {kept, to_, kBytes}}};
  expect_refused(messages->capture_copies(stream_, copies.data(), 2), "not being captured");
  begin();
  ASSERT_EQ(messages->capture_copies(stream_, copies.data(), 2), SLUICE_SUCCESS) << table->last_error();
  ASSERT_EQ(cuMemcpyAsync(reinterpret_cast<CUdeviceptr>(slots_), reinterpret_cast<CUdeviceptr>(kept), kBytes, native()),
            CUDA_SUCCESS);
  EXPECT_EQ(kept[0], 0xEE) << "copied while it was captured";
  static_cast<void>(end_and_launch(1));
  EXPECT_EQ(std::memcmp(slots_, data_, kBytes), 0);
  EXPECT_EQ(kept[kBytes], 0xEE);
}
