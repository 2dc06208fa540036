// SPDX-License-Identifier: BSD-3-Clause
#include "ops/io/file_request.hpp"

#include <exception>

#include "base/log.hpp"
#include "ops/datatype/type_contents.hpp"
#include "ops/env/errors.hpp"
#include "ops/env/host_library.hpp"
#include "ops/env/raise.hpp"
#include "ops/request/held_request.hpp"
#include "wire/host.hpp"
#include "wire/status.hpp"

namespace sluice::ops::io {

Status FileRequest::hold_type() {
  TypeEnvelope envelope;
  if (Status status = read_envelope(call_.type, &envelope); !status.is_ok()) return status;
  if (envelope.is_predefined()) return {};
  const wire::Host &host = wire::host();
  int code = MPI_SUCCESS;
  if (trusts_files()) {
    code = host.MPI_Type_dup(call_.type, held_type_.slot());
  } else {
    code = host.MPI_Type_contiguous(1, call_.type, held_type_.slot());
    if (code == MPI_SUCCESS) code = host.MPI_Type_commit(held_type_.slot());
  }
  if (code != MPI_SUCCESS) return host_refused("MPI_Type_dup", code);
  call_.type = held_type_.get();
  return {};
}

int FileRequest::make(const std::shared_ptr<FileRequest> &made) {
  const int result = start_held_request(made, &fill_status, &made->request_);
  if (result != MPI_SUCCESS) return result;
  *made->call_.request = made->request_;
  progress::TrackedRequests::process().add(made->request_, made);
  progress::Engine::process().watch(made);
  return MPI_SUCCESS;
}

int FileRequest::fill_status(void *state, MPI_Status *status) {
  status->MPI_SOURCE = MPI_UNDEFINED;
  status->MPI_TAG = MPI_UNDEFINED;
  wire::set_received_bytes(status, held_by_request<FileRequest>(state)->outcome()->bytes);
  return MPI_SUCCESS;
}

bool FileRequest::advance() {
  // This thread is in a function on files of the host MPI's, and may hold a lock of it.
  if (wire::is_inside_host()) return false;
  try {
    if (!go_on()) return false;
  } catch (const std::exception &error) {
    outcome()->note(Status::of_exception(error));
  }
  release();
  held_type_.reset();
  buffer().record(call_.form->operation, outcome()->bytes, watch_.elapsed());
  is_settled_.store(true, std::memory_order_release);
  if (wire::host().MPI_Grequest_complete(request_) != MPI_SUCCESS) {
    log::warn_once("file_grequest", "io", "the host MPI could not complete a generalized request of a file's");
  }
  return true;
}

Status FileRequest::finish(MPI_Status * /*status*/) {
  const Outcome &ended = *outcome();
  code_ = ended.code != MPI_SUCCESS || ended.problem.is_ok() ? ended.code : raise_on_file(call_.file, ended.problem);
  return {};
}

}  // namespace sluice::ops::io
