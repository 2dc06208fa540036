// SPDX-License-Identifier: BSD-3-Clause
// What a window of Sluice's says of itself, and the memory of dynamic ones. The rest (error handlers, names, infos,
// groups, the program's attributes) is the host MPI's: the handle is a window of its.
#include "generated/operations.hpp"
#include "ops/env/memory_kinds.hpp"
#include "ops/rma/access.hpp"
#include "ops/rma/synchronization.hpp"
#include "wire/host.hpp"

namespace sluice::ops::rma {

int win_attach(Window *window, void *base, MPI_Aint size_bytes) {
  return guarded_on(*window, [&]() -> Status {
    if (!window->is_dynamic) {
      return Status::error(ErrorKind::kBadAttachment,
                           "MPI_Win_attach to a window that is not dynamic; make the window by MPI_Win_create_dynamic");
    }
    if (size_bytes < 0)
      return Status::error(ErrorKind::kBadSize, "MPI_Win_attach: the size is negative; give 0 bytes or more");
    return window->memory.attach(base, static_cast<std::uint64_t>(size_bytes));
  });
}

int win_detach(Window *window, const void *base) {
  return guarded_on(*window, [&]() -> Status {
    if (window->is_dynamic) return window->memory.detach(base);
    return Status::error(ErrorKind::kBadAttachment,
                         "MPI_Win_detach from a window that is not dynamic; make the window by MPI_Win_create_dynamic");
  });
}

int win_get_attr(Window *window, int keyval, void *value, int *flag) {
  void *found = nullptr;
  if (keyval == MPI_WIN_BASE) {
    found = window->base;
  } else if (keyval == MPI_WIN_SIZE) {
    found = &window->size_bytes;
  } else if (keyval == MPI_WIN_DISP_UNIT) {
    found = &window->disp_unit;
  } else if (keyval == MPI_WIN_CREATE_FLAVOR) {
    found = &window->flavor;
  } else if (keyval == MPI_WIN_MODEL) {
    found = &window->model;
  } else {
    return wire::host().MPI_Win_get_attr(window->handle, keyval, value, flag);
  }
  *static_cast<void **>(value) = found;
  *flag = 1;
  return MPI_SUCCESS;
}

namespace {

// Where this rank comes at the memory of `rank`, with a Place of its device; null: nowhere. Errors: a rank that lied.
Status find_reached(Window *window, int rank, void **base) {
  Access access;
  Call call;
  access.window = window;
  access.call = &call;
  access.target_rank = rank;
  access.target.layout = std::make_shared<transfer::Layout>(transfer::Layout::basic(1));
  *base = nullptr;
  if (window->exposures[static_cast<std::size_t>(rank)].size_bytes == 0) return {};
  Status status = plan_route(&access, window->place);
  if (status.is_ok() && access.route == Route::kIpc) *base = access.target.origin;
  return status;
}

template <typename Unit>
int query(Window *window, int rank, MPI_Aint *size_bytes, Unit *disp_unit, void *base) {
  return guarded_on(*window, [&]() -> Status {
    for (int one = 0; rank == MPI_PROC_NULL && one < window->size; ++one) {
      if (window->exposures[static_cast<std::size_t>(one)].size_bytes != 0) rank = one;
    }
    if (rank == MPI_PROC_NULL) rank = window->rank;
    if (rank < 0 || rank >= window->size) {
      return Status::error(
          ErrorKind::kBadRank,
          "MPI_Win_shared_query of a rank that is not in the window; give a rank of it, or MPI_PROC_NULL");
    }
    void *reached = nullptr;
    if (Status status = find_reached(window, rank, &reached); !status.is_ok()) return status;
    const Exposure &exposure = window->exposures[static_cast<std::size_t>(rank)];
    *size_bytes = reached == nullptr ? 0 : static_cast<MPI_Aint>(exposure.size_bytes);
    *disp_unit = static_cast<Unit>(exposure.disp_unit);
    *static_cast<void **>(base) = reached;
    return {};
  });
}

}  // namespace

int win_shared_query(Window *window, int rank, MPI_Aint *size_bytes, int *disp_unit, void *base) {
  return query(window, rank, size_bytes, disp_unit, base);
}

int win_shared_query(Window *window, int rank, MPI_Aint *size_bytes, MPI_Aint *disp_unit, void *base) {
  return query(window, rank, size_bytes, disp_unit, base);
}

}  // namespace sluice::ops::rma

namespace sluice::ops {

// What the program may give to operations on the window, and what MPI_Win_allocate has given it.
int win_get_info(MPI_Win win, MPI_Info *info_used) {
  const int result = wire::host().MPI_Win_get_info(win, info_used);
  if (result != MPI_SUCCESS) return result;
  add_memory_kinds(*info_used);
  const rma::WindowPtr own = rma::find_own(win);
  if (own == nullptr || own->allocation.word().empty()) return MPI_SUCCESS;
  return wire::host().MPI_Info_set(*info_used, rma::kAllocationKey, own->allocation.word().c_str());
}

}  // namespace sluice::ops
