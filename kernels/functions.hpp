// SPDX-License-Identifier: BSD-3-Clause
// The list as values, and the kernels as host functions found by them: for queues that are threads, and for tests.
#pragma once

#include <string_view>

#include "reduce.hpp"

namespace sluice::kernels {

enum class Element : unsigned {
#define SLUICE_KERNELS_NAME(A, name, type, class) k##name,
  SLUICE_KERNELS_ELEMENTS(SLUICE_KERNELS_NAME, )
#undef SLUICE_KERNELS_NAME
      kCount
};

enum class Operation : unsigned {
#define SLUICE_KERNELS_NAME(name, rule) k##name,
  SLUICE_KERNELS_OPERATIONS(SLUICE_KERNELS_NAME)
#undef SLUICE_KERNELS_NAME
      kCount
};

// Bytes from one element to the next; 0 for what is no element.
constexpr unsigned size_of(Element element) noexcept {
  switch (element) {
#define SLUICE_KERNELS_SIZE(A, name, type, class) \
  case Element::k##name:                          \
    return sizeof(type);
    SLUICE_KERNELS_ELEMENTS(SLUICE_KERNELS_SIZE, )
#undef SLUICE_KERNELS_SIZE
    case Element::kCount:
      break;
  }
  return 0;
}

// For each element a bit for each legal operation.
struct LegalOperations {
  std::uint32_t of_element[static_cast<unsigned>(Element::kCount)] = {};  // NOLINT(modernize-avoid-c-arrays)

  constexpr LegalOperations() noexcept {
#define SLUICE_KERNELS_CASE(element_name, operation_name)        \
  of_element[static_cast<unsigned>(Element::k##element_name)] |= \
      1U << static_cast<unsigned>(Operation::k##operation_name);
    SLUICE_KERNELS_REDUCTIONS(SLUICE_KERNELS_CASE)
#undef SLUICE_KERNELS_CASE
  }
};

// False for numbers that are none of the list too. Hot.
constexpr bool is_legal(Element element, Operation operation) noexcept {
  constexpr LegalOperations kLegal;
  return static_cast<unsigned>(element) < static_cast<unsigned>(Element::kCount) &&
         static_cast<unsigned>(operation) < static_cast<unsigned>(Operation::kCount) &&
         (kLegal.of_element[static_cast<unsigned>(element)] >> static_cast<unsigned>(operation) & 1U) != 0;
}

// As in the list: "FLOAT32", "SUM"; empty for what is not in it.
constexpr std::string_view name_of(Element element) noexcept {
#define SLUICE_KERNELS_CASE(A, name, type, class) \
  if (element == Element::k##name) return #name;
  SLUICE_KERNELS_ELEMENTS(SLUICE_KERNELS_CASE, )
#undef SLUICE_KERNELS_CASE
  return "";
}
constexpr std::string_view name_of(Operation operation) noexcept {
#define SLUICE_KERNELS_CASE(name, rule) \
  if (operation == Operation::k##name) return #name;
  SLUICE_KERNELS_OPERATIONS(SLUICE_KERNELS_CASE)
#undef SLUICE_KERNELS_CASE
  return "";
}

// Does the whole of a task. Any thread.
using Function = void (*)(const Task &task);

template <template <typename> class Rule, typename Value>
void reduce_all(const Task &task) {
  reduce_share<Rule, Value>(task, 0, 1);
}

// Null where the operation is not legal on the element.
inline Function find_function(Element element, Operation operation) noexcept {
#define SLUICE_KERNELS_CASE(element_name, operation_name)                                 \
  if (element == Element::k##element_name && operation == Operation::k##operation_name) { \
    return reduce_all<Rule_##operation_name, Element_##element_name>;                     \
  }
  SLUICE_KERNELS_REDUCTIONS(SLUICE_KERNELS_CASE)
#undef SLUICE_KERNELS_CASE
  return nullptr;
}

}  // namespace sluice::kernels
