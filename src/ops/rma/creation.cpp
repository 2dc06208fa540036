// SPDX-License-Identifier: BSD-3-Clause
// MPI_Win_create, _create_dynamic, _allocate, _allocate_shared and MPI_Win_free: the ranks agree whose window it is
// (docs/adr/0078).
#include <fmt/format.h>

#include <limits>
#include <optional>
#include <utility>

#include "base/log.hpp"
#include "generated/operations.hpp"
#include "ops/coll/host_calls.hpp"
#include "ops/comm/comm_state.hpp"
#include "ops/rma/exposures.hpp"
#include "ops/rma/host_window.hpp"
#include "ops/rma/window.hpp"

namespace sluice::ops {
namespace rma {
namespace {

// What a call that makes a window was given, and what this rank makes of it.
struct Request {
  void *base = nullptr;
  MPI_Aint size_bytes = 0;
  MPI_Aint disp_unit = 1;
  int flavor = MPI_WIN_FLAVOR_CREATE;
  MPI_Info info = MPI_INFO_NULL;
  MPI_Comm comm = MPI_COMM_NULL;
  MPI_Win *win = nullptr;
  void *baseptr = nullptr;                     // of MPI_Win_allocate: where the address goes
  std::optional<device::AllocationKind> kind;  // the same: what is asked for, if it is not memory of the host
  device::Place place;

