// SPDX-License-Identifier: BSD-3-Clause
#include "ops/p2p/exchange.hpp"

#include <exception>
#include <string>
#include <utility>

#include "base/log.hpp"
#include "progress/engine.hpp"

namespace sluice::ops {

bool Exchange::poll(MPI_Status *status) {
  const wire::Host &host = wire::host();
  if (!is_sent_) poll_send();
  int is_done = 0;
  if (!is_received_ && !incoming_->is_hidden()) {
    const int code = host.MPI_Test(&receive_, &is_done, status);
    is_received_ = code != MPI_SUCCESS || is_done != 0;
    if (code != MPI_SUCCESS) host_result_ = code;
    if (is_received_ && code == MPI_SUCCESS) {
      if (Status finished = incoming_->finish(status); !finished.is_ok()) problem_ = std::move(finished);
    }
  }
  return is_sent_ && is_received_;
}

void Exchange::poll_send() {
  int code = MPI_SUCCESS;
  bool is_done = false;
  if (outgoing_ != nullptr) {
    Status outcome;
    code = outgoing_->poll(&is_done, &outcome);
    if (!outcome.is_ok()) problem_ = std::move(outcome);
  } else {
    int is_complete = 0;
    code = wire::host().MPI_Test(&send_, &is_complete, MPI_STATUS_IGNORE);
    is_done = is_complete != 0;
  }
  is_sent_ = is_done || code != MPI_SUCCESS;
  if (code != MPI_SUCCESS) {
    host_result_ = code;
  } else if (is_sent_) {
    end_sent();
  }
}

// At most one of the two was sent from staging memory.
void Exchange::end_sent() noexcept {
  send_side.end_sent();
  replaced_.end_sent();
}

int Exchange::complete(MPI_Status *status) {
  progress::turn_until([&] { return poll(status); });
  return problem_.is_ok() ? host_result_ : raise(comm_, problem_);
}

void Exchange::withdraw_receive() noexcept {
  if (receive_ == MPI_REQUEST_NULL || wire::host().MPI_Cancel(&receive_) != MPI_SUCCESS) return;
  MPI_Status status;
  is_sent_ = true;
  // A receive that was met before it could be cancelled is completed: the program has been told of an error anyway.
  try {
    progress::turn_until([&] { return poll(&status); });
  } catch (const std::exception &error) {  // no memory: the engine goes on with what is left
    log::warn_once("withdraw", "p2p", std::string("a receive could not be withdrawn: ") + error.what());
  }
}

}  // namespace sluice::ops
