// SPDX-License-Identifier: BSD-3-Clause
// MPI_Reduce_scatter and MPI_Reduce_scatter_block in all their forms: everybody's buffer, with a block for each rank of
// the own group, goes down, and the own block of the result up.
#include <array>
#include <cstdint>

#include "ops/coll/carry_out.hpp"

namespace sluice::ops::coll {
namespace {

// The elements of the rank's own block, and of all blocks; false for counts that the host MPI is to refuse.
bool find_counts(const Argument &received, const Member &member, MPI_Count *own, MPI_Count *all) {
  *own = received.count;
  if (!received.counts.is_named()) return !__builtin_mul_overflow(received.count, member.size, all) && *own >= 0;
  if (received.counts.is_null()) return false;
  *own = received.counts.at(static_cast<std::size_t>(member.rank));
  *all = 0;
  for (int rank = 0; rank < member.size; ++rank) {
    const std::int64_t count = received.counts.at(static_cast<std::size_t>(rank));
    if (count < 0 || __builtin_add_overflow(*all, count, all)) return false;
  }
  return true;
}

}  // namespace

int reduce_scatter(Call *call) {
  call->pattern = Pattern::kReduceScatter;
  return carry_out(call, [call](const Member &member, Sides *sides) -> Status {
    MPI_Count own = 0;
    MPI_Count all = 0;
    if (!find_counts(call->recv, member, &own, &all)) return {};
    Argument received = call->recv;
    received.counts = {};
    received.count = own;
    if (!call->send.is_in_place()) {
      Argument sent = call->send;
      sent.count = all;
      Status status = sides->send.classify(sent, 1, {Access::kRead}, Use::kReduced);
      return status.is_ok() ? sides->recv.classify(received, 1, {Access::kWrite}, Use::kReduced) : status;
    }
    // The input is where the result goes, and longer.
    const std::array<std::int64_t, 2> counts{own, all - own};
    received.counts = Numbers(counts.data());
    return sides->recv.classify(received, 2, {Access::kRead, 0, Access::kReadWrite}, Use::kReduced);
  });
}

}  // namespace sluice::ops::coll
