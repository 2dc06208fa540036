// SPDX-License-Identifier: BSD-3-Clause
// Holds the texts of the reductions, which compile_kernels.cpp writes while the module is built.
#include <array>

#include "../reduction.h"
#include "kernels.h"

namespace sluice::backends::cuda {

namespace {

struct ReductionText {
  sluice_element_t element;
  sluice_operation_t operation;
  KernelText kernel;
};

constexpr ReductionText kTexts[] = {
#define SLUICE_CUDA_TEXT(element, operation, name, text) \
  {SLUICE_ELEMENT_##element, SLUICE_OPERATION_##operation, {name, text}},
#include "reductions.inc"
#undef SLUICE_CUDA_TEXT
};

constexpr size_t kElements = static_cast<size_t>(kernels::Element::kCount);
constexpr size_t kOperations = static_cast<size_t>(kernels::Operation::kCount);
using Table = std::array<std::array<const KernelText *, kOperations>, kElements>;

}  // namespace

const KernelText *find_reduction_text(sluice_element_t element, sluice_operation_t operation) {
  static const Table table = [] {
    Table all{};
    for (const ReductionText &text : kTexts) all[text.element][text.operation] = &text.kernel;
    return all;
  }();
  const auto row = static_cast<size_t>(element);
  const auto column = static_cast<size_t>(operation);
  return row < kElements && column < kOperations ? table[row][column] : nullptr;
}

}  // namespace sluice::backends::cuda
