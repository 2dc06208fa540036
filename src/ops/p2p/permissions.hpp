// SPDX-License-Identifier: BSD-3-Clause
// Permissions: to whom this process may send descriptors. A receiver gives it to a sender when it has seen that it
// receives that sender's messages into memory of a device runtime, and has made its receives safe for descriptors
// (descriptor_landings.hpp). Until then messages are plain: programs whose messages all lie in host memory never pay
// for that safety, and a receiver into host memory is not asked to fetch what it cannot reach. Persistent sends ask at
// each start (plain_start.hpp). A persistent receive cannot be made safe once the host MPI has its buffer, so that it
// is from the beginning.
#pragma once

#include <atomic>
#include <cstddef>
#include <list>
#include <mutex>
#include <vector>

#include "ops/p2p/descriptor.hpp"
#include "progress/engine.hpp"
#include "wire/mpi.hpp"

namespace sluice::ops {

class Buffer;

// Threads: any, but for advance(), which is the engine's, and drain(), which is MPI_Finalize's.
class Permissions final : public progress::RecurringTask {
 public:
  // The process's, for the ranks of MPI_COMM_WORLD; made by the first call, when the channel is open. Never destroyed.
  static Permissions &process();

  explicit Permissions(std::size_t n_peers) : granted_(n_peers), given_(n_peers) {}

  // As a sender: whether `peer` has given its permission. Looks for it when it has not. Any thread. Hot: one load.
  [[nodiscard]] bool has(int peer);
  // `peer` has given it.
  void note_granted(int peer) noexcept;

  // As a receiver: a plain message of `sender` of MPI_COMM_WORLD (-1: somebody else) has come into `buffer`. Does
  // nothing without a channel. Any thread.
  static void note_plain(const Buffer &buffer, int sender);
  // Permission was given to anybody, or is about to be: receives have to be safe. Hot: one load. Any thread.
  [[nodiscard]] static bool must_be_safe() noexcept { return receives_are_safe.load(std::memory_order_acquire); }

  // progress::Task: gives permission once what was posted before is safe too.
  [[nodiscard]] bool advance() override;

  // Collective over the channel, when nothing is under way any more: receives the permissions that nobody has looked
  // for. Blocks. False when the host MPI fails.
  [[nodiscard]] bool drain();

 private:
  void give(int peer);

  struct Message {
    int peer;
    Control control;
    MPI_Request request = MPI_REQUEST_NULL;
    bool is_sent = false;
  };

  static inline std::atomic<bool> receives_are_safe{false};
  std::vector<std::atomic<bool>> granted_;  // to this process, by peer
  std::atomic<int> n_granted_{0};
  std::vector<std::atomic<bool>> given_;  // by this process, by peer
  std::list<Message> messages_;           // with mutex_
};

}  // namespace sluice::ops
