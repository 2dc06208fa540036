// SPDX-License-Identifier: BSD-3-Clause
// What the suites Streams and Channels share.
#pragma once

#include <gtest/gtest.h>

#include <thread>

#include "memory.h"
#include "module_under_test.h"

namespace conformance {

// A program's stream, opened. Closed and destroyed at the end, by when nothing on it waits any more.
class Stream {
 public:
  explicit Stream(int32_t device = 0) {
    EXPECT_OK(table().program_set_device(device));
    EXPECT_OK(table().program_stream_create(&native_));
    EXPECT_OK(table().stream_open(native_, &stream_, &device_));
  }
  ~Stream() {
    EXPECT_OK(table().stream_close(stream_));
    EXPECT_OK(table().program_stream_destroy(native_));
  }
  Stream(const Stream &) = delete;
  Stream &operator=(const Stream &) = delete;

  void *native() const { return native_; }
  sluice_stream_t *get() const { return stream_; }
  int32_t device() const { return device_; }
  void write(uint64_t *word, uint64_t value) const { ASSERT_OK(table().stream_write(stream_, word, value)); }
  void wait(const uint64_t *word, uint64_t least) const { ASSERT_OK(table().stream_wait(stream_, word, least)); }
  void copy(void *dst, const void *src, size_t size_bytes) const {
    ASSERT_OK(table().program_stream_copy(native_, dst, src, size_bytes));
  }
  void synchronize() const { EXPECT_OK(table().program_stream_synchronize(native_)); }

 private:
  void *native_ = nullptr;
  sluice_stream_t *stream_ = nullptr;
  int32_t device_ = -1;
};

// Words of host_alloc, all 0.
class Words {
 public:
  explicit Words(size_t count, int32_t device = 0) : device_(device) {
    void *memory = nullptr;
    EXPECT_OK(table().host_alloc(device, count * sizeof(uint64_t), 0, &memory));
    words_ = static_cast<uint64_t *>(memory);
    for (size_t i = 0; i < count; ++i) set(i, 0);
  }
  ~Words() { EXPECT_OK(table().host_free(device_, words_)); }
  Words(const Words &) = delete;
  Words &operator=(const Words &) = delete;

  uint64_t *at(size_t index) const { return words_ + index; }
  uint64_t get(size_t index) const { return __atomic_load_n(at(index), __ATOMIC_ACQUIRE); }
  void set(size_t index, uint64_t value) const { __atomic_store_n(at(index), value, __ATOMIC_RELEASE); }
  void await(size_t index, uint64_t least) const {
    while (get(index) < least) std::this_thread::yield();
  }

 private:
  int32_t device_;
  uint64_t *words_ = nullptr;
};

inline bool has_stream_groups() {
  return table().stream_open != nullptr && table().program_stream_create != nullptr;
}

}  // namespace conformance

#define SKIP_WITHOUT_STREAM_GROUPS()                                                    \
  if (!conformance::has_stream_groups())                                                \
  GTEST_SKIP() << "missing: the group stream: this backend cannot trigger and wait in " \
                  "streams"