  [[nodiscard]] bool is_dynamic() const noexcept { return flavor == MPI_WIN_FLAVOR_DYNAMIC; }
};

// Where this rank's memory lies, if there is any yet. Errors: memory that cannot be used.
Status classify(Request *request) {
  auto *base = static_cast<std::byte *>(request->base);
  if (request->size_bytes < 0)
    return Status::error(ErrorKind::kBadSize, "the size of a window is negative; give 0 bytes or more");
  const bool has_memory = base != nullptr && request->size_bytes != 0 && !request->is_dynamic();
  if (has_memory) {
    Status status = device::classify(base, &request->place);
    if (status.is_ok()) status = transfer::refuse_freed(request->place, base);
    if (!status.is_ok()) return status;
  }
  const bool is_device = request->place.kind == MemoryKind::kDevice;
  const bool is_unit_sound = request->disp_unit > 0 && request->disp_unit <= std::numeric_limits<int>::max();
  if ((is_device || request->kind.has_value()) && !is_unit_sound) {
    return Status::error(ErrorKind::kBadDisplacement,
                         "a window of device memory was given a displacement unit that is not positive, or longer than "
                         "an int; give a positive int");
  }
  if (!is_device) return {};
  return transfer::refuse_past_the_end(base, static_cast<std::uint64_t>(request->size_bytes));
}

// Whether this rank makes it a window of Sluice's.
bool is_wanted(const Request &request) {
  if (request.is_dynamic()) return !device::loaded_backends().empty();
  return request.kind.has_value() || request.place.kind == MemoryKind::kDevice;
}

// The handle that the program gets. Returns the host MPI's error code.
int make_proxy(const Request &request, Window *window) {
  int code = come_together_by_host(request.comm);
  if (code == MPI_SUCCESS) {
    code = wire::host().MPI_Win_create(nullptr, 0, 1, request.info, request.comm, request.win);
  }
  if (code == MPI_SUCCESS) code = wire::host().MPI_Win_get_group(*request.win, window->group.slot());
  window->handle = *request.win;
  return code;
}

// The memory of MPI_Win_allocate. Collective. Errors: there is none, here or at another rank.
Status allocate(Request *request, Window *window) {
  Status made = window->allocation.make(static_cast<std::uint64_t>(request->size_bytes), request->kind);
  request->base = window->allocation.base();
  if (made.is_ok()) made = classify(request);
  bool are_made = false;
  Status status = agree_on_all(window->comm.get(), made.is_ok(), &are_made);
  if (!made.is_ok() || !status.is_ok()) return made.is_ok() ? status : made;
  if (are_made) return {};
  return Status::error(ErrorKind::kOutOfMemory,
                       "another rank of the communicator could not allocate its part of a window; its own error says "
                       "why");
}

// What the window is on this rank, once there is its memory.
void describe(const Request &request, Window *window) {
  window->is_dynamic = request.is_dynamic();
  window->flavor = request.flavor;
  window->base = request.is_dynamic() ? nullptr : request.base;
  window->size_bytes = request.size_bytes;
  window->disp_unit = static_cast<int>(request.disp_unit);
  window->place = request.place;
  if (!request.is_dynamic()) {
    window->memory.set(request.base, static_cast<std::uint64_t>(request.size_bytes), request.place);
  }
}

int make_own(Request request, const CommState &state) {
  const auto window = std::make_shared<Window>(static_cast<std::size_t>(state.size));
  window->rank = state.rank;
  window->size = state.size;
  window->world_ranks = state.world_ranks;
  bool is_made = false;
  Status status = window->comm.make(request.comm, &is_made);
  if (status.is_ok() && !is_made) {
    status =
        Status::error(ErrorKind::kUnsupported,
                      "a window of device memory needs a communicator of Sluice's own, and there are no more; free "
                      "windows or communicators");
  }
  if (status.is_ok() && request.flavor == MPI_WIN_FLAVOR_ALLOCATE) status = allocate(&request, window.get());
  describe(request, window.get());
  if (status.is_ok()) status = exchange_exposures(request.disp_unit, window.get());
  if (!status.is_ok()) return raise(request.comm, status);
  if (const int code = make_proxy(request, window.get()); code != MPI_SUCCESS) return code;
  window->messages =
      std::make_shared<Messages>(window->comm.get(), window->rank, window->size, &window->memory, &window->locks);
  progress::Engine::process().watch(window->messages);
  add_own(window);
  if (request.baseptr != nullptr) *static_cast<void **>(request.baseptr) = request.base;
  return MPI_SUCCESS;
}

// `by_host` makes a window of the host MPI's.
template <typename ByHost>
int make_window(Request request, ByHost by_host) {
  return guarded(request.comm, [&]() -> int {
    const Status classified = classify(&request);
    const bool is_own = is_wanted(request);
    const CommState *state = is_within_channel(request.comm) ? state_for_call(request.comm) : nullptr;
    if (state == nullptr || state->is_inter) {
      if (!classified.is_ok()) return raise(request.comm, classified);
      if (!is_own || request.flavor != MPI_WIN_FLAVOR_CREATE) return reap(by_host());
      return raise(request.comm, Status::error(ErrorKind::kBadBuffer,
                                               "MPI_Win_create: base is device memory, and not all ranks of the "
                                               "communicator are served by Sluice; give it host memory"));
    }
    Agreement<2> agreement;  // a rank has an error; a rank has device memory
    agreement.say({classified.is_ok() ? 1 : 0, is_own ? 0 : 1});
    const int code = run_in_turns([&](MPI_Request *asked) { return agreement.start(request.comm, asked); });
    if (code != MPI_SUCCESS) return code;
    if (!classified.is_ok()) return raise(request.comm, classified);
    if (agreement.least(0) == 0) {
      return raise(request.comm, Status::error(ErrorKind::kBadBuffer,
                                               "another rank of the communicator gave memory or sizes for a window "
                                               "that cannot be used; its own error says why"));
    }
    if (agreement.least(1) != 0) return reap(by_host());
    return make_own(std::move(request), *state);
  });
}

template <typename ByHost>
int allocate_window(Request request, ByHost by_host) {
  return guarded(request.comm, [&]() -> int {
    request.kind = find_wanted_kind(request.info);
    return make_window(std::move(request), by_host);
  });
}

// The host MPI makes these windows, and programs load and store there by the CPU.
void refuse_kind_of_shared(MPI_Info info) noexcept {
  try {
    if (!find_wanted_kind(info).has_value()) return;
    log::warn_once("window_shared", "ops",
                   "MPI_Win_allocate_shared gives memory of the host, whatever mpi_memory_alloc_kind asks for; use "
                   "MPI_Win_allocate for device memory");
  } catch (const std::exception &error) {
    log::warn_once("window_shared", "ops", error.what());
  }
}

}  // namespace
}  // namespace rma

int win_create(void *base, MPI_Aint size, int disp_unit, MPI_Info info, MPI_Comm comm, MPI_Win *win) {
  return rma::make_window({base, size, disp_unit, MPI_WIN_FLAVOR_CREATE, info, comm, win, nullptr, {}, {}},
                          [&] { return wire::host().MPI_Win_create(base, size, disp_unit, info, comm, win); });
}

int win_create_c(void *base, MPI_Aint size, MPI_Aint disp_unit, MPI_Info info, MPI_Comm comm, MPI_Win *win) {
  return rma::make_window({base, size, disp_unit, MPI_WIN_FLAVOR_CREATE, info, comm, win, nullptr, {}, {}},
                          [&] { return wire::host().MPI_Win_create_c(base, size, disp_unit, info, comm, win); });
}

int win_create_dynamic(MPI_Info info, MPI_Comm comm, MPI_Win *win) {
  return rma::make_window({nullptr, 0, 1, MPI_WIN_FLAVOR_DYNAMIC, info, comm, win, nullptr, {}, {}},
                          [&] { return wire::host().MPI_Win_create_dynamic(info, comm, win); });
}

int win_allocate(MPI_Aint size, int disp_unit, MPI_Info info, MPI_Comm comm, void *baseptr, MPI_Win *win) {
  return rma::allocate_window({nullptr, size, disp_unit, MPI_WIN_FLAVOR_ALLOCATE, info, comm, win, baseptr, {}, {}},
                              [&] { return wire::host().MPI_Win_allocate(size, disp_unit, info, comm, baseptr, win); });
}

int win_allocate_c(MPI_Aint size, MPI_Aint disp_unit, MPI_Info info, MPI_Comm comm, void *baseptr, MPI_Win *win) {
  return rma::allocate_window(
      {nullptr, size, disp_unit, MPI_WIN_FLAVOR_ALLOCATE, info, comm, win, baseptr, {}, {}},
      [&] { return wire::host().MPI_Win_allocate_c(size, disp_unit, info, comm, baseptr, win); });
}

int win_allocate_shared(MPI_Aint size, int disp_unit, MPI_Info info, MPI_Comm comm, void *baseptr, MPI_Win *win) {
  rma::refuse_kind_of_shared(info);
  return after_barrier(comm,
                       [&] { return wire::host().MPI_Win_allocate_shared(size, disp_unit, info, comm, baseptr, win); });
}

int win_allocate_shared_c(MPI_Aint size, MPI_Aint disp_unit, MPI_Info info, MPI_Comm comm, void *baseptr,
                          MPI_Win *win) {
  rma::refuse_kind_of_shared(info);
  return after_barrier(
      comm, [&] { return wire::host().MPI_Win_allocate_shared_c(size, disp_unit, info, comm, baseptr, win); });
}

int win_free(MPI_Win *win) {
  const rma::WindowPtr window = win == nullptr ? nullptr : rma::find_own(*win);
  if (window == nullptr) {
    if (win == nullptr) return wire::host().MPI_Win_free(win);
    return rma::complete_by_host(*win, -1, rma::Completion::kSure, [&] { return wire::host().MPI_Win_free(win); });
  }
  const int code = rma::guarded_on(*window, [&]() -> Status {
    {
      const std::scoped_lock lock(window->epochs_mutex);
      if (Status status = window->epochs.may_free(); !status.is_ok()) return status;
      if (const int n = window->n_enqueued.load(); n != 0) {
        return Status::error(ErrorKind::kBadEpoch,
                             fmt::format("{} operations of queues on this window are not complete; complete their "
                                         "requests (MPI_Waitall), then free it",
                                         n));
      }
    }
    if (window->at_end != nullptr) window->at_end();
    Status status = rma::flush_operations(window.get(), -1);
    const Status together = rma::come_together(*window);
    // Who has heard all answers has left that barrier; what was told the others may still be on its way.
    progress::turn_until([&] { return window->messages->has_answered_all(); });
    window->messages->end();
    rma::remove_own(window->handle);
    return status.is_ok() ? together : status;
  });
  if (rma::find_own(*win) != nullptr) return code;  // it is still there
  const int freed = wire::host().MPI_Win_free(win);
  return code != MPI_SUCCESS ? code : freed;
}

}  // namespace sluice::ops
