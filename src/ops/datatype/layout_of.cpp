// SPDX-License-Identifier: BSD-3-Clause
#include "ops/datatype/layout_of.hpp"

#include <mutex>

#include "base/log.hpp"
#include "ops/datatype/flatten.hpp"
#include "wire/host.hpp"

namespace sluice::ops {
namespace {

using transfer::Layout;
using transfer::LayoutPtr;

// What the process keeps to work with datatypes; made when first needed.
struct Tools {
  std::mutex mutex;
  int keyval = MPI_KEYVAL_INVALID;
  MPI_Comm validator = MPI_COMM_NULL;
  bool has_validator = false;
};

Tools &tools() {
  static auto *instance = new Tools();
  return *instance;
}

int copy_layout(MPI_Datatype /*type*/, int /*keyval*/, void * /*extra*/, void *value, void *copy, int *is_copied) {
  // A duplicate has the same layout; each type owns a reference.
  *static_cast<void **>(copy) = new LayoutPtr(*static_cast<LayoutPtr *>(value));
  *is_copied = 1;
  return MPI_SUCCESS;
}

int delete_layout(MPI_Datatype /*type*/, int /*keyval*/, void *value, void * /*extra*/) {
  delete static_cast<LayoutPtr *>(value);
  return MPI_SUCCESS;
}

int keyval() {
  Tools &kept = tools();
  const std::scoped_lock lock(kept.mutex);
  if (kept.keyval == MPI_KEYVAL_INVALID &&
      wire::host().MPI_Type_create_keyval(copy_layout, delete_layout, &kept.keyval, nullptr) != MPI_SUCCESS) {
    kept.keyval = MPI_KEYVAL_INVALID;
  }
  return kept.keyval;
}

// The private communicator; MPI_COMM_NULL where there is none to be had (sessions without a world).
MPI_Comm validator() {
  Tools &kept = tools();
  const std::scoped_lock lock(kept.mutex);
  if (kept.has_validator) return kept.validator;
  kept.has_validator = true;
  int has_world = 0;
  if (wire::host().MPI_Initialized(&has_world) != MPI_SUCCESS || has_world == 0) return kept.validator;
  if (wire::host().MPI_Comm_dup(MPI_COMM_SELF, &kept.validator) != MPI_SUCCESS ||
      wire::host().MPI_Comm_set_errhandler(kept.validator, MPI_ERRORS_RETURN) != MPI_SUCCESS) {
    kept.validator = MPI_COMM_NULL;
  }
  return kept.validator;
}

}  // namespace

bool is_valid(MPI_Datatype type) {
  if (type == MPI_DATATYPE_NULL) return false;
  const MPI_Comm communicator = validator();
  // A message of nothing to nobody: the host MPI checks its arguments and does no more.
  return communicator == MPI_COMM_NULL ||
         wire::host().MPI_Send(nullptr, 0, type, MPI_PROC_NULL, 0, communicator) == MPI_SUCCESS;
}

Status layout_of(MPI_Datatype type, LayoutPtr *layout) {
  if (named_layout(type, layout)) return {};
  const int key = keyval();
  void *value = nullptr;
  int is_found = 0;
  if (key != MPI_KEYVAL_INVALID && wire::host().MPI_Type_get_attr(type, key, &value, &is_found) == MPI_SUCCESS &&
      is_found != 0) {
    *layout = *static_cast<LayoutPtr *>(value);
    return {};
  }
  auto decoded = std::make_shared<Layout>();
  if (Status status = flatten(type, decoded.get()); !status.is_ok()) return status;
  *layout = decoded;
  // Without the attribute the type is decoded again next time: slower, not wrong.
  auto kept = std::make_unique<LayoutPtr>(*layout);
  if (key != MPI_KEYVAL_INVALID && wire::host().MPI_Type_set_attr(type, key, kept.get()) == MPI_SUCCESS) {
    [[maybe_unused]] const LayoutPtr *owned_by_type = kept.release();
  }
  return {};
}

void release_datatypes() noexcept {
  Tools &kept = tools();
  const std::scoped_lock lock(kept.mutex);
  bool is_released = true;
  if (kept.keyval != MPI_KEYVAL_INVALID) {
    is_released &= wire::host().MPI_Type_free_keyval(&kept.keyval) == MPI_SUCCESS;
  }
  if (kept.validator != MPI_COMM_NULL) is_released &= wire::host().MPI_Comm_free(&kept.validator) == MPI_SUCCESS;
  kept.keyval = MPI_KEYVAL_INVALID;
  kept.has_validator = false;
  if (!is_released) log::warn("ops", "what was kept for datatypes could not be given back to the host MPI");
}

}  // namespace sluice::ops
