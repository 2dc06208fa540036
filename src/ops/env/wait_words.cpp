// SPDX-License-Identifier: BSD-3-Clause
#include "ops/env/wait_words.hpp"

#include <array>

#include "wire/host.hpp"

namespace sluice::ops {

void tell_communicator(MPI_Comm comm, waiting::Wait *wait) noexcept {
  if (comm == MPI_COMM_NULL) return;
  if (comm == MPI_COMM_WORLD) {
    waiting::put("MPI_COMM_WORLD", &wait->communicator);
    return;
  }
  std::array<char, MPI_MAX_OBJECT_NAME> text{};
  int length = 0;
  if (wire::host().MPI_Comm_get_name(comm, text.data(), &length) != MPI_SUCCESS) return;
  waiting::put(length > 0 ? text.data() : "a communicator without a name", &wait->communicator);
}

void tell_call_on_comm(const void *subject, waiting::Wait *wait) noexcept {
  const auto *call = static_cast<const CallOnComm *>(subject);
  waiting::put(call->function, &wait->function);
  tell_communicator(call->comm, wait);
}

}  // namespace sluice::ops
