// SPDX-License-Identifier: BSD-3-Clause
#include "ops/coll/call/sides.hpp"

#include <algorithm>

#include "base/log.hpp"
#include "ops/comm/comm_state.hpp"
#include "wire/channel.hpp"

namespace sluice::ops::coll {

void Sides::look_for_overlap(MPI_Comm comm) {
  if (!send.is_staged() || !recv.is_staged() || !send.is_dense() || !recv.is_dense()) return;
  const transfer::Span sent = send.span();
  const transfer::Span received = recv.span();
  if (sent.lowest >= received.lowest + received.size_bytes || received.lowest >= sent.lowest + sent.size_bytes) return;
  const CommStatePtr state = state_of(comm);
  overlap = state == nullptr || !state->is_of_levels;
}

Status Sides::open(Call *call) {
  if (overlap) {
    const transfer::Span sent = send.span();
    const transfer::Span received = recv.span();
    std::byte *const begin = std::min(sent.lowest, received.lowest);
    std::byte *const end = std::max(sent.lowest + sent.size_bytes, received.lowest + received.size_bytes);
    Status status = recv.open_reaching({begin, static_cast<std::uint64_t>(end - begin)}, &call->recv);
    if (status.is_ok()) send.open_within(recv, &call->send);
    return status;
  }
  if (send.is_staged()) {
    if (Status status = send.open(&call->send); !status.is_ok()) return status;
  }
  return recv.is_staged() ? recv.open(&call->recv) : Status();
}

Status Sides::copy_down(Down down) const {
  Status status = send.copy_down(down);
  return status.is_ok() ? recv.copy_down(down) : status;
}

Status Sides::copy_down_uncompared(Pattern pattern) const {
  Status status = copy_down(Down::kRead);
  if (!status.is_ok() || is_reduction(pattern)) return status;
  if (const Status rest = copy_down(Down::kWritten); !rest.is_ok()) log::warn_once("coll_fill", "ops", rest.message());
  return status;
}

Status Sides::copy_up() const {
  return recv.copy_up();  // nothing is written into the other
}

void Sides::record(Operation operation, std::chrono::nanoseconds time) const noexcept {
  send.record(operation, time);
  recv.record(operation, time);
}

void Sides::record_in_segments(Operation operation, std::chrono::nanoseconds time) const noexcept {
  for (const CollectiveSide *side : {&send, &recv}) {
    if (side->is_staged()) {
      side->record(operation, Route::kPipelined, time);
    } else {
      side->record(operation, time);
    }
  }
}

bool look_whether_sides_matter() noexcept {
  static_cast<void>(device::loaded_backends());  // looks
  return sides_matter();
}

bool sides_matter() noexcept {
  return !device::known_backends().empty() || statistics::is_enabled();
}

bool look_whether_member_matters() noexcept {
  return wire::Channel::process().is_open() || look_whether_sides_matter();
}

}  // namespace sluice::ops::coll
