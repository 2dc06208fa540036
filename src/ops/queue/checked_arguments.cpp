// SPDX-License-Identifier: BSD-3-Clause
#include "ops/queue/checked_arguments.hpp"

#include "ops/datatype/layout_of.hpp"

namespace sluice::ops::queue {

bool CheckedArguments::has(const Arguments &given) noexcept {
  const auto is_meant = [&](const Arguments &kept) {
    return kept.peer == given.peer && kept.tag == given.tag && kept.is_send == given.is_send &&
           kept.type == given.type && kept.comm == given.comm;
  };
  return given.count >= 0 && kept_.find(is_meant) != nullptr;
}

void CheckedArguments::add(const Arguments &given) {
  transfer::LayoutPtr layout;
  if (given.count < 0 || !named_layout(given.type, &layout)) return;
  if (given.comm == MPI_COMM_WORLD || state_of(given.comm) != nullptr) kept_.keep(given);
}

}  // namespace sluice::ops::queue
