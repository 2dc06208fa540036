// SPDX-License-Identifier: BSD-3-Clause
// Owners for the runtime's memory and queues, for tests.
#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <vector>

#include "emurt.h"

#define EXPECT_EMU(call) EXPECT_EQ(call, EMU_SUCCESS) << emu_last_error_text()
#define ASSERT_EMU(call) ASSERT_EQ(call, EMU_SUCCESS) << emu_last_error_text()

namespace emu_test {

// Faults and profile of the test's own, gone at its end.
class Settings {
 public:
  Settings() = default;
  ~Settings() {
    EXPECT_EMU(emu_set_fault(nullptr));
    EXPECT_EMU(emu_set_profile(nullptr));
  }
  Settings(const Settings &) = delete;
  Settings &operator=(const Settings &) = delete;
};

class DeviceMemory {
 public:
  explicit DeviceMemory(size_t size_bytes) { EXPECT_EMU(emu_malloc_device(size_bytes, &memory_)); }
  ~DeviceMemory() { EXPECT_EMU(emu_free(memory_)); }
  DeviceMemory(const DeviceMemory &) = delete;
  DeviceMemory &operator=(const DeviceMemory &) = delete;
  std::byte *data() const { return static_cast<std::byte *>(memory_); }

 private:
  void *memory_ = nullptr;
};

class HostMemory {
 public:
  explicit HostMemory(size_t size_bytes) { EXPECT_EMU(emu_malloc_host(size_bytes, 0, &memory_)); }
  ~HostMemory() { EXPECT_EMU(emu_free(memory_)); }
  HostMemory(const HostMemory &) = delete;
  HostMemory &operator=(const HostMemory &) = delete;
  std::byte *data() const { return static_cast<std::byte *>(memory_); }

 private:
  void *memory_ = nullptr;
};

class Queue {
 public:
  Queue() { EXPECT_EMU(emu_queue_create(&queue_)); }
  ~Queue() { EXPECT_EMU(emu_queue_destroy(queue_)); }
  Queue(const Queue &) = delete;
  Queue &operator=(const Queue &) = delete;
  emu_queue_t *get() const { return queue_; }

 private:
  emu_queue_t *queue_ = nullptr;
};

inline emu_memory_kind_t kind_of(const void *address) {
  emu_pointer_info_t info{};
  EXPECT_EMU(emu_pointer_query(address, &info));
  return info.kind;
}

// Bytes that differ by position and by `seed`.
inline std::vector<std::byte> bytes_of(size_t size_bytes, unsigned seed) {
  std::vector<std::byte> bytes(size_bytes);
  for (size_t i = 0; i < size_bytes; ++i)
    bytes[i] = static_cast<std::byte>((i * 131 + i / 251 + size_t{17} * seed) & 0xFFU);
  return bytes;
}

}  // namespace emu_test
