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
  int is_done = 0;
  if (!is_sent_ && (outgoing_ == nullptr || !outgoing_->is_hidden())) {
    MPI_Request *request = outgoing_ != nullptr ? outgoing_->request() : &send_;
    MPI_Status ended;
    const int code = host.MPI_Test(request, &is_done, &ended);
    is_sent_ = code != MPI_SUCCESS || is_done != 0;
    if (code != MPI_SUCCESS) host_result_ = code;
    if (is_sent_ && code == MPI_SUCCESS) source_.end_sent();
    if (is_sent_ && code == MPI_SUCCESS && outgoing_ != nullptr) note(outgoing_->finish(&ended));
  }
  if (!is_received_ && !incoming_->is_hidden()) {
    const int code = host.MPI_Test(&receive_, &is_done, status);
    is_received_ = code != MPI_SUCCESS || is_done != 0;
    if (code != MPI_SUCCESS) host_result_ = code;
    if (is_received_ && code == MPI_SUCCESS) note(incoming_->finish(status));
  }
  return is_sent_ && is_received_;
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
