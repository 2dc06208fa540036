// SPDX-License-Identifier: BSD-3-Clause
// The predefined types: which of them the host MPI has, and their layouts.
#include <array>
#include <atomic>
#include <cstddef>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "ops/datatype/handle_key.hpp"
#include "ops/datatype/layout_of.hpp"
#include "ops/datatype/type_probe.hpp"
#include "wire/host.hpp"

namespace sluice::ops {
namespace {

using transfer::Layout;
using transfer::LayoutPtr;

enum class Presence : std::uint8_t { kAlways, kOptional };

struct NamedType {
  MPI_Datatype type;
  Presence presence;
};

// Handles are looked up in the host MPI, so this is no constant.
std::vector<NamedType> listed_types() {
  constexpr auto kAlways = Presence::kAlways;
  std::vector<NamedType> types;
  for (MPI_Datatype type : {MPI_CHAR,
                            MPI_SIGNED_CHAR,
                            MPI_UNSIGNED_CHAR,
                            MPI_BYTE,
                            MPI_PACKED,
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
                            MPI_2INT}) {
    types.push_back({type, kAlways});
  }
  for (MPI_Datatype type : {
           MPI_CXX_BOOL,
           MPI_CXX_FLOAT_COMPLEX,
           MPI_CXX_DOUBLE_COMPLEX,
           MPI_CXX_LONG_DOUBLE_COMPLEX,
           MPI_CHARACTER,
           MPI_LOGICAL,
           MPI_INTEGER,
           MPI_REAL,
           MPI_DOUBLE_PRECISION,
           MPI_COMPLEX,
           MPI_DOUBLE_COMPLEX,
           MPI_2INTEGER,
           MPI_2REAL,
           MPI_2DOUBLE_PRECISION,
#ifdef MPI_LOGICAL1
           MPI_LOGICAL1,
#endif
#ifdef MPI_LOGICAL2
           MPI_LOGICAL2,
#endif
#ifdef MPI_LOGICAL4
           MPI_LOGICAL4,
#endif
#ifdef MPI_LOGICAL8
           MPI_LOGICAL8,
#endif
#ifdef MPI_LOGICAL16
           MPI_LOGICAL16,
#endif
#ifdef MPI_INTEGER1
           MPI_INTEGER1,
#endif
#ifdef MPI_INTEGER2
           MPI_INTEGER2,
#endif
#ifdef MPI_INTEGER4
           MPI_INTEGER4,
#endif
#ifdef MPI_INTEGER8
           MPI_INTEGER8,
#endif
#ifdef MPI_INTEGER16
           MPI_INTEGER16,
#endif
#ifdef MPI_REAL2
           MPI_REAL2,
#endif
#ifdef MPI_REAL4
           MPI_REAL4,
#endif
#ifdef MPI_REAL8
           MPI_REAL8,
#endif
#ifdef MPI_REAL16
           MPI_REAL16,
#endif
#ifdef MPI_COMPLEX4
           MPI_COMPLEX4,
#endif
#ifdef MPI_COMPLEX8
           MPI_COMPLEX8,
#endif
#ifdef MPI_COMPLEX16
           MPI_COMPLEX16,
#endif
#ifdef MPI_COMPLEX32
           MPI_COMPLEX32,
#endif
#ifdef MPI_2COMPLEX
           MPI_2COMPLEX,
#endif
#ifdef MPI_2DOUBLE_COMPLEX
           MPI_2DOUBLE_COMPLEX,
#endif
       }) {
    types.push_back({type, Presence::kOptional});
  }
  return types;
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
  layout->is_contiguous = layout->size_bytes == sizeof(Pair);
  if (layout->is_contiguous) return layout;
  if (offsetof(Pair, index) == sizeof(Value)) {
    layout->blocks = {{0, layout->size_bytes}};
  } else {
    layout->blocks = {{0, sizeof(Value)}, {offsetof(Pair, index), sizeof(int)}};
  }
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

// Asks only what the host MPI is sure to answer: a handle of an optional type that it lacks would raise an error.
bool is_present(const NamedType &named) {
  if (key_of(named.type) == 0 || named.type == MPI_DATATYPE_NULL) return false;
  const ProbeAnswer answer = probe_type(named.type);
  return answer == ProbeAnswer::kAccepted || (answer == ProbeAnswer::kUnknown && named.presence == Presence::kAlways);
}

std::unique_ptr<const NamedTable> build_table() {
  auto table = std::make_unique<NamedTable>();
  for (const NamedType &named : listed_types()) {
    int size = 0;
    if (is_present(named) && wire::host().MPI_Type_size(named.type, &size) == MPI_SUCCESS && size > 0) {
      table->insert(named.type, std::make_shared<Layout>(Layout::basic(static_cast<std::uint64_t>(size))));
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
