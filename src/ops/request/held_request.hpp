// SPDX-License-Identifier: BSD-3-Clause
// A generalized request of the host MPI that keeps an object of Sluice's alive. All of it: any thread.
#pragma once

#include <memory>
#include <utility>

#include "wire/host.hpp"
#include "wire/mpi.hpp"

namespace sluice::ops {

// The object that such a request holds, from the state that the host MPI hands to the request's functions.
template <typename T>
[[nodiscard]] const std::shared_ptr<T> &held_by_request(void *state) noexcept {
  return *static_cast<std::shared_ptr<T> *>(state);
}

template <typename T>
int release_held(void *state) {
  const std::unique_ptr<std::shared_ptr<T>> released(static_cast<std::shared_ptr<T> *>(state));
  return MPI_SUCCESS;
}

inline int cancel_nothing(void * /*state*/, int /*is_complete*/) {
  return MPI_SUCCESS;
}

// Starts a generalized request. It holds on to `held` until the program has completed it, or has freed it and it is
// complete. `query` fills the status where the program completes the request; a cancel does nothing. Does not block.
// Returns the host MPI's error code; after an error there is no request and nothing is held.
template <typename T>
[[nodiscard]] int start_held_request(std::shared_ptr<T> held, int (*query)(void *state, MPI_Status *status),
                                     MPI_Request *request) {
  auto holder = std::make_unique<std::shared_ptr<T>>(std::move(held));
  const int result = wire::host().MPI_Grequest_start(query, &release_held<T>, &cancel_nothing, holder.get(), request);
  if (result == MPI_SUCCESS) static_cast<void>(holder.release());  // the request's; release_held() frees it
  return result;
}

}  // namespace sluice::ops
