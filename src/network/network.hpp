// SPDX-License-Identifier: BSD-3-Clause
// Network: this process's provider.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "device/place.hpp"
#include "network/choice.hpp"
#include "network/provider.hpp"

namespace sluice::network {

// What SLUICE_NETWORK comes to. Any thread.
[[nodiscard]] Choice choose_for_process();

// Opens what was chosen; kNone: leaves *provider as it is. Any thread. Errors: as open_ucp() and open_simulated().
[[nodiscard]] Status open(const Choice &choice, std::unique_ptr<Provider> *provider);

// Threads: any, but for close().
class Network {
 public:
  // The process's. Never destroyed.
  static Network &process();

  // The provider, opened by the first call that finds one wanted; null where there is none, whose reason the log has.
  // Blocks the first time, for as long as the library takes. Hot afterwards.
  [[nodiscard]] Provider *provider();
  // The same without opening it.
  [[nodiscard]] Provider *opened() noexcept { return opened_.load(std::memory_order_acquire); }

  // Whether messages from and to `place` can go by the provider: it was tried on that device once, by a message of this
  // process to itself. False while streams of the program's may wait for what Sluice does: what a library does in the
  // driver may then wait for the stream (ADR 0032). Blocks the first time of a device. Hot afterwards.
  [[nodiscard]] bool reaches(const device::Place &place);

  // A message did not come by the provider. After a few of those nothing is said to be reached any more, so that what
  // is broken costs a program a few messages and not all of them. Any thread.
  void note_failure() noexcept;

  // In MPI_Finalize, when nothing is under way any more. One thread.
  void close() noexcept;

 private:
  using Device = std::pair<const device::Backend *, std::int32_t>;
  struct Tried {
    Device device;
    bool is_reached = false;
  };
  void open();

  std::mutex mutex_;  // of all but the atomics
  bool is_decided_ = false;
  std::unique_ptr<Provider> provider_;
  std::atomic<Provider *> opened_{nullptr};
  std::atomic<int> n_failures_{0};
  std::vector<Tried> tried_;
};

// Sends a block of device memory of `place` to this process itself and compares what came. *is_final: it would say the
// same another time. Any thread. Blocks. Errors: it did not come, or not as it was sent.
[[nodiscard]] Status try_on(Provider *provider, const device::Place &place, bool *is_final);

}  // namespace sluice::network
