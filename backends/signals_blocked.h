// SPDX-License-Identifier: BSD-3-Clause
// SignalsBlocked: for threads that a backend makes. The program's signals are for the program's own threads.
#pragma once

#include <pthread.h>

#include <csignal>

namespace sluice::backends {

// Blocks all signals for the calling thread while it lives; a thread begun meanwhile inherits that for good.
class SignalsBlocked {
 public:
  SignalsBlocked() {
    sigset_t all;
    sigfillset(&all);
    is_blocked_ = pthread_sigmask(SIG_SETMASK, &all, &before_) == 0;
  }
  ~SignalsBlocked() {
    if (is_blocked_) pthread_sigmask(SIG_SETMASK, &before_, nullptr);  // a mask that was there is valid
  }
  SignalsBlocked(const SignalsBlocked &) = delete;
  SignalsBlocked &operator=(const SignalsBlocked &) = delete;

  bool is_blocked() const { return is_blocked_; }

 private:
  sigset_t before_{};
  bool is_blocked_ = false;
};

}  // namespace sluice::backends
