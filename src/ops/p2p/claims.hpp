// SPDX-License-Identifier: BSD-3-Clause
// Claims: messages that a probe has taken off the host MPI's queue, because only their content tells their true size
// (docs/protocol.md, "Probes and the list of claimed messages").
//
// A message that was read to learn what it is is sent once more, to this process itself on the private communicator,
// and stands in the list as the MPI_Message of that copy; what follows it from the same source stands there as its own
// MPI_Message. So whoever receives a claimed message does so by MPI_Imrecv, as ever.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <list>
#include <mutex>
#include <optional>

#include "base/status.hpp"
#include "ops/comm/comm_state.hpp"
#include "wire/mpi.hpp"

namespace sluice::ops {

// What a probe and the status of a receive say of a message.
struct Envelope {
  int source = 0;
  int tag = 0;
  std::uint64_t size_bytes = 0;  // true size
  int sender = -1;               // rank in MPI_COMM_WORLD; -1: of a process outside
};

struct Claim {
  Envelope envelope;
  MPI_Message message = MPI_MESSAGE_NULL;
  bool is_copy = false;  // `message` is the copy that was sent to this process itself: its own envelope is another
};

// The claimed messages of one communicator. Threads: any; under lock() where that is said.
class Claims {
 public:
  static constexpr CommPart kPart = CommPart::kMessages;

  Claims() = default;
  Claims(const Claims &) = delete;
  Claims &operator=(const Claims &) = delete;

  // A probe was made, so that there may be something in the list from now on. Hot. Any thread.
  [[nodiscard]] bool was_probed() const noexcept { return was_probed_.load(std::memory_order_acquire); }

  // "Look at the list and post" and "claim and enter" exclude each other: hold this for either. Nothing that is done
  // under it blocks.
  [[nodiscard]] std::unique_lock<std::mutex> lock() { return std::unique_lock(mutex_); }

  // Takes the oldest message that matches, wildcards and all. Under lock().
  std::optional<Claim> take(int source, int tag);
  // The same, and leaves it.
  [[nodiscard]] const Claim *find(int source, int tag) const noexcept;

  // Asks the host MPI for a message on `comm`, whose claims these are. When the true size of what it finds is in doubt,
  // takes that message and all older ones from the same source into the list, where find() then has it. Otherwise
  // *flag and *status are the host MPI's. Under lock(). Returns the host MPI's error code; Sluice's own errors in
  // *problem.
  int probe(MPI_Comm comm, int source, int tag, int *flag, MPI_Status *status, Status *problem);

 private:
  [[nodiscard]] Status claim(MPI_Comm comm, int source, int sender);

  std::mutex mutex_;
  std::list<Claim> claims_;
  std::atomic<bool> was_probed_{false};
};

// Envelopes of claimed messages that the program holds as MPI_Message (MPI_Mprobe). Any thread.
void remember_envelope(MPI_Message message, const Envelope &envelope);
// Takes the envelope of `message` out; empty when it was not claimed. Cost without claimed messages: one load. Any
// thread.
[[nodiscard]] std::optional<Envelope> take_envelope(MPI_Message message);

// Makes `status` tell of `envelope`. What it says of errors stays. Any thread.
void set_envelope(const Envelope &envelope, MPI_Status *status);

}  // namespace sluice::ops
