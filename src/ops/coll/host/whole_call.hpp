// SPDX-License-Identifier: BSD-3-Clause
// WholeCall: a blocking collective call of the host MPI's on this rank, and what becomes of it when a rank cannot bring
// its data out of device memory (docs/adr/0049): that rank tells those that wait for them, and takes part all the same.
#pragma once

#include "base/status.hpp"
#include "ops/coll/call/call.hpp"
#include "ops/coll/call/member.hpp"
#include "ops/comm/comm_state.hpp"

namespace sluice::ops::coll {

class WholeCall {
 public:
  // Counts the call, as all ranks that make it do; `member` is null where nobody knows what the process is. One
  // look-up.
  WholeCall(const Call &call, const Member *member);

  // This rank has not what it sends. Tells those whose results hang on it, and returns when they know: blocks, in
  // turns. True: it takes part now, with whatever lies in its staging memory. False: others cannot be told (between
  // groups, without the private channel), or would compute with that by the program's own operation.
  [[nodiscard]] bool tell_others();

  // After the host MPI's call: an error when a rank told this one that its data were none. Hot.
  [[nodiscard]] Status outcome() const;

 private:
  [[nodiscard]] bool needs_mine(int rank) const noexcept;

  const Call &call_;
  const Member *member_;
  CommStatePtr state_;
  std::uint64_t number_ = 0;
};

}  // namespace sluice::ops::coll
