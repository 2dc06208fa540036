// SPDX-License-Identifier: BSD-3-Clause
// What the ranks of a communicator agree on by the host MPI while they prepare to move device memory together. All here
// is collective over the communicator and blocks, in turns.
#pragma once

#include <array>

#include "base/status.hpp"
#include "wire/mpi.hpp"

namespace sluice::ops {

// A Status of `code`, which the host MPI returned in such a preparation; `what` has failed then.
[[nodiscard]] Status preparation_status(int code, const char *what);

// The least `value` of all ranks of `comm`. On an error *least is `value`.
[[nodiscard]] Status find_least(MPI_Comm comm, int value, int *least);

// The same, and whether `number`, which can be negated, is the same on all ranks.
[[nodiscard]] Status find_least(MPI_Comm comm, int value, int number, int *least, bool *is_alike);

// Whether `value` is true on all ranks of `comm`. On an error it counts as false.
[[nodiscard]] Status agree_on_all(MPI_Comm comm, bool value, bool *is_true);

// Returns when all ranks of `comm` are here, so that a function of the host MPI which follows, and which they all call,
// depends on nobody outside. Returns the host MPI's error code.
[[nodiscard]] int come_together_by_host(MPI_Comm comm);

// Two numbers of which all ranks hear the least, and know then whether all said the same.
[[nodiscard]] constexpr std::array<int, 2> both_ends(int number) noexcept {
  return {number, -number};
}
[[nodiscard]] constexpr bool are_alike(long long least, long long least_negated) noexcept {
  return least == -least_negated;
}

}  // namespace sluice::ops
