// SPDX-License-Identifier: BSD-3-Clause
// FoldRequest: a non-blocking or persistent reduction that no device computes and whose result is wanted in the order
// of the ranks (SLUICE_REDUCE_ORDER=rank, docs/adr/0030), until it is complete.
#pragma once

#include <memory>

#include "ops/coll/requests/engine_request.hpp"

namespace sluice::ops::coll {

// Threads: as EngineRequest; make() one at a time on a communicator.
class FoldRequest final : public EngineRequest {
 public:
  FoldRequest(const Call &call, const Member &member, Sides sides) : EngineRequest(call, member, std::move(sides)) {}

  // Starts a non-blocking call, or makes the request of a persistent one, into *call.request. Local. Returns an error
  // code, raised already.
  static int make(const Call &call, const Member &member, Sides sides);

 private:
  void begin(const std::shared_ptr<EngineRequest> &self) override;
  [[nodiscard]] bool go_on() override { return go_on_staged(); }
  void leave() noexcept override {}
};

// Starts a call with a request so, where that is wanted and can be; else false, and nothing has happened. The same on
// all ranks. *result: an error code, raised already. One thread at a time on a communicator.
[[nodiscard]] bool start_folded(const Call &call, const Member &member, Sides *sides, int *result);

}  // namespace sluice::ops::coll
