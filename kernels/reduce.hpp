// SPDX-License-Identifier: BSD-3-Clause
// The body of a reduction kernel: what one of n work-items does. Written once; each backend compiles it with its
// device's compiler and supplies the work-items (a thread of a grid, an item of a range, the one thread of a queue).
#pragma once

#include "list.hpp"
#include "numbers.hpp"
#include "rules.hpp"

namespace sluice::kernels {

// The same numbers as SLUICE_REDUCE_MAX_SOURCES and SLUICE_REDUCE_MAX_DSTS of sluice/backend.h.
inline constexpr unsigned kMaxSources = 16;
inline constexpr unsigned kMaxDsts = 16;

// One reduction: each dsts[d][i] = sources[0][i] op sources[1][i] op ..., from the left, for i in 0..count-1. All
// addresses may have any alignment. A destination may be one of the sources; otherwise it overlaps none, nor another
// destination. Each element of all sources is read before it is written anywhere. With is_fetch there are two of each;
// dsts[0] is sources[1], and dsts[1] gets the elements of sources[1] as they were.
struct Task {
  // NOLINTBEGIN(modernize-avoid-c-arrays): handed to devices as plain bytes
  unsigned char *dsts[kMaxDsts];
  const unsigned char *sources[kMaxSources];
  // NOLINTEND(modernize-avoid-c-arrays)
  std::uint64_t count;      // of elements
  std::uint32_t n_sources;  // 1 to kMaxSources
  std::uint16_t n_dsts;     // 1 to kMaxDsts
  std::uint16_t is_fetch;
};

inline constexpr unsigned kVectorBytes = 16;
// How many vectors an item has under way from each source; fewer of short elements, of which a vector has many.
template <typename Value>
inline constexpr unsigned kVectorsAtOnce = sizeof(Value) >= 4 ? 4 : sizeof(Value);

// Where the whole vectors lie.
struct Split {
  std::uint64_t n_before;   // elements in front of the first vector; all when there is none
  std::uint64_t n_vectors;  // 0 also where the addresses differ in their place within a vector
  bool is_aligned;          // each element lies as its type wants
};

template <typename Value>
SLUICE_KERNELS_FUNCTION Split split(const Task &task) {
  const auto first = reinterpret_cast<std::uintptr_t>(task.dsts[0]);
  std::uintptr_t differences = 0;
  SLUICE_KERNELS_ROLLED
  for (unsigned k = 1; k < task.n_dsts; ++k) differences |= first ^ reinterpret_cast<std::uintptr_t>(task.dsts[k]);
  SLUICE_KERNELS_ROLLED
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
  SLUICE_KERNELS_ROLLED
  for (unsigned k = 1; k < task.n_sources; ++k) {
    result = Rule<Value>::combine(result, Memory::load(task.sources[k] + at));
  }
  SLUICE_KERNELS_ROLLED
  for (unsigned k = 0; k < task.n_dsts; ++k) Memory::store(task.dsts[k] + at, result);
}

template <typename Value>
struct alignas(kVectorBytes) Vector {
  Value lanes[kVectorBytes / sizeof(Value)];  // NOLINT(modernize-avoid-c-arrays): plain bytes in a register
};

// kVectors vectors, one every `stride_bytes` bytes from `at` on. The loads of all of them from one source are under way
// at the same time, so that a far memory is waited for once.
template <template <typename> class Rule, typename Value, unsigned kVectors>
SLUICE_KERNELS_FUNCTION void reduce_vectors(const Task &task, std::uint64_t at, std::uint64_t stride_bytes) {
  using Memory = Access<kVectorBytes, Vector<Value>>;
  // NOLINTBEGIN(modernize-avoid-c-arrays): registers
  Vector<Value> results[kVectors];
  Vector<Value> next[kVectors];
  // NOLINTEND(modernize-avoid-c-arrays)
  SLUICE_KERNELS_UNROLLED
  for (unsigned v = 0; v < kVectors; ++v) results[v] = Memory::load(task.sources[0] + at + v * stride_bytes);
  SLUICE_KERNELS_ROLLED
  for (unsigned k = 1; k < task.n_sources; ++k) {
    SLUICE_KERNELS_UNROLLED
    for (unsigned v = 0; v < kVectors; ++v) next[v] = Memory::load(task.sources[k] + at + v * stride_bytes);
    SLUICE_KERNELS_UNROLLED
    for (unsigned v = 0; v < kVectors; ++v) {
      SLUICE_KERNELS_UNROLLED
      for (unsigned lane = 0; lane < kVectorBytes / sizeof(Value); ++lane) {
        results[v].lanes[lane] = Rule<Value>::combine(results[v].lanes[lane], next[v].lanes[lane]);
      }
    }
  }
  SLUICE_KERNELS_ROLLED
  for (unsigned k = 0; k < task.n_dsts; ++k) {
    SLUICE_KERNELS_UNROLLED
    for (unsigned v = 0; v < kVectors; ++v) Memory::store(task.dsts[k] + at + v * stride_bytes, results[v]);
  }
}

// The elements of this item among those in front of the vectors and behind them.
template <template <typename> class Rule, typename Value, unsigned kAlignment>
SLUICE_KERNELS_FUNCTION void reduce_elements(const Task &task, const Split &parts, std::uint64_t item,
                                             std::uint64_t n_items) {
  const std::uint64_t n_in_vectors = parts.n_vectors * (kVectorBytes / sizeof(Value));
  SLUICE_KERNELS_ROLLED
  for (std::uint64_t i = item; i < task.count - n_in_vectors; i += n_items) {
    reduce_element<Rule, Value, kAlignment>(task, i < parts.n_before ? i : i + n_in_vectors);
  }
}

// The elements of this item of an update that tells what was there: few of them, so not in vectors.
template <template <typename> class Rule, typename Value, unsigned kAlignment>
SLUICE_KERNELS_FUNCTION void fetch_elements(const Task &task, std::uint64_t item, std::uint64_t n_items) {
  using Memory = Access<kAlignment, Value>;
  SLUICE_KERNELS_ROLLED
  for (std::uint64_t i = item; i < task.count; i += n_items) {
    const std::uint64_t at = i * sizeof(Value);
    const Value operand = Memory::load(task.sources[0] + at);
    const Value was = Memory::load(task.sources[1] + at);
    Memory::store(task.dsts[1] + at, was);
    Memory::store(task.dsts[0] + at, Rule<Value>::combine(operand, was));
  }
}

// The share of work-item `item` of `n_items`. Neighbouring items touch neighbouring memory. The items need nothing of
// each other, so they may run in any order and number; the result is the same in every bit.
template <template <typename> class Rule, typename Value>
SLUICE_KERNELS_FUNCTION void reduce_share(const Task &task, std::uint64_t item, std::uint64_t n_items) {
  const Split parts = split<Value>(task);
  if (task.is_fetch != 0) {
    if (parts.is_aligned) {
      fetch_elements<Rule, Value, alignof(Value)>(task, item, n_items);
    } else {
      fetch_elements<Rule, Value, 1>(task, item, n_items);
    }
    return;
  }
  if constexpr (IsGapless<Value>::value) {
    const std::uint64_t begin_bytes = parts.n_before * sizeof(Value);
    const std::uint64_t stride_bytes = n_items * kVectorBytes;
    constexpr unsigned kAtOnce = kVectorsAtOnce<Value>;
    std::uint64_t i = item;
    SLUICE_KERNELS_ROLLED
    for (; i + (kAtOnce - 1) * n_items < parts.n_vectors; i += kAtOnce * n_items) {
      reduce_vectors<Rule, Value, kAtOnce>(task, begin_bytes + i * kVectorBytes, stride_bytes);
    }
    SLUICE_KERNELS_ROLLED
    for (; i < parts.n_vectors; i += n_items) {
      reduce_vectors<Rule, Value, 1>(task, begin_bytes + i * kVectorBytes, stride_bytes);
    }
  }
  if (parts.is_aligned) {
    reduce_elements<Rule, Value, alignof(Value)>(task, parts, item, n_items);
  } else {
    reduce_elements<Rule, Value, 1>(task, parts, item, n_items);
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
