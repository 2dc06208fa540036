// SPDX-License-Identifier: BSD-3-Clause
// The body of a reduction kernel: what one of n work-items does. Written once; each backend compiles it with its
// device's compiler and supplies the work-items (a thread of a grid, an item of a range, the one thread of a queue).
#pragma once

#include "list.hpp"
#include "numbers.hpp"
#include "rules.hpp"

namespace sluice::kernels {

// The same number as SLUICE_REDUCE_MAX_SOURCES of sluice/backend.h.
inline constexpr unsigned kMaxSources = 16;

// One reduction: dst[i] = sources[0][i] op sources[1][i] op ..., from the left, for i in 0..count-1. All addresses may
// have any alignment. dst may be one of the sources; otherwise it overlaps none.
struct Task {
  unsigned char *dst;
  const unsigned char *sources[kMaxSources];  // NOLINT(modernize-avoid-c-arrays): handed to devices as plain bytes
  std::uint64_t count;                        // of elements
  std::uint32_t n_sources;                    // 1 to kMaxSources
};

inline constexpr unsigned kVectorBytes = 16;

// Where the whole vectors lie.
struct Split {
  std::uint64_t n_before;   // elements in front of the first vector; all when there is none
  std::uint64_t n_vectors;  // 0 also where the addresses differ in their place within a vector
  bool is_aligned;          // each element lies as its type wants
};

template <typename Value>
SLUICE_KERNELS_FUNCTION Split split(const Task &task) {
  const auto first = reinterpret_cast<std::uintptr_t>(task.dst);
  std::uintptr_t differences = 0;
  for (unsigned k = 0; k < task.n_sources; ++k) {
    differences |= first ^ reinterpret_cast<std::uintptr_t>(task.sources[k]);
  }
  Split result = {task.count, 0, ((first | differences) % alignof(Value)) == 0};
  const std::uintptr_t lead_bytes = (kVectorBytes - first % kVectorBytes) % kVectorBytes;
  if (!IsGapless<Value>::value || differences % kVectorBytes != 0 || lead_bytes % sizeof(Value) != 0) return result;
  const std::uint64_t n_lead = lead_bytes / sizeof(Value);
  constexpr std::uint64_t kLanes = kVectorBytes / sizeof(Value);
  if (task.count < n_lead + kLanes) return result;
  result.n_before = n_lead;
  result.n_vectors = (task.count - n_lead) / kLanes;
  return result;
}

template <template <typename> class Rule, typename Value, unsigned kAlignment>
SLUICE_KERNELS_FUNCTION void reduce_element(const Task &task, std::uint64_t i) {
  using Memory = Access<kAlignment, Value>;
  const std::uint64_t at = i * sizeof(Value);
  Value result = Memory::load(task.sources[0] + at);
  for (unsigned k = 1; k < task.n_sources; ++k) {
    result = Rule<Value>::combine(result, Memory::load(task.sources[k] + at));
  }
  Memory::store(task.dst + at, result);
}

template <typename Value>
struct alignas(kVectorBytes) Vector {
  Value lanes[kVectorBytes / sizeof(Value)];  // NOLINT(modernize-avoid-c-arrays): plain bytes in a register
};

template <template <typename> class Rule, typename Value>
SLUICE_KERNELS_FUNCTION void reduce_vector(const Task &task, std::uint64_t at) {
  using Memory = Access<kVectorBytes, Vector<Value>>;
  Vector<Value> result = Memory::load(task.sources[0] + at);
  for (unsigned k = 1; k < task.n_sources; ++k) {
    const Vector<Value> next = Memory::load(task.sources[k] + at);
    for (unsigned lane = 0; lane < kVectorBytes / sizeof(Value); ++lane) {
      result.lanes[lane] = Rule<Value>::combine(result.lanes[lane], next.lanes[lane]);
    }
  }
  Memory::store(task.dst + at, result);
}

// Elements [first, last), those of this item.
template <template <typename> class Rule, typename Value>
SLUICE_KERNELS_FUNCTION void reduce_elements(const Task &task, bool is_aligned, std::uint64_t first, std::uint64_t last,
                                             std::uint64_t item, std::uint64_t n_items) {
  if (is_aligned) {
    for (std::uint64_t i = first + item; i < last; i += n_items) reduce_element<Rule, Value, alignof(Value)>(task, i);
  } else {
    for (std::uint64_t i = first + item; i < last; i += n_items) reduce_element<Rule, Value, 1>(task, i);
  }
}

// The share of work-item `item` of `n_items`. Neighbouring items touch neighbouring memory. The items need nothing of
// each other, so they may run in any order and number; the result is the same in every bit.
template <template <typename> class Rule, typename Value>
SLUICE_KERNELS_FUNCTION void reduce_share(const Task &task, std::uint64_t item, std::uint64_t n_items) {
  const Split parts = split<Value>(task);
  reduce_elements<Rule, Value>(task, parts.is_aligned, 0, parts.n_before, item, n_items);
  if constexpr (IsGapless<Value>::value) {
    if (parts.n_vectors == 0) return;
    const std::uint64_t begin_bytes = parts.n_before * sizeof(Value);
    for (std::uint64_t i = item; i < parts.n_vectors; i += n_items) {
      reduce_vector<Rule, Value>(task, begin_bytes + i * kVectorBytes);
    }
    const std::uint64_t n_done = parts.n_before + parts.n_vectors * (kVectorBytes / sizeof(Value));
    reduce_elements<Rule, Value>(task, parts.is_aligned, n_done, task.count, item, n_items);
  }
}

// The names of list.hpp as types.
#define SLUICE_KERNELS_VALUE(A, name, type, class) using Element_##name = type;
SLUICE_KERNELS_ELEMENTS(SLUICE_KERNELS_VALUE, )
#undef SLUICE_KERNELS_VALUE
#define SLUICE_KERNELS_RULE(name, rule) \
  template <typename Value>             \
  using Rule_##name = rule<Value>;
SLUICE_KERNELS_OPERATIONS(SLUICE_KERNELS_RULE)
#undef SLUICE_KERNELS_RULE

}  // namespace sluice::kernels
