// SPDX-License-Identifier: BSD-3-Clause
// Which numbers (indices of MPI_T) are Sluice's, and which the host MPI's. All of it: any thread.
//
// MPI lets the number of variables grow and forbids that a number changes its meaning (MPI-4.1, section 15.3). So
// Sluice's numbers begin where the host MPI's ended when a tool first asked, and variables that the host MPI adds later
// have numbers behind Sluice's.
#pragma once

#include <atomic>

#include "wire/host.hpp"

namespace sluice::ops::tool {

class Numbers {
 public:
  // `count` is a member of Host that gives the number of the host MPI's variables; `n_own` is the number of Sluice's.
  using Count = int (*)(int *);
  Numbers(Count wire::Host::*count, int n_own) noexcept : count_(count), n_own_(n_own) {}

  // Asks the host MPI, so that all below may be asked. Every operation of the room calls it first. Errors: the host
  // MPI's code (MPI_T_ERR_NOT_INITIALIZED before MPI_T_init_thread).
  [[nodiscard]] int ask() noexcept {
    int n_host = 0;
    if (const int code = (wire::host().*count_)(&n_host); code != MPI_SUCCESS) return code;
    int unasked = kUnasked;
    first_own_.compare_exchange_strong(unasked, n_host);
    n_host_.store(n_host);
    return MPI_SUCCESS;
  }

  [[nodiscard]] int total() const noexcept { return n_host_.load() + n_own_; }
  // Whether `number` is one of Sluice's; own() is which, from 0.
  [[nodiscard]] bool is_own(int number) const noexcept { return own(number) >= 0 && own(number) < n_own_; }
  [[nodiscard]] int own(int number) const noexcept { return number - first_own_.load(); }
  // The host MPI's number of what the program calls `number`, and the other way about.
  [[nodiscard]] int to_host(int number) const noexcept { return own(number) < n_own_ ? number : number - n_own_; }
  [[nodiscard]] int from_host(int number) const noexcept { return own(number) < 0 ? number : number + n_own_; }
  [[nodiscard]] int from_own(int own_number) const noexcept { return own_number + first_own_.load(); }

 private:
  static constexpr int kUnasked = -1;
  Count wire::Host::*count_;
  int n_own_;
  std::atomic<int> first_own_{kUnasked};
  std::atomic<int> n_host_{0};
};

// The numbers of each kind, with those of Sluice's between them.
[[nodiscard]] Numbers &control_numbers();
[[nodiscard]] Numbers &performance_numbers();

}  // namespace sluice::ops::tool
