// SPDX-License-Identifier: BSD-3-Clause
#include "ops/datatype/type_probe.hpp"

#include <array>
#include <atomic>
#include <cstddef>
#include <mutex>

#include "ops/env/quiet_errors.hpp"
#include "wire/owned_handle.hpp"

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

// A split and no duplicate: it does not call the copy callbacks of what the program hung on MPI_COMM_SELF.
void open() {
  const std::scoped_lock lock(mutex);
  if (state.load(std::memory_order_relaxed) != State::kUnopened) return;
  wire::OwnedComm made;
  {
    const QuietErrors quiet(MPI_COMM_SELF);
    if (!QuietErrors::is_success(wire::host().MPI_Comm_split(MPI_COMM_SELF, 0, 0, made.slot()))) return;
  }
  if (!make_quiet(made.get())) return;
  quiet_communicator = made.release();
  state.store(State::kOpen, std::memory_order_release);
}

// What the host MPI says to `call`, which is made on the communicator that it is given.
template <typename Call>
ProbeAnswer ask_quietly(const Call &call) {
  if (!has_world()) return ProbeAnswer::kUnknown;
  if (state.load(std::memory_order_acquire) == State::kUnopened) open();
  if (state.load(std::memory_order_acquire) != State::kOpen) return ProbeAnswer::kUnknown;
  forget_error();
  const int result = call(quiet_communicator);
  return result == MPI_SUCCESS && !is_error_seen() ? ProbeAnswer::kAccepted : ProbeAnswer::kRejected;
}

}  // namespace

ProbeAnswer probe_type(MPI_Datatype type) {
  // One element, because an empty message is not looked at closely everywhere; nobody reads the byte.
  static const char unread = 0;
  return ask_quietly([type](MPI_Comm comm) { return wire::host().MPI_Send(&unread, 1, type, MPI_PROC_NULL, 0, comm); });
}

ProbeAnswer probe_reduction(MPI_Datatype type, MPI_Op op) {
  // Of one rank, so that nothing is computed: MPICH 4.0 ends the program in some operations that it takes.
  constexpr std::size_t kLongest = 32;  // two long doubles
  alignas(kLongest) const std::array<std::byte, kLongest> in{};
  alignas(kLongest) std::array<std::byte, kLongest> out{};
  static std::mutex reducing;  // one collective call at a time on a communicator
  const std::scoped_lock lock(reducing);
  return ask_quietly(
      [&](MPI_Comm comm) { return wire::host().MPI_Allreduce(in.data(), out.data(), 1, type, op, comm); });
}

void release_probe() noexcept {
  const std::scoped_lock lock(mutex);
  if (state.load(std::memory_order_relaxed) != State::kOpen) return;
  state.store(State::kClosed, std::memory_order_release);
  wire::OwnedComm ended(quiet_communicator);
  if (!has_world()) static_cast<void>(ended.release());
}

}  // namespace sluice::ops
