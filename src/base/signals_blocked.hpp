// SPDX-License-Identifier: BSD-3-Clause
// SignalsBlocked: for threads that the library makes. The program's handlers run on the program's own threads.
#pragma once

#include <pthread.h>

#include <csignal>

#include "base/log.hpp"

namespace sluice {

// While it lives, a thread that is made inherits that no signal is for it.
class SignalsBlocked {
 public:
  SignalsBlocked() noexcept {
    sigset_t all;
    sigfillset(&all);
    is_changed_ = pthread_sigmask(SIG_SETMASK, &all, &before_) == 0;
  }
  ~SignalsBlocked() {
    if (is_changed_ && pthread_sigmask(SIG_SETMASK, &before_, nullptr) != 0) {
      log::warn("base", "the signal mask could not be restored");
    }
  }
  SignalsBlocked(const SignalsBlocked &) = delete;
  SignalsBlocked &operator=(const SignalsBlocked &) = delete;
  SignalsBlocked(SignalsBlocked &&) = delete;
  SignalsBlocked &operator=(SignalsBlocked &&) = delete;

 private:
  sigset_t before_{};
  bool is_changed_ = false;
};

}  // namespace sluice
