// SPDX-License-Identifier: BSD-3-Clause
#include "ops/datatype/layout_of.hpp"

#include <atomic>
#include <cstddef>
#include <memory>
#include <mutex>
#include <new>
#include <unordered_map>
#include <utility>

#include "base/log.hpp"
#include "ops/datatype/flatten.hpp"
#include "ops/datatype/type_probe.hpp"
#include "wire/host.hpp"
#include "wire/host_failure.hpp"

namespace sluice::ops {
namespace {

using transfer::Layout;
using transfer::LayoutPtr;

// The attribute under which a datatype carries its layout, a LayoutPtr on the heap that the attribute owns.
std::atomic<int> attribute_key{MPI_KEYVAL_INVALID};
std::mutex attribute_mutex;  // held while a layout is found and hung on its type

// The values of all attributes. The host MPI deletes none of a type that lives until MPI_Finalize, because nobody freed
// it or nobody may (MPI_Type_create_f90_real); those are given back from here.
class AttributeValues {
 public:
  // Null when there is no memory.
  void *add(const LayoutPtr &layout) noexcept {
    try {
      auto value = std::make_unique<LayoutPtr>(layout);
      void *const address = value.get();
      const std::scoped_lock lock(mutex_);
      values_.emplace(address, std::move(value));
      n_added_.fetch_add(1, std::memory_order_release);
      return address;
    } catch (const std::bad_alloc &) {
      return nullptr;
    }
  }

  // What an attribute has given back. The host MPI hands the address from one thread to another; the counter does what
  // MPI does not promise, and makes visible what lies there.
  [[nodiscard]] const LayoutPtr &at(const void *value) const noexcept {
    static_cast<void>(n_added_.load(std::memory_order_acquire));
    return *static_cast<const LayoutPtr *>(value);
  }

  // A second value beside `value`; null when clear() gave that one back, or without memory.
  void *duplicate(void *value) noexcept {
    LayoutPtr layout;
    {
      const std::scoped_lock lock(mutex_);
      const auto found = values_.find(value);
      if (found != values_.end()) layout = *found->second;
    }
    return layout != nullptr ? add(layout) : nullptr;
  }

  // Does nothing for a value that clear() gave back.
  void remove(void *value) noexcept {
    const std::scoped_lock lock(mutex_);
    values_.erase(value);
  }

  void clear() noexcept {
    const std::scoped_lock lock(mutex_);
    values_.clear();
  }

 private:
  std::atomic<std::size_t> n_added_{0};
  std::mutex mutex_;
  std::unordered_map<void *, std::unique_ptr<LayoutPtr>> values_;
};

// Outlives whatever a program may do to its types while it ends.
AttributeValues &attribute_values() {
  static AttributeValues *const values = new AttributeValues;
  return *values;
}

// MPI calls these two; nothing may be thrown through it.
extern "C" int sluice_copy_layout(MPI_Datatype /*type*/, int /*key*/, void * /*extra*/, void *value, void *copy,
                                  int *is_copied) noexcept {
  void *duplicate = attribute_values().duplicate(value);
  *is_copied = duplicate != nullptr ? 1 : 0;  // without it the duplicate's layout is found when it is needed
  *static_cast<void **>(copy) = duplicate;
  return MPI_SUCCESS;
}

extern "C" int sluice_delete_layout(MPI_Datatype /*type*/, int /*key*/, void *value, void * /*extra*/) noexcept {
  attribute_values().remove(value);
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
  *layout = attribute_values().at(value);
  return true;
}

void warn_of_no_cache(int code) {
  log::warn_once("layout-cache", "ops",
                 wire::host_failure(code, "keep what Sluice knows of a datatype with it",
                                    "datatypes are taken apart at every use, which takes longer")
                     .message());
}

// With attribute_mutex held. Without a cached layout everything works, only slower; so a refusal is no error.
void cache_layout(MPI_Datatype type, const LayoutPtr &layout) {
  int key = attribute_key.load(std::memory_order_relaxed);
  if (key == MPI_KEYVAL_INVALID) {
    const int code = wire::host().MPI_Type_create_keyval(sluice_copy_layout, sluice_delete_layout, &key, nullptr);
    if (code != MPI_SUCCESS) {
      warn_of_no_cache(code);
      return;
    }
    attribute_key.store(key, std::memory_order_release);
  }
  void *value = attribute_values().add(layout);
  if (value == nullptr) return;
  if (const int code = wire::host().MPI_Type_set_attr(type, key, value); code != MPI_SUCCESS) {
    attribute_values().remove(value);
    warn_of_no_cache(code);
  }
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
  attribute_values().clear();
}

}  // namespace sluice::ops
