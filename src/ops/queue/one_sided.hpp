// SPDX-License-Identifier: BSD-3-Clause
// Puts, gets and signals of a queue, on a window of Sluice's (docs/adr/0080): the stream copies by itself where it
// reaches the target's memory, and signals are messages without bytes, which come behind the puts of their queue.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "base/status.hpp"
#include "device/stream.hpp"
#include "ops/queue/carriers.hpp"
#include "ops/queue/message.hpp"
#include "ops/rma/call.hpp"
#include "ops/rma/enqueued_access.hpp"
#include "ops/rma/window.hpp"

namespace sluice::ops::queue {

// A signal that the host MPI carries. Any thread.
[[nodiscard]] MessagePtr make_host_signal(const Arguments &given, const rma::WindowPtr &window,
                                          std::vector<MessagePtr> behind);

// What one queue has to know of its one-sided operations. One thread at a time, but for the messages that it makes.
class OneSided {
 public:
  // Makes a put or a get. `is_captured`: for a graph. Errors are raised on `comm`. Errors: as rma::EnqueuedAccess has
  // them; it cannot be captured.
  [[nodiscard]] Status make_access(const rma::WindowPtr &window, const rma::Call &call, MPI_Comm comm,
                                   const device::Stream &stream, bool is_captured, MessagePtr *message);
  // Makes a signal, behind all puts to that rank that were made here. `given` says the direction, the rank of the
  // window and the communicator of errors. Errors: no such rank; `queue_comm`, unless it is none, has other ranks than
  // the window; as Carriers::carry_signal() has them.
  [[nodiscard]] Status make_signal(const Arguments &given, const rma::WindowPtr &window, MPI_Comm queue_comm,
                                   const device::Stream &stream, Carriers *carriers, MessagePtr *message);

 private:
  struct Put {
    MessagePtr message;
    const rma::Window *window;  // which it holds
    int target_rank;
  };
  // A window that had an operation of this queue.
  struct Known {
    std::weak_ptr<rma::Window> window;
    bool has_ranks_of_queue = false;  // else that was not asked
  };
  // Finds `window`, until the next call. With its first operation maps it, because some runtimes map nothing while a
  // stream waits, and finds can_copy_.
  [[nodiscard]] Known *meet(const rma::WindowPtr &window, const device::Stream &stream);
  // Errors: `queue_comm` has other ranks than the window.
  [[nodiscard]] static Status check_ranks(const rma::Window &window, MPI_Comm queue_comm, Known *known);

  std::vector<Put> by_turns_;  // that no stream copies, and that are not known to be complete
  bool can_copy_ = false;      // the stream
  std::vector<Known> known_;
};

}  // namespace sluice::ops::queue
