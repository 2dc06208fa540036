// SPDX-License-Identifier: BSD-3-Clause
#include "ops/datatype/type_probe.hpp"

#include <atomic>
#include <mutex>

#include "base/log.hpp"
#include "wire/host.hpp"

namespace sluice::ops {
namespace {

enum class State : std::uint8_t { kUnopened, kOpen, kClosed };

std::atomic<State> state{State::kUnopened};
MPI_Comm quiet_communicator;  // valid while kOpen
std::mutex mutex;

bool has_world() {
  int is_initialized = 0;
  int is_finalized = 0;
  return wire::host().MPI_Initialized(&is_initialized) == MPI_SUCCESS && is_initialized != 0 &&
         wire::host().MPI_Finalized(&is_finalized) == MPI_SUCCESS && is_finalized == 0;
}

thread_local bool is_error_seen = false;

// Where the communicator's errors go; nobody hears of them. Two host MPIs with the MPI-5 binary interface make this
// necessary: Intel MPI 2021.18 ends the program for an error under MPI_ERRORS_RETURN, and MPICH 5.0 returns MPI_SUCCESS
// from a call whose error went to a handler like this one.
void note_error(MPI_Comm * /*communicator*/, int * /*code*/, ... /*host's own*/) {
  is_error_seen = true;
}

bool make_quiet(MPI_Comm communicator) {
  MPI_Errhandler handler = MPI_ERRHANDLER_NULL;
  if (wire::host().MPI_Comm_create_errhandler(note_error, &handler) != MPI_SUCCESS) return false;
  const int set = wire::host().MPI_Comm_set_errhandler(communicator, handler);
  return wire::host().MPI_Errhandler_free(&handler) == MPI_SUCCESS && set == MPI_SUCCESS;
}

// A split and no duplicate: it does not call the copy callbacks of what the program hung on MPI_COMM_SELF.
void open() {
  const std::scoped_lock lock(mutex);
  if (state.load(std::memory_order_relaxed) != State::kUnopened) return;
  MPI_Comm made = MPI_COMM_NULL;
  if (wire::host().MPI_Comm_split(MPI_COMM_SELF, 0, 0, &made) != MPI_SUCCESS) return;
  if (!make_quiet(made)) {
    if (wire::host().MPI_Comm_free(&made) != MPI_SUCCESS) log::debug("ops", "a communicator could not be freed");
    return;
  }
  quiet_communicator = made;
  state.store(State::kOpen, std::memory_order_release);
}

}  // namespace

ProbeAnswer probe_type(MPI_Datatype type) {
  if (!has_world()) return ProbeAnswer::kUnknown;
  if (state.load(std::memory_order_acquire) == State::kUnopened) open();
  if (state.load(std::memory_order_acquire) != State::kOpen) return ProbeAnswer::kUnknown;
  // One element, because an empty message is not looked at closely everywhere; nobody reads the byte.
  static const char unread = 0;
  is_error_seen = false;
  const int result = wire::host().MPI_Send(&unread, 1, type, MPI_PROC_NULL, 0, quiet_communicator);
  return result == MPI_SUCCESS && !is_error_seen ? ProbeAnswer::kAccepted : ProbeAnswer::kRejected;
}

void release_probe() noexcept {
  const std::scoped_lock lock(mutex);
  if (state.load(std::memory_order_relaxed) != State::kOpen) return;
  state.store(State::kClosed, std::memory_order_release);
  if (has_world() && wire::host().MPI_Comm_free(&quiet_communicator) != MPI_SUCCESS) {
    log::debug("ops", "the communicator that datatypes are probed on could not be freed");
  }
}

}  // namespace sluice::ops
