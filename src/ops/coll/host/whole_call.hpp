// SPDX-License-Identifier: BSD-3-Clause
// WholeCall: a blocking collective call of the host MPI's on this rank, and what becomes of it when a rank cannot bring
// its data out of device memory (docs/adr/0049): that rank tells those that wait for them, and takes part all the same.
#pragma once

#include <cstdint>
#include <optional>

#include "base/status.hpp"
#include "ops/coll/call/call.hpp"
#include "ops/coll/call/member.hpp"
#include "ops/coll/node/meeting.hpp"
#include "ops/comm/comm_state.hpp"

namespace sluice::ops::coll {

// The thread of that call alone.
class WholeCall {
 public:
  // Counts the call where its ranks did not meet in memory, as all that make it do. `member` is null where nobody knows
  // what the process is; `meeting`, of meet_for_call(), outlives this.
  WholeCall(const Call &call, const Member *member, const Meeting &meeting);

  // This rank has not what it sends. True: those whose results hang on it will know, and it takes part with whatever
  // lies in its staging memory; where they have met in memory they look there behind the call, else they know when this
  // returns. False: others cannot be told (between groups, without the private channel), or would compute with that by
  // the program's own operation. Blocks, in turns.
  [[nodiscard]] bool tell_others();

  // After the host MPI's call. Errors: kBackend, when a rank told this one that its data were none. Hot.
  [[nodiscard]] Status outcome() const;

 private:
  // The result of rank `to` hangs on the data of rank `from`; one of them is this rank.
  [[nodiscard]] bool hangs_on(int from, int to) const noexcept;
  [[nodiscard]] std::optional<int> find_without_data() const noexcept;

  const Call &call_;
  const Member *member_;
  const Meeting &meeting_;
  const CommState *state_ = nullptr;
  std::uint64_t number_ = 0;
};

}  // namespace sluice::ops::coll
