// SPDX-License-Identifier: BSD-3-Clause
// Memory of any kind and queues, owned; read and written as a program would.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "sluice/backend.h"

namespace conformance {

const char *kind_name(sluice_memory_kind_t kind);

// An allocation made by the module's program group, or by malloc for HOST. Freed at the end.
class Memory {
 public:
  // Leaves the calling thread's current device at `device`. "" or why it could not be made.
  static std::string make(sluice_memory_kind_t kind, int32_t device, size_t size_bytes, Memory *memory);
  Memory() = default;
  ~Memory() { reset(); }
  Memory(Memory &&other) noexcept;
  Memory &operator=(Memory &&other) noexcept;
  Memory(const Memory &) = delete;
  Memory &operator=(const Memory &) = delete;

  std::byte *data() const { return data_; }
  size_t size_bytes() const { return size_bytes_; }
  sluice_memory_kind_t kind() const { return kind_; }

  // Through program_copy, or memcpy where the CPU may reach. "" or what went wrong.
  std::string write(std::span<const std::byte> bytes, size_t offset = 0) const;
  std::string read(std::vector<std::byte> *bytes) const;  // all of it
  // Frees; "" or why it failed.
  std::string reset();

 private:
  std::byte *data_ = nullptr;
  size_t size_bytes_ = 0;
  sluice_memory_kind_t kind_ = SLUICE_MEMORY_HOST;
};

// A queue of the module, destroyed at the end.
class Queue {
 public:
  explicit Queue(int32_t device);
  ~Queue();
  Queue(const Queue &) = delete;
  Queue &operator=(const Queue &) = delete;

  sluice_queue_t *get() const { return queue_; }
  const std::string &problem() const { return problem_; }  // "" when there is a queue

 private:
  sluice_queue_t *queue_ = nullptr;
  std::string problem_;
};

}  // namespace conformance

// Declares a Memory; a kind that the device does not offer skips the test with the module's reason, anything else
// fails it.
#define MAKE_MEMORY_OR_SKIP(name, kind, device, size_bytes)                                          \
  conformance::Memory name;                                                                          \
  do {                                                                                               \
    const std::string why = conformance::Memory::make(kind, device, size_bytes, &(name));            \
    if (why.starts_with("SLUICE_ERROR_UNSUPPORTED")) {                                               \
      GTEST_SKIP() << "missing: " << conformance::kind_name(kind) << " memory, which " << why;       \
    }                                                                                                \
    ASSERT_EQ(why, "") << conformance::kind_name(kind) << " memory of " << (size_bytes) << " bytes"; \
  } while (false)
