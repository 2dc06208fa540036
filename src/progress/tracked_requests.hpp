// SPDX-License-Identifier: BSD-3-Clause
// TrackedRequests: the host MPI's requests on which Sluice still owes something when they complete.
//
// The request that the program holds is the host MPI's own, so that everything the host knows of requests stays right.
// Beside it stands a Tracked. Two facts make the table sound:
//  - A host may answer several sends that are already complete with one shared handle (MPICH's ready-made requests).
//    Handles are therefore not unique, but two requests that can be alive at once never share one: an older entry under
//    the same handle belongs to a request that is complete, and may be replaced. (Sends; and collective operations that
//    the host MPI did at once, which may owe something.)
//  - A handle is looked up before the host completes it, because completion clears it and frees it for use by others.
#pragma once

#include <atomic>
#include <cstddef>
#include <list>
#include <memory>
#include <mutex>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/short_mutex.hpp"
#include "base/status.hpp"
#include "base/waiting.hpp"
#include "wire/mpi.hpp"

namespace sluice::progress {

// What is owed on one request. One thread at a time, as MPI has it for a request, where nothing else is said.
class Tracked {
 public:
  Tracked(MPI_Comm communicator, bool is_persistent) noexcept
      : communicator_(communicator), is_persistent_(is_persistent), is_active_(!is_persistent) {}
  virtual ~Tracked() = default;
  Tracked(const Tracked &) = delete;
  Tracked &operator=(const Tracked &) = delete;
  Tracked(Tracked &&) = delete;
  Tracked &operator=(Tracked &&) = delete;

  // Brings outgoing data into place before a persistent request is started. Blocks for the copy. Errors: it is not
  // started.
  [[nodiscard]] virtual Status prepare() = 0;

  // Brings incoming data to where the program wants it, after the host MPI completed the request with *status, and
  // makes the status say what the program is to see, but for its MPI_ERROR. Called at most once for each start. Blocks
  // for the copy. Errors: what the operation ends with.
  [[nodiscard]] virtual Status finish(MPI_Status *status) = 0;

  // What finish() said, once more: a second call asks about the same completion (MPI_Request_get_status, then
  // MPI_Wait).
  [[nodiscard]] virtual Status recall(MPI_Status * /*status*/) { return {}; }

  // After either of them, where it was fine: the code of an error that the operation ended with, raised already.
  [[nodiscard]] virtual int raised() const noexcept { return 0; }

  // The handle was given to another request, so this one is complete although no completion call has said so: does what
  // finish() owes, unless that was done. Blocks for the copy.
  [[nodiscard]] virtual Status finish_displaced() { return {}; }

  // The host MPI must not complete the request yet: the engine has still to do for it. Any thread. Hot.
  [[nodiscard]] virtual bool is_hidden() const noexcept { return false; }

  // The whole of MPI_Start for this persistent request, `request`, which is prepared and inactive. `self` is this.
  // Returns an error code, raised already.
  [[nodiscard]] virtual int start_again(const std::shared_ptr<Tracked> &self, MPI_Request *request);

  // Complete although the host MPI's request is inactive: completion calls that pass over inactive requests must not
  // pass over this one. Any thread.
  [[nodiscard]] virtual bool completes_without_host() const noexcept { return false; }

  // Adds to *wait what completes this request: operation, peer, tag, bytes, route. By the thread that completes it.
  // Asks the host MPI nothing about the communicator: the program may have freed it.
  virtual void tell(waiting::Wait * /*wait*/) const noexcept {}

  // MPI_Cancel has no effect, as MPI allows for any request.
  [[nodiscard]] virtual bool ignores_cancel() const noexcept { return false; }

  // Where errors of this request are raised.
  [[nodiscard]] MPI_Comm communicator() const noexcept { return communicator_; }
  [[nodiscard]] bool is_persistent() const noexcept { return is_persistent_; }

  // Started and not yet finished. Any thread may look; what follows from it is for the one that completes the request,
  // as MPI has it.
  [[nodiscard]] bool is_active() const noexcept { return is_active_.load(std::memory_order_relaxed); }
  void set_active(bool is_active) noexcept { is_active_.store(is_active, std::memory_order_relaxed); }

