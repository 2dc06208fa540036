// SPDX-License-Identifier: BSD-3-Clause
// What tests of one-sided operations of queues have in common: the functions, and a window that queues put to.
#pragma once

#include <algorithm>
#include <cstdlib>
#include <vector>

#include "tests/ranks/queue/captured_case.hpp"
#include "tests/ranks/rma/test_window.hpp"

namespace sluice::tests {

struct OneSidedFunctions {
  decltype(&MPIX_Enqueue_put) put = find<decltype(&MPIX_Enqueue_put)>("MPIX_Enqueue_put");
  decltype(&MPIX_Enqueue_get) get = find<decltype(&MPIX_Enqueue_get)>("MPIX_Enqueue_get");
  decltype(&MPIX_Enqueue_signal) signal = find<decltype(&MPIX_Enqueue_signal)>("MPIX_Enqueue_signal");
  decltype(&MPIX_Enqueue_wait_signal) wait_signal =
      find<decltype(&MPIX_Enqueue_wait_signal)>("MPIX_Enqueue_wait_signal");

 private:
  template <class Function>
  static Function find(const char *name) {
    return reinterpret_cast<Function>(dlsym(RTLD_DEFAULT, name));
  }
};
inline const OneSidedFunctions &one_sided() {
  static const OneSidedFunctions functions;
  return functions;
}

// A window of device memory in one epoch to all ranks, and the requests of what a queue does there.
class QueueWindow {
 public:
  explicit QueueWindow(const Memory &memory) : window_(memory, 1) { EXPECT_MPI(MPI_Win_lock_all(0, window_.get())); }
  ~QueueWindow() { EXPECT_MPI(MPI_Win_unlock_all(window_.get())); }
  QueueWindow(const QueueWindow &) = delete;
  QueueWindow &operator=(const QueueWindow &) = delete;

  MPI_Win get() const { return window_.get(); }
  void put(const TestQueue &queue, const void *from, std::size_t size_bytes, std::size_t at) {
    EXPECT_MPI(one_sided().put(from, static_cast<int>(size_bytes), MPI_BYTE, peer(), static_cast<MPI_Aint>(at),
                               static_cast<int>(size_bytes), MPI_BYTE, get(), queue.get(), add()));
  }
  void get_into(const TestQueue &queue, void *to, std::size_t size_bytes, std::size_t at) {
    EXPECT_MPI(one_sided().get(to, static_cast<int>(size_bytes), MPI_BYTE, peer(), static_cast<MPI_Aint>(at),
                               static_cast<int>(size_bytes), MPI_BYTE, get(), queue.get(), add()));
  }
  void signal(const TestQueue &queue) { EXPECT_MPI(one_sided().signal(peer(), get(), queue.get(), add())); }
  void wait_signal(const TestQueue &queue) { EXPECT_MPI(one_sided().wait_signal(peer(), get(), queue.get(), add())); }
  // Each side has what the other one has done so far; the stream is past it.
  void meet(const ProgramStream &stream, const TestQueue &queue) {
    signal(queue);
    wait_signal(queue);
    queue.start();
    queue.wait();
    stream.synchronize();
    complete();
  }
  void complete() {
    EXPECT_MPI(MPI_Waitall(static_cast<int>(requests_.size()), requests_.data(), MPI_STATUSES_IGNORE));
    requests_.clear();
  }
  MPI_Request *add() {
    requests_.reserve(256);
    return &requests_.emplace_back(MPI_REQUEST_NULL);
  }
  static int peer() { return Session::get().partner(); }

 private:
  TestWindow window_;
  std::vector<MPI_Request> requests_;
};

inline bool is_poison(const Bytes &bytes) {
  return std::ranges::all_of(bytes, [](unsigned char byte) { return byte == kPoison; });
}

inline bool streams_reach_windows() {
  const char *route = std::getenv("TEST_ROUTE");  // NOLINT(concurrency-mt-unsafe): nobody sets it
  const sluice_backend_t &table = Session::get().module()->table();
  if (route != nullptr || !has_channels(table) || table.ipc_export == nullptr) return false;
  return table.device_traits == nullptr || (table.device_traits(0) & SLUICE_DEVICE_NO_EXPORT) == 0;
}

// Debian's Open MPI 4 makes none in a container, without Sluice too.
inline bool makes_windows() {
  MPI_Win window = MPI_WIN_NULL;
  if (MPI_Win_create(nullptr, 0, 1, MPI_INFO_NULL, Session::get().comm(), &window) != MPI_SUCCESS) return false;
  EXPECT_MPI(MPI_Win_free(&window));
  return true;
}

#define SKIP_WITHOUT_WINDOWS() \
  if (!makes_windows()) GTEST_SKIP() << "missing: a host MPI that makes windows"

}  // namespace sluice::tests
