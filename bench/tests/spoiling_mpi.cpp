// SPDX-License-Identifier: BSD-3-Clause
// A library to preload below sluice-bench that spoils what is received, so that the checks can be seen to fail.
// SPOIL_MODE: flip (one bit of the last byte), tail (the last three quarters overwritten), lost (nothing arrives),
// outside (a byte behind the message), none. SPOIL_MIN_BYTES: messages of fewer bytes are left alone. Host memory only.
#include <mpi.h>

#include <cstdlib>
#include <cstring>
#include <map>
#include <string>
#include <vector>

namespace {

struct Pending {
  unsigned char *bytes = nullptr;
  std::size_t n_bytes = 0;
  std::vector<unsigned char> before;
};

// MPI_Request is an integer or a pointer; both are unique while the receive is pending.
std::map<MPI_Request, Pending> pending;

std::string mode() {
  const char *text = std::getenv("SPOIL_MODE");
  return text != nullptr ? text : "none";
}

std::size_t smallest() {
  const char *text = std::getenv("SPOIL_MIN_BYTES");
  return text != nullptr ? std::strtoull(text, nullptr, 10) : 1;
}

Pending remember(void *buffer, int count) {
  auto *bytes = static_cast<unsigned char *>(buffer);
  const auto n_bytes = static_cast<std::size_t>(count);
  return {bytes, n_bytes, {bytes, bytes + n_bytes}};
}

void spoil(const Pending &message) {
  if (message.n_bytes == 0 || message.n_bytes < smallest()) {
    return;
  }
  if (mode() == "flip") {
    message.bytes[message.n_bytes - 1] ^= 0x40U;
  } else if (mode() == "tail") {
    std::memset(message.bytes + message.n_bytes / 4, 0, message.n_bytes - message.n_bytes / 4);
  } else if (mode() == "lost") {
    std::memcpy(message.bytes, message.before.data(), message.n_bytes);
  } else if (mode() == "outside") {
    message.bytes[message.n_bytes] ^= 1U;
  }
}

void finish(const std::vector<MPI_Request> &requests) {
  for (MPI_Request request : requests) {
    if (const auto found = pending.find(request); found != pending.end()) {
      spoil(found->second);
      pending.erase(found);
    }
  }
}

}  // namespace

extern "C" {

__attribute__((visibility("default"))) int MPI_Recv(void *buf, int count, MPI_Datatype datatype, int source, int tag,
                                                    MPI_Comm comm, MPI_Status *status) {
  const bool is_bytes = datatype == MPI_CHAR;
  const Pending message = remember(buf, is_bytes ? count : 0);
  const int rc = PMPI_Recv(buf, count, datatype, source, tag, comm, status);
  spoil(message);
  return rc;
}

__attribute__((visibility("default"))) int MPI_Irecv(void *buf, int count, MPI_Datatype datatype, int source, int tag,
                                                     MPI_Comm comm, MPI_Request *request) {
  const Pending message = remember(buf, datatype == MPI_CHAR ? count : 0);
  const int rc = PMPI_Irecv(buf, count, datatype, source, tag, comm, request);
  pending[*request] = message;
  return rc;
}

__attribute__((visibility("default"))) int MPI_Wait(MPI_Request *request, MPI_Status *status) {
  const std::vector<MPI_Request> requests{*request};
  const int rc = PMPI_Wait(request, status);
  finish(requests);
  return rc;
}

__attribute__((visibility("default"))) int MPI_Waitall(int count, MPI_Request requests[], MPI_Status statuses[]) {
  const std::vector<MPI_Request> before(requests, requests + count);
  const int rc = PMPI_Waitall(count, requests, statuses);
  finish(before);
  return rc;
}

}  // extern "C"
