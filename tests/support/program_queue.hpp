// SPDX-License-Identifier: BSD-3-Clause
// ProgramQueue: a queue of the backend module, as a program would have one beside those of Sluice.
#pragma once

#include <gtest/gtest.h>

#include "tests/support/memory.hpp"

namespace sluice::tests {

class ProgramQueue {
 public:
  // On device 0 of the module that `table` is of. A failure of its calls fails the current test.
  explicit ProgramQueue(const sluice_backend_t &table) : table_(table) {
    EXPECT_EQ(table.queue_create(0, &queue_), SLUICE_SUCCESS) << table.last_error();
  }
  ~ProgramQueue() { EXPECT_EQ(table_.queue_destroy(queue_), SLUICE_SUCCESS); }
  ProgramQueue(const ProgramQueue &) = delete;
  ProgramQueue &operator=(const ProgramQueue &) = delete;

  // Copies through the queue; waits for it alone.
  Bytes read(const void *from, std::size_t size_bytes) const {
    Bytes bytes(size_bytes);
    EXPECT_EQ(table_.copy(queue_, bytes.data(), from, size_bytes), SLUICE_SUCCESS) << table_.last_error();
    return bytes;
  }

 private:
  const sluice_backend_t &table_;
  sluice_queue_t *queue_ = nullptr;
};

}  // namespace sluice::tests
