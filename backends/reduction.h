// SPDX-License-Identifier: BSD-3-Clause
// What every backend does with a reduction before its own runtime sees it: the pair and the numbers are checked, and
// the contract's description becomes the kernels'.
#pragma once

#include <string>

#include "functions.hpp"
#include "outcome.h"
#include "sluice/backend.h"

namespace sluice::backends {

// The contract and the kernels give one number to each name.
#define SLUICE_BACKENDS_SAME(A, name, type, class) \
  static_assert(static_cast<unsigned>(kernels::Element::k##name) == static_cast<unsigned>(SLUICE_ELEMENT_##name));
SLUICE_KERNELS_ELEMENTS(SLUICE_BACKENDS_SAME, )
#undef SLUICE_BACKENDS_SAME
#define SLUICE_BACKENDS_SAME(name, rule) \
  static_assert(static_cast<unsigned>(kernels::Operation::k##name) == static_cast<unsigned>(SLUICE_OPERATION_##name));
SLUICE_KERNELS_OPERATIONS(SLUICE_BACKENDS_SAME)
#undef SLUICE_BACKENDS_SAME
static_assert(kernels::kMaxSources == SLUICE_REDUCE_MAX_SOURCES);
static_assert(kernels::kMaxDsts == SLUICE_REDUCE_MAX_DSTS);

// Whether MPI has that operation on that element.
inline bool is_legal(sluice_element_t element, sluice_operation_t operation) {
  return kernels::is_legal(static_cast<kernels::Element>(element), static_cast<kernels::Operation>(operation));
}

// "FLOAT32 SUM", the names of kernels/list.hpp; only for a legal pair.
inline std::string pair_name(sluice_element_t element, sluice_operation_t operation) {
  return std::string(kernels::name_of(static_cast<kernels::Element>(element))) + " " +
         std::string(kernels::name_of(static_cast<kernels::Operation>(operation)));
}

// Bytes of each array of the reduction.
inline uint64_t size_bytes_of(const sluice_reduction_t &reduction) {
  return reduction.count * kernels::size_of(static_cast<kernels::Element>(reduction.element));
}

// Fills *task. SLUICE_ERROR_UNSUPPORTED for a pair that MPI has not, SLUICE_ERROR_INVALID_ARGUMENT for numbers out of
// range and null pointers. A reduction of no elements is a success whose task has none.
inline Outcome make_task(const sluice_reduction_t *reduction, kernels::Task *task) {
  if (reduction == nullptr) return {SLUICE_ERROR_INVALID_ARGUMENT, "reduction: null pointer"};
  if (!is_legal(reduction->element, reduction->operation)) {
    return {SLUICE_ERROR_UNSUPPORTED, "reduction: operation " + std::to_string(reduction->operation) +
                                          " is not defined on elements " + std::to_string(reduction->element)};
  }
  if (reduction->n_sources < 1 || reduction->n_sources > kernels::kMaxSources || reduction->n_dsts < 1 ||
      reduction->n_dsts > kernels::kMaxDsts) {
    return {SLUICE_ERROR_INVALID_ARGUMENT, "reduction of " + std::to_string(reduction->n_sources) + " sources to " +
                                               std::to_string(reduction->n_dsts) + " destinations; there may be 1 to " +
                                               std::to_string(kernels::kMaxSources) + " of the first, 1 to " +
                                               std::to_string(kernels::kMaxDsts) + " of the second"};
  }
  if (reduction->is_fetch != 0 && (reduction->n_sources != 2 || reduction->n_dsts != 2)) {
    return {SLUICE_ERROR_INVALID_ARGUMENT,
            "reduction that tells what was there: it has two sources and two destinations"};
  }
  *task = {};
  if (reduction->count == 0) return {};
  const uint64_t element_bytes = kernels::size_of(static_cast<kernels::Element>(reduction->element));
  if (element_bytes == 0 || reduction->count > UINT64_MAX / 2 / element_bytes) {
    return {SLUICE_ERROR_INVALID_ARGUMENT, "reduction of " + std::to_string(reduction->count) + " elements: too many"};
  }
  bool has_null = reduction->dsts == nullptr || reduction->sources == nullptr;
  for (uint32_t k = 0; k < reduction->n_dsts && !has_null; ++k) {
    has_null = reduction->dsts[k] == nullptr;
    task->dsts[k] = static_cast<unsigned char *>(reduction->dsts[k]);
  }
  for (uint32_t k = 0; k < reduction->n_sources && !has_null; ++k) {
    has_null = reduction->sources[k] == nullptr;
    task->sources[k] = static_cast<const unsigned char *>(reduction->sources[k]);
  }
  if (has_null) return {SLUICE_ERROR_INVALID_ARGUMENT, "reduction: null pointer"};
  task->count = reduction->count;
  task->n_sources = reduction->n_sources;
  task->n_dsts = static_cast<std::uint16_t>(reduction->n_dsts);
  task->is_fetch = reduction->is_fetch != 0 ? 1 : 0;
  return {};
}

}  // namespace sluice::backends
