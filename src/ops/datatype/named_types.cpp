// SPDX-License-Identifier: BSD-3-Clause
// MPI's named types: the basic ones, and the pairs for MINLOC and MAXLOC, which have gaps.
#include <cstddef>
#include <cstring>
#include <unordered_map>

#include "ops/datatype/layout_of.hpp"
#include "wire/host.hpp"

namespace sluice::ops {
namespace {

using transfer::Layout;
using transfer::LayoutPtr;

// The host MPI's handles are ints or pointers; both fit here.
std::uintptr_t key_of(MPI_Datatype type) noexcept {
  std::uintptr_t key = 0;
  std::memcpy(&key, &type, sizeof(type));
  return key;
}

using Table = std::unordered_map<std::uintptr_t, LayoutPtr>;

void add_basic(Table *table, MPI_Datatype type) {
  MPI_Count size = 0;
  // Types of languages that the host MPI was built without are null or unknown to it.
  if (key_of(type) == 0 || type == MPI_DATATYPE_NULL || wire::host().MPI_Type_size_x(type, &size) != MPI_SUCCESS ||
      size <= 0) {
    return;
  }
  table->emplace(key_of(type), std::make_shared<Layout>(Layout::basic(static_cast<std::uint64_t>(size))));
}

template <typename Value>
void add_pair(Table *table, MPI_Datatype type) {
  struct Pair {
    Value value;
    int index;
  };
  if (key_of(type) == 0 || type == MPI_DATATYPE_NULL) return;
  Layout layout;
  layout.size_bytes = sizeof(Value) + sizeof(int);
  layout.extent_bytes = sizeof(Pair);
  layout.is_contiguous = layout.size_bytes == sizeof(Pair);
  if (!layout.is_contiguous) {
    constexpr auto kIndexOffset = static_cast<std::int64_t>(offsetof(Pair, index));
    if (kIndexOffset == static_cast<std::int64_t>(sizeof(Value))) {
      layout.blocks = {{0, layout.size_bytes}};
    } else {
      layout.blocks = {{0, sizeof(Value)}, {kIndexOffset, sizeof(int)}};
    }
  }
  table->emplace(key_of(type), std::make_shared<Layout>(std::move(layout)));
}

Table make_table() {
  Table table;
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
                            MPI_LONG_LONG_INT,
                            MPI_UNSIGNED_LONG_LONG,
                            MPI_FLOAT,
                            MPI_DOUBLE,
                            MPI_LONG_DOUBLE,
                            MPI_INT8_T,
                            MPI_UINT8_T,
                            MPI_INT16_T,
                            MPI_UINT16_T,
                            MPI_INT32_T,
                            MPI_UINT32_T,
                            MPI_INT64_T,
                            MPI_UINT64_T,
                            MPI_C_BOOL,
                            MPI_C_COMPLEX,
                            MPI_C_DOUBLE_COMPLEX,
                            MPI_C_LONG_DOUBLE_COMPLEX,
                            MPI_AINT,
                            MPI_OFFSET,
                            MPI_COUNT,
                            MPI_2INT}) {
    add_basic(&table, type);
  }
  add_pair<float>(&table, MPI_FLOAT_INT);
  add_pair<double>(&table, MPI_DOUBLE_INT);
  add_pair<long>(&table, MPI_LONG_INT);
  add_pair<short>(&table, MPI_SHORT_INT);
  add_pair<long double>(&table, MPI_LONG_DOUBLE_INT);
  return table;
}

}  // namespace

bool named_layout(MPI_Datatype type, LayoutPtr *layout) {
  static const Table table = make_table();
  const auto found = table.find(key_of(type));
  if (found == table.end()) return false;
  *layout = found->second;
  return true;
}

}  // namespace sluice::ops
