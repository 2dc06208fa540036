// SPDX-License-Identifier: BSD-3-Clause
#include "ops/rma/window_request.hpp"

#include <utility>

#include "ops/coll/requests/general_request.hpp"
#include "wire/host.hpp"
#include "wire/host_failure.hpp"

namespace sluice::ops::rma {

int WindowRequest::make(MPI_Comm comm, MPI_Request *request, std::shared_ptr<WindowRequest> *made) {
  auto one = std::make_shared<WindowRequest>(comm);
  coll::Call call;
  call.form = coll::Form::kNonBlocking;
  call.request = request;
  const int result = coll::make_request(call, one, &one->request_);
  if (result == MPI_SUCCESS) *made = std::move(one);
  return result;
}

void WindowRequest::complete(Status result) {
  result_ = std::move(result);
  const int code = wire::host().MPI_Grequest_complete(request_);
  if (code != MPI_SUCCESS && result_.is_ok()) result_ = wire::host_failure(code, "complete a generalized request");
  is_hidden_.store(false, std::memory_order_release);
}

}  // namespace sluice::ops::rma
