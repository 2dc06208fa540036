// SPDX-License-Identifier: BSD-3-Clause
// Access: what one operation does to which memory of which rank, found out and checked before anything is done.
// Threads: any, each for an Access of its own.
#pragma once

#include <cstdint>
#include <memory>

#include "base/statistics.hpp"
#include "base/status.hpp"
#include "ops/rma/call.hpp"
#include "ops/rma/window.hpp"
#include "plan/one_sided.hpp"
#include "transfer/region.hpp"

namespace sluice::ops::rma {

struct Access {
  Window *window = nullptr;
  const Call *call = nullptr;
  int target_rank = 0;
  // Of the window's memory; its origin is how far it lies in the window, an address only when reached.
  transfer::Region target;
  transfer::Region origin;
  transfer::Region result;
  Route route = Route::kStaged;
  bool may_map_later = false;  // a target that cannot be mapped now is tried again: a stream of the program's may wait
  std::shared_ptr<WindowRequest> request;  // of a form that gives one
  statistics::Stopwatch watch;

  [[nodiscard]] std::uint64_t size_bytes() const noexcept { return target.size_bytes(); }
};

// Checks rank, epoch, type and range. *is_nobody: the target is MPI_PROC_NULL, and nothing is to be done. Errors: as
// MPI names them.
[[nodiscard]] Status classify_target(Window *window, const Call &call, Access *access, bool *is_nobody);

// That the two sides of `call` are not as long as each other. Errors: always that one.
[[nodiscard]] Status differ(const Call &call);

// Classifies the buffer of a put or a get; *size_bytes: of the payload. Errors: as MPI names them.
[[nodiscard]] Status classify_move(Access *access, bool is_get, std::uint64_t *size_bytes);

// As the trace names it.
[[nodiscard]] trace::Message message_of(const Access &access) noexcept;

// How this rank comes at the memory of `target_rank`, and why.
[[nodiscard]] plan::OneSidedReason find_reason(const Window &window, int target_rank);

// Chooses the route, and maps the target's memory for copies to or from `beside`, if it is to be reached: then the
// origin of `target` is an address. Errors: a target that lied.
[[nodiscard]] Status plan_route(Access *access, const device::Place &beside);

// Makes the program's request, if there is to be one. Errors: the host MPI's.
[[nodiscard]] Status open_request(Access *access);
// The operation is done, or not: completes the request, if there is one, with `status`. Errors: `status`, where there
// is no request to have it.
[[nodiscard]] Status close_access(Access *access, Status status);
void count(const Access &access, Route route);

// What goes in messages: `size_bytes` of payload, to be under way from now on; `result`: where answers' data go, or
// null.
[[nodiscard]] AskedPtr make_asked(const Access &access, std::uint64_t size_bytes, const transfer::Region *result);

// The operand of messages, block by block. One thread at a time.
class OperandReader {
 public:
  // Of `region`, which stays.
  explicit OperandReader(const transfer::Region &region) noexcept : region_(region) {}

  // Brings the bytes from `position` on into *bytes, which says how many. Blocks. Errors: the runtime's.
  [[nodiscard]] Status read(std::uint64_t position, std::span<std::byte> bytes);

 private:
  const transfer::Region &region_;
  std::vector<std::byte> packed_;  // all of a payload with gaps
};

}  // namespace sluice::ops::rma
