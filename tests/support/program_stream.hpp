// SPDX-License-Identifier: BSD-3-Clause
// ProgramStream: a stream as a program has it, and a gate in it that the test opens: an exact "not yet".
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <thread>

#include "tests/support/memory.hpp"
#include "tests/support/session.hpp"

namespace sluice::tests {

inline bool has_streams() {
  const BackendModule *module = Session::get().module();
  return module != nullptr && module->table().stream_open != nullptr &&
         module->table().program_stream_create != nullptr;
}

class ProgramStream {
 public:
  // On `device` of the backend under test, behind what the program has copied there: a runtime's blocking copy from the
  // host may still be under way when it returns, and such a stream waits for no other (seen on H200, where two
  // processes shared the device). Failures of its calls fail the current test.
  explicit ProgramStream(int device = 0) : table_(Session::get().module()->table()) {
    expect(table_.program_set_device(device));
    expect(table_.program_synchronize());
    expect(table_.program_stream_create(&native_));
    std::int32_t own_device = -1;
    expect(table_.stream_open(native_, &stream_, &own_device));
    expect(table_.host_alloc(device, 3 * sizeof(std::uint64_t), 0, reinterpret_cast<void **>(&words_)));
    for (int i = 0; i < 3; ++i) words_[i] = 0;
    device_ = device;
    expect(table_.program_set_device(0));
  }
  ~ProgramStream() {
    open_gates();
    synchronize();
    expect(table_.stream_close(stream_));
    expect(table_.program_stream_destroy(native_));
    expect(table_.host_free(device_, words_));
  }
  ProgramStream(const ProgramStream &) = delete;
  ProgramStream &operator=(const ProgramStream &) = delete;

  void *native() const { return native_; }

  // What the stream runs behind this waits until open_gates().
  void close_gate() { expect(table_.stream_wait(stream_, &words_[0], ++n_gates_)); }
  void open_gates() const { __atomic_store_n(&words_[0], n_gates_, __ATOMIC_RELEASE); }

  // A mark behind what was enqueued: has_come() once the stream is there.
  void mark() { expect(table_.stream_write(stream_, &words_[1], ++n_marks_)); }
  bool has_come() const { return __atomic_load_n(&words_[1], __ATOMIC_ACQUIRE) == n_marks_; }

  // Writes a word of memory that host and device reach, in the stream's order, as a kernel would.
  void write(std::uint64_t *word, std::uint64_t value) const { expect(table_.stream_write(stream_, word, value)); }

  // A copy in the stream's order, as a kernel would write.
  void copy(void *dst, const void *src, std::size_t size_bytes) const {
    expect(table_.program_stream_copy(native_, dst, src, size_bytes));
  }
  void synchronize() const { expect(table_.program_stream_synchronize(native_)); }

 private:
  void expect(sluice_result_t result) const { EXPECT_EQ(result, SLUICE_SUCCESS) << table_.last_error(); }

  const sluice_backend_t &table_;
  void *native_ = nullptr;
  sluice_stream_t *stream_ = nullptr;
  std::uint64_t *words_ = nullptr;
  int device_ = 0;
  std::uint64_t n_gates_ = 0;
  std::uint64_t n_marks_ = 0;
};

}  // namespace sluice::tests
