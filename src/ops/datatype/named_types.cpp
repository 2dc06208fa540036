// SPDX-License-Identifier: BSD-3-Clause
// The predefined types: which of them the host MPI has, and their layouts.
#include "ops/datatype/named_types.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "ops/datatype/handle_key.hpp"
#include "ops/datatype/layout_of.hpp"
#include "transfer/packing.hpp"
#include "wire/host.hpp"

namespace sluice::ops {
namespace {

using transfer::Layout;
using transfer::LayoutPtr;

bool is_shorter(const transfer::Block &one, const transfer::Block &other) noexcept {
  return one.size_bytes < other.size_bytes;
}

template <typename Value>
LayoutPtr pair_layout() {
  struct Pair {  // MPI 4.1, section 6.9.4: the layout of the C structure
    Value value;
    int index;
  };
  auto layout = std::make_shared<Layout>();
  layout->size_bytes = sizeof(Value) + sizeof(int);
  layout->extent_bytes = sizeof(Pair);
  layout->end_byte = static_cast<std::int64_t>(offsetof(Pair, index) + sizeof(int));
  layout->is_contiguous = layout->size_bytes == sizeof(Pair);
  if (layout->is_contiguous) return layout;
  layout->packing = std::make_shared<transfer::Packing>(0);
  if (offsetof(Pair, index) == sizeof(Value)) {
    layout->blocks = {{0, layout->size_bytes}};
  } else {
    layout->blocks = {{0, sizeof(Value)}, {offsetof(Pair, index), sizeof(int)}};
  }
  layout->shortest_bytes = std::min_element(layout->blocks.begin(), layout->blocks.end(), is_shorter)->size_bytes;
  layout->longest_bytes = std::max_element(layout->blocks.begin(), layout->blocks.end(), is_shorter)->size_bytes;
  return layout;
}

// Open addressing; the table never changes once it is published.
class NamedTable {
 public:
  void insert(MPI_Datatype type, LayoutPtr layout) {
    const std::uintptr_t key = key_of(type);
    std::size_t at = slot_of(key);
    while (slots_[at].key != 0 && slots_[at].key != key) at = (at + 1) % kSlots;
    slots_[at] = {key, std::move(layout)};
  }

  [[nodiscard]] const Layout *find(MPI_Datatype type) const noexcept {
    const std::uintptr_t key = key_of(type);
    for (std::size_t at = slot_of(key); slots_[at].key != 0; at = (at + 1) % kSlots) {
      if (slots_[at].key == key) return slots_[at].layout.get();
    }
    return nullptr;
  }

 private:
  struct Slot {
    std::uintptr_t key = 0;  // no MPI has a handle 0 that is a type
    LayoutPtr layout;
  };
  static constexpr std::size_t kSlots = 512;  // several times the number of types: a look-up meets a free slot soon

  static std::size_t slot_of(std::uintptr_t key) noexcept {
    return static_cast<std::size_t>((key * 0x9E3779B97F4A7C15U) >> 55U);
  }

  std::array<Slot, kSlots> slots_;
};

std::unique_ptr<const NamedTable> build_table() {
  auto table = std::make_unique<NamedTable>();
  std::vector<MPI_Datatype> types = types_of_c();
  types.push_back(MPI_PACKED);
  for (MPI_Datatype type : types) {
    int size = 0;
    if (key_of(type) != 0 && wire::host().MPI_Type_size(type, &size) == MPI_SUCCESS && size > 0) {
      table->insert(type, std::make_shared<Layout>(Layout::basic(static_cast<std::uint64_t>(size))));
    }
  }
  table->insert(MPI_FLOAT_INT, pair_layout<float>());
  table->insert(MPI_DOUBLE_INT, pair_layout<double>());
  table->insert(MPI_LONG_INT, pair_layout<long>());
  table->insert(MPI_SHORT_INT, pair_layout<short>());
  table->insert(MPI_LONG_DOUBLE_INT, pair_layout<long double>());
  return table;
}

std::atomic<const NamedTable *> published_table{nullptr};

const NamedTable &publish_table() {
  static std::mutex mutex;
  const std::scoped_lock lock(mutex);
  const NamedTable *table = published_table.load(std::memory_order_relaxed);
  if (table == nullptr) {
    table = build_table().release();  // kept for the life of the process: messages may hold its layouts
    published_table.store(table, std::memory_order_release);
  }
  return *table;
}

}  // namespace

std::vector<MPI_Datatype> types_of_c() {
  return {MPI_CHAR,
          MPI_SIGNED_CHAR,
          MPI_UNSIGNED_CHAR,
          MPI_BYTE,
          MPI_WCHAR,
          MPI_SHORT,
          MPI_UNSIGNED_SHORT,
          MPI_INT,
          MPI_UNSIGNED,
          MPI_LONG,
          MPI_UNSIGNED_LONG,
          MPI_LONG_LONG,
          MPI_UNSIGNED_LONG_LONG,
          MPI_FLOAT,
          MPI_DOUBLE,
          MPI_LONG_DOUBLE,
          MPI_INT8_T,
          MPI_INT16_T,
          MPI_INT32_T,
          MPI_INT64_T,
          MPI_UINT8_T,
          MPI_UINT16_T,
          MPI_UINT32_T,
          MPI_UINT64_T,
          MPI_C_BOOL,
          MPI_C_FLOAT_COMPLEX,
          MPI_C_DOUBLE_COMPLEX,
          MPI_C_LONG_DOUBLE_COMPLEX,
          MPI_AINT,
          MPI_COUNT,
          MPI_OFFSET,
          MPI_2INT};
}

bool named_layout(MPI_Datatype type, LayoutPtr *layout) {
  const NamedTable *table = published_table.load(std::memory_order_acquire);
  if (table == nullptr) [[unlikely]]
    table = &publish_table();
  const Layout *found = table->find(type);
  if (found == nullptr) return false;
  *layout = LayoutPtr(LayoutPtr(), found);  // owns nothing, so that no counter is shared between threads
  return true;
}

}  // namespace sluice::ops
