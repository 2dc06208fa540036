// SPDX-License-Identifier: BSD-3-Clause
#include "ops/rma/access.hpp"

#include <fmt/format.h>

#include <cstring>
#include <utility>

#include "base/log.hpp"
#include "ops/rma/side.hpp"
#include "plan/one_sided.hpp"
#include "wire/host_failure.hpp"

namespace sluice::ops::rma {
namespace {

// Whether the target's region lies in its window, of which the exposure says how long it is. A dynamic window's target
// is asked.
Status check_range(const Window &window, const Access &access, std::int64_t offset_bytes) {
  const transfer::Region &target = access.target;
  if (window.is_dynamic || target.size_bytes() == 0) return {};
  const std::uint64_t size_bytes = window.exposures[static_cast<std::size_t>(access.target_rank)].size_bytes;
  std::int64_t lowest = 0;
  const std::uint64_t span_bytes = target.span_bytes();
  const bool is_within = !__builtin_add_overflow(offset_bytes, target.first_byte(), &lowest) && lowest >= 0 &&
                         span_bytes != 0 && span_bytes <= size_bytes &&
                         static_cast<std::uint64_t>(lowest) <= size_bytes - span_bytes;
  if (is_within) return {};
  return Status::error(ErrorKind::kBadRange,
                       fmt::format("{}: {} bytes from byte {} on reach beyond the window of rank {}, which has {} "
                                   "bytes; check displacement, count and datatype",
                                   name(access.call->operation), span_bytes, lowest, access.target_rank, size_bytes));
}

Status complete_nobody(Window *window, const Call &call) {
  Access access;
  access.window = window;
  access.call = &call;
  if (Status status = open_request(&access); !status.is_ok()) return status;
  if (access.request != nullptr) access.request->complete({});
  return {};
}

}  // namespace

Status classify_target(Window *window, const Call &call, Access *access, bool *is_nobody) {
  *is_nobody = call.target_rank == MPI_PROC_NULL;
  if (*is_nobody) return complete_nobody(window, call);
  if (call.target_rank < 0 || call.target_rank >= window->size) {
    return Status::error(ErrorKind::kBadRank,
                         fmt::format("{}: the window has {} ranks, and no rank {}; give a rank of the window's group",
                                     name(call.operation), window->size, call.target_rank));
  }
  access->window = window;
  access->call = &call;
  access->target_rank = call.target_rank;
  {
    const std::scoped_lock lock(window->epochs_mutex);
    if (Status status = window->epochs.note_access(call.target_rank); !status.is_ok()) return status;
  }
  transfer::Region &target = access->target;
  if (Status status = find_layout(call.target, &target.layout); !status.is_ok()) return status;
  target.count = call.target.count;
  const Exposure &exposure = window->exposures[static_cast<std::size_t>(call.target_rank)];
  std::int64_t offset_bytes = 0;
  if (__builtin_mul_overflow(static_cast<std::int64_t>(call.target_disp), exposure.disp_unit, &offset_bytes)) {
    return Status::error(
        ErrorKind::kBadRange,
        "a target displacement is more than memory can have; check it, and the displacement unit of the window");
  }
  target.origin = reinterpret_cast<std::byte *>(static_cast<std::intptr_t>(offset_bytes));
  return check_range(*window, *access, offset_bytes);
}

Status differ(const Call &call) {
  return Status::error(ErrorKind::kTruncated,
                       std::string(name(call.operation)) +
                           ": the buffer of this rank and the target's part of the window are "
                           "not as long as each other; make the counts and datatypes of the two agree");
}

Status classify_move(Access *access, bool is_get, std::uint64_t *size_bytes) {
  const Call &call = *access->call;
  if (Status status = classify(call.origin, &access->origin); !status.is_ok()) return status;
  const std::uint64_t origin_bytes = access->origin.size_bytes();
  const std::uint64_t target_bytes = access->target.size_bytes();
  *size_bytes = is_get ? target_bytes : origin_bytes;
  return (is_get ? origin_bytes < target_bytes : target_bytes < origin_bytes) ? differ(call) : Status();
}

trace::Message message_of(const Access &access) noexcept {
  return {access.call->operation, access.target_rank};
}

plan::OneSidedReason find_reason(const Window &window, int target_rank) {
  const auto rank = static_cast<std::size_t>(target_rank);
  const Exposure &exposure = window.exposures[rank];
  return plan::choose_one_sided({window.is_dynamic, target_rank == window.rank, window.is_near[rank],
                                 exposure.is_exported == 1, DirectAccess::has_runtime(exposure),
                                 window.is_refused[rank].load(std::memory_order_relaxed)});
}

Status plan_route(Access *access, const device::Place &beside) {
  Window &window = *access->window;
  const auto rank = static_cast<std::size_t>(access->target_rank);
  const Exposure &exposure = window.exposures[rank];
  const bool is_self = access->target_rank == window.rank;
  const plan::OneSidedReason reason = find_reason(window, access->target_rank);
  access->route = plan::route_of(reason);
  log::debug("ops", plan::explain(reason));
  if (access->route != Route::kIpc) return {};
  Reached reached{static_cast<std::byte *>(window.base), window.place};
  if (!is_self) {
    Status status = window.direct->map(access->target_rank, window.world_ranks[rank], exposure, beside, &reached);
    if (status.kind() == ErrorKind::kBadPeer) return status;
    if (!status.is_ok() && access->may_map_later) {
      log::debug("ops", status.message() + "; this operation of a queue goes by messages");
      access->route = Route::kStaged;
      return {};
    }
    if (!status.is_ok()) {
      log::warn_once("window_map", "ops", status.message() + "; this rank comes at such windows by messages");
      statistics::record_fallback("ipc_open");
      window.is_refused[rank].store(true, std::memory_order_relaxed);
      access->route = Route::kStaged;
      return {};
    }
  }
  transfer::Region &target = access->target;
  target.origin = transfer::at(reached.base, reinterpret_cast<std::intptr_t>(target.origin));
  target.place = reached.place;
  if (!is_host(target)) static_cast<void>(transfer::name_as_bytes(&target));
  return {};
}

Status open_request(Access *access) {
  if (access->call->request == nullptr) return {};
  const int code = WindowRequest::make(access->window->comm.get(), access->call->request, &access->request);
  return code == MPI_SUCCESS ? Status() : wire::host_failure(code, "make a request for a one-sided operation");
}

Status close_access(Access *access, Status status) {
  if (access->request == nullptr) return status;
  access->request->complete(std::move(status));
  return {};
}

void count(const Access &access, Route route) {
  statistics::record(access.call->operation, access.origin.place.kind, route, 1, access.size_bytes(),
                     access.watch.elapsed());
}

AskedPtr make_asked(const Access &access, std::uint64_t size_bytes, const transfer::Region *result) {
  auto asked = std::make_shared<Asked>();
  asked->message = message_of(access);
  asked->size_bytes = size_bytes;
  asked->span.begin();
  if (result == nullptr) return asked;
  asked->result = *result;
  if (!result->layout->is_contiguous) asked->packed.resize(size_bytes);
  return asked;
}

Status OperandReader::read(std::uint64_t position, std::span<std::byte> bytes) {
  if (region_.layout->is_contiguous) {
    transfer::Region part = region_;
    part.origin += position;
    part.count = 1;
    part.layout = std::make_shared<transfer::Layout>(transfer::Layout::basic(bytes.size()));
    return read_payload(part, bytes.size(), bytes.data());
  }
  if (packed_.empty()) {
    packed_.resize(region_.size_bytes());
    if (Status status = read_payload(region_, packed_.size(), packed_.data()); !status.is_ok()) return status;
  }
  std::memcpy(bytes.data(), packed_.data() + position, bytes.size());
  return {};
}

}  // namespace sluice::ops::rma
