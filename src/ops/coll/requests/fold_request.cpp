// SPDX-License-Identifier: BSD-3-Clause
#include "ops/coll/requests/fold_request.hpp"

#include <utility>

#include "ops/env/errors.hpp"

namespace sluice::ops::coll {

int FoldRequest::make(const Call &call, const Member &member, Sides sides) {
  return EngineRequest::make(std::make_shared<FoldRequest>(call, member, std::move(sides)), {});
}

// A rank that fails here leaves the others waiting, as it would where the host MPI reduces.
void FoldRequest::begin(const std::shared_ptr<EngineRequest> &self) {
  if (Status status = stage(call_.comm); !status.is_ok()) {
    complete(std::move(status));
    return;
  }
  progress::Engine::process().watch(self);
}

bool start_folded(const Call &call, const Member &member, Sides *sides, int *result) {
  if (!call.facts.is_in_rank_order) return false;
  FoldGroupPtr group;
  if (Status status = FoldGroup::of(call.comm, &group); !status.is_ok()) {
    *result = raise(call.comm, status);
    return true;
  }
  if (group == nullptr) return false;
  *result = FoldRequest::make(call, member, std::move(*sides));
  return true;
}

}  // namespace sluice::ops::coll
