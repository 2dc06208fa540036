// SPDX-License-Identifier: BSD-3-Clause
// Agreement: what the ranks of a communicator hear of each other's answers: the least of each number that all say. And
// what they agree on so while they prepare to move device memory together, in calls that block. Threads: any, one at a
// time on a communicator, as MPI has collective calls.
#pragma once

#include <array>
#include <cstddef>
#include <string_view>

#include "base/status.hpp"
#include "wire/host.hpp"
#include "wire/mpi.hpp"

namespace sluice::ops {

// One MPI_Iallreduce. Stays where it is from start() until that request is complete. One thread at a time.
template <std::size_t N>
class Agreement {
 public:
  // This rank's numbers; until the others are heard they are the least.
  void say(const std::array<long long, N> &own) noexcept {
    own_ = own;
    least_ = own;
  }
  // Collective over `comm`. Does not block. Returns the host MPI's code.
  [[nodiscard]] int start(MPI_Comm comm, MPI_Request *request) {
    return wire::host().MPI_Iallreduce(own_.data(), least_.data(), static_cast<int>(N), MPI_LONG_LONG_INT, MPI_MIN,
                                       comm, request);
  }
  // When the request is complete.
  [[nodiscard]] long long least(std::size_t i) const noexcept { return least_[i]; }

 private:
  std::array<long long, N> own_{};
  std::array<long long, N> least_{};
};

// All that follows is collective over `comm` and blocks, in turns. Errors of all: those of the host MPI.

// Waits for `request`, which a call of the host MPI's has started that returned `code`; if it failed, there is none. An
// error says that the host MPI could not <what>.
[[nodiscard]] Status await_in_turns(int code, MPI_Request *request, std::string_view what);

// The least `value` of all ranks of `comm`. On an error *least is `value`.
[[nodiscard]] Status find_least(MPI_Comm comm, int value, int *least);

// The same, and whether `number`, which can be negated, is the same on all ranks.
[[nodiscard]] Status find_least(MPI_Comm comm, int value, int number, int *least, bool *is_alike);

// Whether `value` is true on all ranks of `comm`. On an error it counts as false.
[[nodiscard]] Status agree_on_all(MPI_Comm comm, bool value, bool *is_true);

// Returns when all ranks of `comm` are here, so that a function of the host MPI which follows, and which they all call,
// depends on nobody outside. Returns the host MPI's error code.
[[nodiscard]] int come_together_by_host(MPI_Comm comm);

// Whether all ranks said the same `number`, of what all heard of it and of its negative. Pure.
[[nodiscard]] constexpr bool are_alike(long long least, long long least_negated) noexcept {
  return least == -least_negated;
}

}  // namespace sluice::ops
