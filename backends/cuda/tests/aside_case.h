// SPDX-License-Identifier: BSD-3-Clause
// AsideCase: a stream with sides (sluice/stream_message.h) on the loop-back driver, which can hold them back, and
// forget what they wait for or what waits for them: so that each test is seen to notice.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <thread>

#include "loopback.h"
#include "messages_module.h"
#include "sluice/backend.h"
#include "sluice/stream_message.h"

using loopback::Forgotten;
using loopback::state;

constexpr size_t kBytes = 5003;
constexpr size_t kLong = 300007;  // many blocks share it
constexpr uint64_t kMark = uint64_t{1} << 32U;

class AsideCase : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    static const sluice_host_services_t services = {sizeof services, [](int, const char *) {},
                                                    [](const char *) -> const char * { return nullptr; }};
    load_messages_module(services, &table, &messages);
  }

  void SetUp() override {
    if (messages == nullptr) GTEST_SKIP() << "missing: kernels (tools/setup installs their compiler)";
    ASSERT_NO_FATAL_FAILURE(make_words(*table, &words_));
    void *memory = nullptr;
    for (unsigned char **made : {&from_, &slot_, &other_from_, &other_slot_, &to_}) {
      ASSERT_EQ(table->program_alloc(SLUICE_MEMORY_DEVICE, kLong, &memory), SLUICE_SUCCESS);
      *made = static_cast<unsigned char *>(memory);
      std::memset(memory, 0xEE, kLong);
    }
    ASSERT_EQ(table->program_stream_create(&native_), SLUICE_SUCCESS) << table->last_error();
    open(&stream_);
    ASSERT_EQ(messages->can_send_aside(stream_), 1) << table->last_error();
    ASSERT_EQ(state().n_priority_streams, 1);
  }
  void TearDown() override {
    state().holds_priority = false;
    state().forgotten = Forgotten::kNone;
    if (messages == nullptr) return;
    synchronize();
    EXPECT_EQ(table->stream_close(stream_), SLUICE_SUCCESS);
    EXPECT_EQ(table->program_stream_destroy(native_), SLUICE_SUCCESS);
    while (state().n_priority_streams != 0) std::this_thread::yield();  // all sides go
    EXPECT_EQ(state().n_executables, 0) << "graphs were left";
    for (unsigned char *made : {from_, slot_, other_from_, other_slot_, to_}) {
      EXPECT_EQ(table->program_free(made), SLUICE_SUCCESS);
    }
    EXPECT_EQ(table->host_free(0, words_), SLUICE_SUCCESS);
  }

  void open(sluice_stream_t **stream) const {
    int32_t device = -1;
    ASSERT_EQ(table->stream_open(native_, stream, &device), SLUICE_SUCCESS) << table->last_error();
  }
  void send_aside(const sluice_stream_send_t &send) const {
    sluice_stream_enqueued_t enqueued = {};
    ASSERT_EQ(messages->send_aside(stream_, &send, 1, &enqueued), SLUICE_SUCCESS) << table->last_error();
    EXPECT_EQ(enqueued.n_messages, 1U);
    EXPECT_EQ(enqueued.n_commands, 3U);
  }
  void join() const { ASSERT_EQ(messages->join(stream_), SLUICE_SUCCESS) << table->last_error(); }
  void write(uint64_t *word) const { ASSERT_EQ(table->stream_write(stream_, word, 1), SLUICE_SUCCESS); }
  void synchronize() const { EXPECT_EQ(table->program_stream_synchronize(native_), SLUICE_SUCCESS); }
  static uint64_t get(const uint64_t *word) { return __atomic_load_n(word, __ATOMIC_ACQUIRE); }
  static void set(uint64_t *word, uint64_t value) { __atomic_store_n(word, value, __ATOMIC_RELEASE); }
  static void await(const uint64_t *word, uint64_t value) {
    while (get(word) != value) std::this_thread::yield();
  }
  static void fill(unsigned char *memory, size_t size, unsigned seed) {
    for (size_t i = 0; i < size; ++i) memory[i] = static_cast<unsigned char>(i * 7 + i / 251 + seed);
  }

  uint64_t *filled() const { return words_; }
  uint64_t *after() const { return words_ + 1; }
  uint64_t *gate() const { return words_ + 2; }
  uint64_t *other_filled() const { return words_ + 3; }
  uint64_t *taken() const { return words_ + 4; }

  static inline const sluice_backend_t *table = nullptr;
  static inline const sluice_stream_message_t *messages = nullptr;
  uint64_t *words_ = nullptr;
  unsigned char *from_ = nullptr;
  unsigned char *slot_ = nullptr;
  unsigned char *other_from_ = nullptr;
  unsigned char *other_slot_ = nullptr;
  unsigned char *to_ = nullptr;
  void *native_ = nullptr;
  sluice_stream_t *stream_ = nullptr;
};
