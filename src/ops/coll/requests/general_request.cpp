// SPDX-License-Identifier: BSD-3-Clause
#include "ops/coll/requests/general_request.hpp"

#include <fmt/format.h>

#include <utility>

#include "ops/env/errors.hpp"
#include "ops/request/held_request.hpp"
#include "wire/host.hpp"
#include "wire/host_failure.hpp"

namespace sluice::ops::coll {
namespace {

// What MPI demands of a generalized request. A collective operation has a status that says nothing.
int fill_status(void * /*state*/, MPI_Status *status) {
  status->MPI_SOURCE = MPI_UNDEFINED;
  status->MPI_TAG = MPI_UNDEFINED;
  const int result = wire::host().MPI_Status_set_elements(status, MPI_BYTE, 0);
  return result == MPI_SUCCESS ? wire::host().MPI_Status_set_cancelled(status, 0) : result;
}

int free_nothing(void * /*state*/) {
  return MPI_SUCCESS;
}

}  // namespace

int make_request(const Call &call, progress::TrackedPtr tracked, MPI_Request *request) {
  const wire::Host &host = wire::host();
  const bool is_persistent = call.form == Form::kPersistent;
  // The persistent one is not from MPI_PROC_NULL: Intel MPI's MPI_Testany takes such a one for complete.
  const int result = is_persistent
                         ? host.MPI_Recv_init(nullptr, 0, MPI_BYTE, 0, 0, MPI_COMM_SELF, call.request)
                         : host.MPI_Grequest_start(&fill_status, &free_nothing, &cancel_nothing, nullptr, call.request);
  if (result != MPI_SUCCESS) return result;
  *request = *call.request;
  progress::TrackedRequests::process().add(*call.request, std::move(tracked));
  return MPI_SUCCESS;
}

Status host_error(const Call &call, int code) {
  return Status::error(kind_of(code), fmt::format("{}: {}", name(call.operation), wire::error_text(code)));
}

}  // namespace sluice::ops::coll
