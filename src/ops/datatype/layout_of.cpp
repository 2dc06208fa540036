// SPDX-License-Identifier: BSD-3-Clause
#include "ops/datatype/layout_of.hpp"

#include <atomic>
#include <memory>
#include <mutex>
#include <new>

#include "base/log.hpp"
#include "ops/datatype/flatten.hpp"
#include "ops/datatype/type_probe.hpp"
#include "wire/host.hpp"

namespace sluice::ops {
namespace {

using transfer::Layout;
using transfer::LayoutPtr;

// The attribute under which a datatype carries its layout, a LayoutPtr on the heap that the attribute owns.
std::atomic<int> attribute_key{MPI_KEYVAL_INVALID};
std::mutex attribute_mutex;  // held while a layout is found and hung on its type

// MPI calls these two; nothing may be thrown through it.
extern "C" int sluice_copy_layout(MPI_Datatype /*type*/, int /*key*/, void * /*extra*/, void *value, void *copy,
                                  int *is_copied) noexcept {
  auto *duplicate = new (std::nothrow) LayoutPtr(*static_cast<LayoutPtr *>(value));
  *is_copied = duplicate != nullptr ? 1 : 0;  // without it the duplicate's layout is found when it is needed
  *static_cast<void **>(copy) = duplicate;
  return MPI_SUCCESS;
}

extern "C" int sluice_delete_layout(MPI_Datatype /*type*/, int /*key*/, void *value, void * /*extra*/) noexcept {
  delete static_cast<LayoutPtr *>(value);
  return MPI_SUCCESS;
}

// Once set, the attribute is not replaced before the type is freed: readers need no lock.
bool cached_layout(MPI_Datatype type, LayoutPtr *layout) {
  const int key = attribute_key.load(std::memory_order_acquire);
  void *value = nullptr;
  int is_set = 0;
  if (key == MPI_KEYVAL_INVALID || wire::host().MPI_Type_get_attr(type, key, &value, &is_set) != MPI_SUCCESS ||
      is_set == 0) {
    return false;
  }
  *layout = *static_cast<const LayoutPtr *>(value);
  return true;
}

// With attribute_mutex held. Without a cached layout everything works, only slower; so a refusal is no error.
void cache_layout(MPI_Datatype type, const LayoutPtr &layout) {
  int key = attribute_key.load(std::memory_order_relaxed);
  if (key == MPI_KEYVAL_INVALID) {
    if (wire::host().MPI_Type_create_keyval(sluice_copy_layout, sluice_delete_layout, &key, nullptr) != MPI_SUCCESS) {
      log::warn_once("layout-keyval", "ops", "MPI_Type_create_keyval failed; datatypes are taken apart at every use");
      return;
    }
    attribute_key.store(key, std::memory_order_release);
  }
  std::unique_ptr<LayoutPtr> value(new (std::nothrow) LayoutPtr(layout));
  if (value == nullptr) return;
  if (wire::host().MPI_Type_set_attr(type, key, value.get()) != MPI_SUCCESS) {
    log::warn_once("layout-attribute", "ops", "MPI_Type_set_attr failed; the datatype is taken apart at every use");
    return;
  }
  [[maybe_unused]] LayoutPtr *owned = value.release();  // by the attribute now
}

}  // namespace

Status layout_of(MPI_Datatype type, LayoutPtr *layout) {
  if (named_layout(type, layout) || cached_layout(type, layout)) return {};
  try {
    const std::scoped_lock lock(attribute_mutex);
    if (cached_layout(type, layout)) return {};  // another thread was first
    auto made = std::make_shared<Layout>();
    if (Status status = flatten(type, made.get()); !status.is_ok()) return status;
    *layout = std::move(made);
    cache_layout(type, *layout);
    return {};
  } catch (const std::bad_alloc &) {
    return Status::error(ErrorKind::kOutOfMemory,
                         "no memory to take a datatype with many separate blocks apart; send it in parts");
  }
}

std::int64_t first_byte_of(MPI_Datatype type) {
  LayoutPtr layout;
  if (layout_of(type, &layout).is_ok()) return layout->first_byte;
  MPI_Count lower = 0;
  MPI_Count extent = 0;
  if (wire::host().MPI_Type_get_true_extent_x(type, &lower, &extent) != MPI_SUCCESS) return 0;
  return extent > 0 ? lower : 0;
}

bool is_valid(MPI_Datatype type) {
  if (type == MPI_DATATYPE_NULL) return false;
  LayoutPtr layout;
  return named_layout(type, &layout) || probe_type(type) != ProbeAnswer::kRejected;
}

void release_datatypes() noexcept {
  release_probe();
  const std::scoped_lock lock(attribute_mutex);
  int key = attribute_key.exchange(MPI_KEYVAL_INVALID);
  // Types that still carry a layout keep the key alive inside the host MPI until they are freed.
  if (key != MPI_KEYVAL_INVALID && wire::host().MPI_Type_free_keyval(&key) != MPI_SUCCESS) {
    log::debug("ops", "the attribute key of datatypes could not be freed");
  }
}

}  // namespace sluice::ops
