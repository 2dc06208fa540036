// SPDX-License-Identifier: BSD-3-Clause
#include "ops/coll/call/length_terms.hpp"

#include "ops/coll/call/call_bytes.hpp"

namespace sluice::ops::coll {
namespace {

std::uint64_t element_of(MPI_Datatype type) {
  return element_bytes(type).value_or(0);
}

// One block of a buffer whose blocks are all of one length.
std::uint64_t each_of(const Argument &argument) {
  return plan::length_of(argument.count, element_of(argument.type));
}

bool has_lengths(const Argument &argument) noexcept {
  return argument.counts.is_named() || argument.has_types;
}

// The blocks of a buffer that has a length for each.
class Lengths {
 public:
  explicit Lengths(const Argument &argument)
      : argument_(argument), element_(argument.has_types ? 0 : element_of(argument.type)) {}

  [[nodiscard]] std::uint64_t operator()(int rank) const {
    const auto block = static_cast<std::size_t>(rank);
    if (argument_.counts.is_named() && argument_.counts.is_null()) return 0;
    const std::int64_t count = argument_.counts.is_named() ? argument_.counts.at(block) : argument_.count;
    if (!argument_.has_types) return plan::length_of(count, element_);
    return count == 0 || argument_.types == nullptr ? 0 : plan::length_of(count, element_of(argument_.types[block]));
  }

 private:
  const Argument &argument_;
  const std::uint64_t element_;
};

// Each rank knows the lengths of its own part alone: MPI_Gatherv, MPI_Scatterv, MPI_Alltoallv and MPI_Alltoallw.
bool is_of_parts(const Call &call) noexcept {
  const bool has_parts =
      call.pattern == Pattern::kGather || call.pattern == Pattern::kScatter || call.pattern == Pattern::kAlltoall;
  return has_parts && (has_lengths(call.send) || has_lengths(call.recv));
}

std::uint32_t term_of_parts(const Call &call, const Member &member) {
  if (call.pattern == Pattern::kAlltoall) {
    // In place a block is as long as the one that comes for it.
    const Argument &sent = call.input();
    return plan::term_of_pairs(member.rank, member.size, Lengths(sent), Lengths(call.recv));
  }
  const bool is_gather = call.pattern == Pattern::kGather;
  const Argument &own = is_gather ? call.send : call.recv;
  if (call.root != member.rank) return plan::term_of_leaf(member.rank, each_of(own));
  const bool is_in_place = own.is_in_place();
  return plan::term_of_root(member.rank, member.size, is_in_place, is_in_place ? 0 : each_of(own),
                            Lengths(is_gather ? call.recv : call.send));
}

struct Common {
  std::uint64_t length = 0;
  bool fits_here = true;
};

Common common_of(const Call &call, const Member &member) {
  const Argument &send = call.send;
  const Argument &recv = call.recv;
  const auto hash = [&] { return plan::hash_of_lengths(member.size, Lengths(recv)); };
  if (call.pattern == Pattern::kReduceScatter) return {recv.counts.is_named() ? hash() : each_of(recv)};
  if (is_reduction(call.pattern)) return {each_of(send.is_in_place() ? recv : send)};
  if (call.pattern == Pattern::kBroadcast) return {each_of(recv)};
  if (call.pattern == Pattern::kAllgather && has_lengths(recv)) {
    return {hash(), send.is_in_place() || each_of(send) == Lengths(recv)(member.rank)};
  }
  const bool is_gather = call.pattern == Pattern::kGather;
  const bool has_root = is_gather || call.pattern == Pattern::kScatter;
  if (has_root && call.root != member.rank) return {each_of(is_gather ? send : recv)};
  if (has_root && (send.is_in_place() || recv.is_in_place())) return {each_of(is_gather ? recv : send)};
  return {each_of(recv), send.is_in_place() || each_of(send) == each_of(recv)};
}

}  // namespace

bool has_length_term(const Call &call, const Member &member) noexcept {
  return call.pattern != Pattern::kNone && !is_of_neighbors(call.pattern) && !member.is_inter;
}

std::uint32_t length_term(const Call &call, const Member &member) {
  if (is_of_parts(call)) return term_of_parts(call, member);
  const Common common = common_of(call, member);
  return plan::common_term(member.rank, member.size, common.length, common.fits_here);
}

int common_length(const Call &call, const Member &member) {
  return is_of_parts(call) ? 0 : static_cast<int>(common_of(call, member).length);
}

}  // namespace sluice::ops::coll
