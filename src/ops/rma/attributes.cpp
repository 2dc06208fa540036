// SPDX-License-Identifier: BSD-3-Clause
// What a window of Sluice's says of itself, and the memory of dynamic ones. The rest (error handlers, names, infos,
// groups, the program's attributes) is the host MPI's: the handle is a window of its.
#include "ops/rma/synchronization.hpp"
#include "wire/host.hpp"

namespace sluice::ops::rma {

int win_attach(Window *window, void *base, MPI_Aint size_bytes) {
  return guarded_on(*window, [&]() -> Status {
    if (!window->is_dynamic) {
      return Status::error(ErrorKind::kBadAttachment, "MPI_Win_attach to a window that is not dynamic");
    }
    if (size_bytes < 0) return Status::error(ErrorKind::kBadSize, "MPI_Win_attach: the size is negative");
    return window->memory.attach(base, static_cast<std::uint64_t>(size_bytes));
  });
}

int win_detach(Window *window, const void *base) {
  return guarded_on(*window, [&]() -> Status {
    if (window->is_dynamic) return window->memory.detach(base);
    return Status::error(ErrorKind::kBadAttachment, "MPI_Win_detach from a window that is not dynamic");
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

}  // namespace sluice::ops::rma
