// SPDX-License-Identifier: BSD-3-Clause
#include "ops/p2p/staged_request.hpp"

#include "ops/comm/peer_words.hpp"
#include "wire/status.hpp"

namespace sluice::ops {

Status StagedRequest::prepare() {
  const statistics::Stopwatch watch;
  if ((is_replacing || is_length_unknown) && recv_side.is_staged()) {
    if (Status status = recv_side.copy_down(); !status.is_ok()) return status;
  }
  if (send_side.is_staged()) {
    if (Status status = send_side.copy_down(); !status.is_ok()) return status;
    send_side.record(operation_, send_side.size_bytes(), watch.elapsed());
  }
  send_side.begin_wire();
  recv_side.begin_wire();
  return {};
}

Status StagedRequest::finish(MPI_Status *status) {
  const statistics::Stopwatch watch;
  send_side.end_sent();
  if (!recv_side.is_staged()) return {};
  recv_side.end_received(operation_, *status);
  const std::uint64_t came_bytes = wire::received_bytes(*status);
  Status copied = is_length_unknown ? recv_side.copy_up_whole(operation_, *status)
                                    : recv_side.copy_up(operation_, came_bytes, status);
  recv_side.record(operation_, came_bytes, watch.elapsed());
  return copied;
}

void StagedRequest::tell(waiting::Wait *wait) const noexcept {
  if (!send_side.is_staged() || recv_side.is_staged()) {
    waiting::put(sluice::name(operation_), &wait->function);
    wait->route = static_cast<std::uint8_t>(Route::kStaged);
    return;
  }
  send_side.tell(operation_, waiting::Direction::kSends, wait);
  tell_peer_at_once(communicator(), send_side.message().peer, send_side.message().tag, wait);
}

}  // namespace sluice::ops
