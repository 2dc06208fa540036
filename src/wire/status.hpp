// SPDX-License-Identifier: BSD-3-Clause
// What the host MPI's statuses say. All of it: any thread.
#pragma once

#include <cstdint>

#include "wire/host.hpp"

namespace sluice::wire {

// Payload of the message that a probe's `status` announces, in bytes; 0 when it says nothing. Whether it was cancelled
// is not asked: probes leave that part of a status as it was.
inline std::uint64_t announced_bytes(const MPI_Status &status) noexcept {
  MPI_Count bytes = 0;
  // Elements of a one-byte type, in the form that does not overflow at 2 GiB.
  if (host().MPI_Get_elements_x(&status, MPI_BYTE, &bytes) != MPI_SUCCESS || bytes < 0) return 0;
  return static_cast<std::uint64_t>(bytes);
}

// Payload of the message that `status` describes, in bytes; 0 when it was cancelled or says nothing.
inline std::uint64_t received_bytes(const MPI_Status &status) noexcept {
  int is_cancelled = 0;
  if (host().MPI_Test_cancelled(&status, &is_cancelled) != MPI_SUCCESS || is_cancelled != 0) return 0;
  return announced_bytes(status);
}

// Makes `status` tell of nothing received, but for its error, before the host MPI is asked to fill it: MPICH 5 calls
// the error handler for some bad arguments and then returns success, with the status as it was. (Zero means so in all
// binary interfaces.) Hot.
inline void clear(MPI_Status *status) noexcept {
  const int error = status->MPI_ERROR;
  *status = MPI_Status{};
  status->MPI_ERROR = error;
}

// Makes `status` tell of `bytes` of payload, not cancelled. (The only error is a bad argument.)
inline void set_received_bytes(MPI_Status *status, std::uint64_t bytes) noexcept {
  [[maybe_unused]] int code = host().MPI_Status_set_cancelled(status, 0);
  code = host().MPI_Status_set_elements_x(status, MPI_BYTE, static_cast<MPI_Count>(bytes));
}

}  // namespace sluice::wire
