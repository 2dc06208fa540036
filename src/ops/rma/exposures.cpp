// SPDX-License-Identifier: BSD-3-Clause
#include "ops/rma/exposures.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <limits>

#include "base/bad_peer.hpp"
#include "base/log.hpp"
#include "base/statistics.hpp"
#include "device/ipc_exports.hpp"
#include "ops/comm/agreement.hpp"
#include "plan/policy.hpp"
#include "wire/channel.hpp"

namespace sluice::ops::rma {
namespace {

// This rank's line of the table. Memory that cannot be exported is reached by messages, which is said once.
void fill(const Window &window, Exposure *own) {
  own->size_bytes = static_cast<std::uint64_t>(window.size_bytes);
  own->address = reinterpret_cast<std::uintptr_t>(window.base);
  const device::Place &place = window.place;
  if (own->size_bytes == 0 || place.kind != MemoryKind::kDevice ||
      !plan::policy_of(place.backend, place.device).allows_ipc) {
    return;
  }
  device::Exported exported;
  const Status status = device::IpcExports::process().find(place, window.base, own->size_bytes, &exported);
  if (!status.is_ok()) {
    log::warn_once("window_export", "ops", status.message() + "; other ranks come at this window by messages");
    statistics::record_fallback("ipc_export");
    return;
  }
  own->is_exported = 1;
  own->offset_bytes = exported.offset_bytes;
  own->allocation_bytes = exported.allocation_bytes;
  own->handle = exported.handle;
  const std::size_t length = std::min(std::strlen(place.backend->name()), own->backend.size() - 1);
  std::memcpy(own->backend.data(), place.backend->name(), length);
}

// What a rank says of its window is compared with what memory can be.
bool is_sound(const Exposure &one) noexcept {
  constexpr auto kMost = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  return one.size_bytes <= kMost && one.disp_unit > 0 && one.disp_unit <= std::numeric_limits<int>::max() &&
         one.address >= one.offset_bytes && one.offset_bytes <= one.allocation_bytes;
}

int first_of_node(const Window &window, int rank) noexcept {
  const wire::Channel &channel = wire::Channel::process();
  const auto node = channel.node_of(window.world_ranks[static_cast<std::size_t>(rank)]);
  const auto first = std::find_if(window.world_ranks.begin(), window.world_ranks.end(),
                                  [&](int world_rank) { return channel.node_of(world_rank) == node; });
  return static_cast<int>(first - window.world_ranks.begin());
}

}  // namespace

Status exchange_exposures(std::int64_t disp_unit, Window *window) {
  const int first = first_of_node(*window, window->rank);
  static std::atomic<std::uint32_t> n_windows{0};
  Exposure own;
  own.disp_unit = disp_unit;
  own.window_number = ++n_windows;
  fill(*window, &own);
  Status made;
  if (first == window->rank) made = window->locks.create(window->size, &own.locks);
  window->exposures.resize(static_cast<std::size_t>(window->size));
  MPI_Request gathered = MPI_REQUEST_NULL;
  const int code = wire::host().MPI_Iallgather(&own, sizeof own, MPI_BYTE, window->exposures.data(), sizeof own,
                                               MPI_BYTE, window->comm.get(), &gathered);
  Status status = await_in_turns(code, &gathered, "tell the ranks of a window where each has its memory");
  if (!status.is_ok()) return status;
  window->number = static_cast<std::uint32_t>(window->exposures.front().window_number);
  const Exposure &leader = window->exposures[static_cast<std::size_t>(first)];
  if (first != window->rank && leader.locks.front() != '\0' && leader.locks.back() == '\0') {
    made = window->locks.open(leader.locks, window->size);
  } else if (first != window->rank) {
    made = Status::error(ErrorKind::kUnsupported, "a rank of the node has no memory for a window's locks");
  }
  bool are_shared = false;
  status = agree_on_all(window->comm.get(), made.is_ok(), &are_shared);
  if (first == window->rank && own.locks.front() != '\0') wire::SharedSegment::remove_name(own.locks);
  if (!made.is_ok()) log::warn_once("window_locks", "ops", made.message() + "; windows are served by messages");
  if (!are_shared) window->locks.open_alone(window->rank);
  for (int rank = 0; rank < window->size; ++rank) {
    window->is_near.push_back(rank == window->rank || (are_shared && first_of_node(*window, rank) == first));
  }
  if (!std::all_of(window->exposures.begin(), window->exposures.end(), is_sound)) {
    return bad_peer("what a rank says of its window makes no sense");
  }
  return status;
}

}  // namespace sluice::ops::rma
