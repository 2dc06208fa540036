// SPDX-License-Identifier: BSD-3-Clause
// What tests of the engine device have in common: a channel whose streams carry messages.
#pragma once

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cstdlib>
#include <cstring>

#include "tests/ranks/queue/functions.hpp"
#include "tests/support/statistics.hpp"

namespace sluice::tests {

inline constexpr int kTag = 71;
inline constexpr int kMostWarmUps = 500;

inline Memory make_memory(Kind kind, std::size_t size_bytes) {
  return {Session::get().module(), kind, size_bytes};
}

// Some devices of a backend with channels have none: they say so for any memory.
inline bool has_channels(const sluice_backend_t &table) {
  constexpr std::size_t kPageBytes = 4096;
  if (table.stream_take == nullptr) return false;
  void *page = mmap(nullptr, kPageBytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (page == MAP_FAILED) return true;
  const sluice_result_t result = table.host_register(0, page, kPageBytes);
  if (result == SLUICE_SUCCESS) {
    EXPECT_EQ(table.host_unregister(0, page), SLUICE_SUCCESS);
  }
  EXPECT_EQ(munmap(page, kPageBytes), 0);
  return result != SLUICE_ERROR_UNSUPPORTED;
}

inline bool is_device_engine() {
  const char *engine = std::getenv("SLUICE_QUEUE_ENGINE");  // NOLINT(concurrency-mt-unsafe): nobody sets it
  const bool is_asked = engine != nullptr && std::strcmp(engine, "device") == 0;
  // NOLINTNEXTLINE(concurrency-mt-unsafe)
  const bool is_asserted = std::getenv("TEST_ASSERT_QUEUES") != nullptr;  // assertion.cpp
  return (is_asked || is_asserted) && has_channels(Session::get().module()->table());
}

#define SKIP_WITHOUT_CHANNELS() \
  SKIP_WITHOUT_QUEUES();        \
  if (!is_device_engine()) GTEST_SKIP() << "missing: SLUICE_QUEUE_ENGINE=device and a backend with the group channel"

inline long long by_stream(const char *operation) {
  return calls_by(operation, "device");
}

// One message each way.
inline void exchange(const ProgramStream &stream, TestQueue *queue, const Memory &in, const Memory &out, int tag,
                     int bytes) {
  const Session &session = Session::get();
  queue->recv(in.data(), bytes, tag, session.partner());
  queue->send(out.data(), bytes, tag, session.partner());
  queue->start();
  queue->wait();
  stream.synchronize();
  queue->complete();
}

// Messages until both sides' streams carry them: the first ones go by the threads, while the sides learn of each other.
// The streams are idle afterwards.
inline void warm_up(const ProgramStream &stream, TestQueue *queue, int tag, int bytes) {
  const Session &session = Session::get();
  const Memory in = make_memory(Kind::device, static_cast<std::size_t>(bytes) + 1);
  const Memory out = make_memory(Kind::device, static_cast<std::size_t>(bytes) + 1);
  bool is_cold = true;
  for (int k = 0; is_cold && k < kMostWarmUps; ++k) {
    const long long before = by_stream("MPIX_Enqueue_send");
    exchange(stream, queue, in, out, tag, bytes);
    is_cold = session.agree_any(by_stream("MPIX_Enqueue_send") == before);
  }
  EXPECT_FALSE(is_cold) << "the streams carry no messages";
}

}  // namespace sluice::tests