  // True for the one caller that has to call finish(); false when the data is in place already (MPI_Request_get_status
  // said so before MPI_Wait). Any thread: those whose complete sends share a handle may find one Tracked between them.
  [[nodiscard]] bool begin_finish() noexcept { return !is_finished_.exchange(true, std::memory_order_acq_rel); }

  // Of a persistent request that is started once more.
  void reset_finish() noexcept { is_finished_.store(false, std::memory_order_release); }

 private:
  const MPI_Comm communicator_;
  const bool is_persistent_;
  std::atomic<bool> is_active_;
  std::atomic<bool> is_finished_{false};
};

using TrackedPtr = std::shared_ptr<Tracked>;

// Any thread.
class TrackedRequests {
 public:
  // The process's table. Never destroyed.
  static TrackedRequests &process();

  TrackedRequests() { spare_nodes_.reserve(kMostSpareNodes); }

  // True when nothing is tracked: the whole cost of a completion call on host traffic. Hot.
  [[nodiscard]] bool is_empty() const noexcept { return n_tracked_.load(std::memory_order_acquire) == 0; }

  // Puts `tracked` beside `request`, replacing what stood there, which is finished.
  void add(MPI_Request request, TrackedPtr tracked);

  // What stands beside `request`; null when nothing does.
  [[nodiscard]] TrackedPtr find(MPI_Request request) const;

  // The same, and takes it away: a completion call holds what it may complete, because another thread may be given the
  // handle for a request of its own the moment the host MPI has completed it. What is persistent stays: completion does
  // not end its handle, and other threads ask for it meanwhile (MPI_Pready, MPI_Parrived).
  [[nodiscard]] TrackedPtr take(MPI_Request request);
  // The same for each of `requests`, in their order, with one look at the lock; MPI_REQUEST_NULL has nothing beside it.
  [[nodiscard]] std::vector<TrackedPtr> take_each(std::span<const MPI_Request> requests);

  // Takes away what stands beside `request` if it is still `tracked`.
  void remove(MPI_Request request, const Tracked *tracked);

  // Keeps a request that the program has freed while it was active, until the host MPI completes it.
  void adopt(MPI_Request request, TrackedPtr tracked);

  // Completes adopted requests that the host MPI has completed; true when none is left. Whoever comes while another is
  // at it goes on without. Errors are logged: nobody is left to raise them to. Cost without adopted requests: one load.
  bool reap();

  // The same for a call from which the program may learn that a message of such a request has come: waits for whoever
  // is at it, and looks then. Cost without adopted requests: one load.
  void reap_what_came();

  // Waits for all of them, in turns. Not within a turn.
  void wait_for_adopted();

 private:
  struct Hash {
    std::size_t operator()(MPI_Request request) const noexcept;
  };
  struct Adopted {
    MPI_Request request;
    TrackedPtr tracked;
    // What the host MPI said, once it has completed the request; Sluice may still owe something then.
    MPI_Status status{};
    int result = MPI_SUCCESS;
    int is_done = 0;
  };
  using AdoptedList = std::list<Adopted>;  // lists go from one to another without memory
  [[nodiscard]] static bool try_complete(Adopted *adopted);

  static constexpr std::size_t kMostSpareNodes = 1024;
  using Table = std::unordered_map<MPI_Request, TrackedPtr, Hash>;
  void insert(MPI_Request request, TrackedPtr tracked);
  [[nodiscard]] TrackedPtr take_out(Table::iterator found);
  [[nodiscard]] TrackedPtr take_locked(MPI_Request request);

  mutable ShortMutex mutex_;
  Table table_;
  std::vector<Table::node_type> spare_nodes_;  // of entries that were taken out: a window of messages allocates none
  std::atomic<std::size_t> n_tracked_{0};
  std::mutex adopted_mutex_;
  AdoptedList adopted_;  // but what reap() looks at just now
  std::atomic<std::size_t> n_adopted_{0};
  std::atomic<bool> is_reaping_{false};
};

}  // namespace sluice::progress
