// SPDX-License-Identifier: BSD-3-Clause
#include "ops/coll/call_facts.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>

#include "generated/operations.hpp"
#include "ops/coll/call/call_bytes.hpp"
#include "ops/coll/call/host_trust.hpp"
#include "ops/coll/call/length_terms.hpp"
#include "ops/coll/fold/fold.hpp"
#include "ops/coll/fold/rank_order.hpp"
#include "ops/coll/reduction/reduction_pair.hpp"
#include "ops/comm/comm_state.hpp"
#include "ops/datatype/layout_of.hpp"
#include "wire/channel.hpp"

namespace sluice::ops::coll {
namespace {

using plan::CallFacts;
using plan::LengthKnown;

// All that the facts of a repeatable call hang on, besides the communicator.
struct Signature {
  struct Part {
    MPI_Count count = 0;
    MPI_Datatype type = MPI_DATATYPE_NULL;
    bool is_in_place = false;

    explicit Part(const Argument &argument) noexcept
        : count(argument.count), type(argument.type), is_in_place(argument.is_in_place()) {}
    friend bool operator==(const Part &, const Part &) = default;
  };

  Part send;
  Part recv;
  int root;
  MPI_Op op;
  Operation operation;
  Form form;
  bool comes_after_barrier;
  bool may_be_cut;

  explicit Signature(const Call &call) noexcept
      : send(call.send),
        recv(call.recv),
        root(call.root),
        op(call.op),
        operation(call.operation),
        form(call.form),
        comes_after_barrier(call.comes_after_barrier),
        may_be_cut(call.may_be_cut) {}
  friend bool operator==(const Signature &, const Signature &) = default;
};

// Some of the calls that a program makes again and again.
struct FactsOfComm {
  static constexpr CommPart kPart = CommPart::kFacts;
  struct Known {
    Signature signature;
    CallFacts facts;
    plan::Ways ways;
  };
  std::array<std::unique_ptr<Known>, 16> known;

  // Where a call with `signature` would be.
  [[nodiscard]] std::unique_ptr<Known> &at(const Signature &signature) noexcept {
    const std::uint64_t mixed = static_cast<std::uint64_t>(signature.recv.count) * 0x9E3779B97F4A7C15 +
                                static_cast<std::uint64_t>(signature.operation) * 0xBF58476D1CE4E5B9;
    return known[(mixed >> 32U) % known.size()];
  }
};

// A type of the program's may be freed, and another one get its handle. An operation that it has made stays one.
bool is_repeatable(const Call &call) {
  const auto is_plain = [](const Argument &argument) {
    if (argument.counts.is_named() || argument.has_types) return false;
    transfer::LayoutPtr layout;
    return argument.is_in_place() || argument.type == MPI_DATATYPE_NULL || named_layout(argument.type, &layout);
  };
  return call.pattern != Pattern::kNone && !is_of_neighbors(call.pattern) && is_plain(call.send) && is_plain(call.recv);
}

bool has_root(const Call &call, const Member &member) noexcept {
  const bool is_rooted = call.pattern == Pattern::kBroadcast || call.pattern == Pattern::kGather ||
                         call.pattern == Pattern::kScatter || call.pattern == Pattern::kReduce;
  return !is_rooted || (call.root >= 0 && call.root < member.size);
}

void find_length(const Call &call, const Member &member, CallFacts *facts) {
  const std::optional<std::uint64_t> bytes = common_bytes(call, member);
  if (!bytes) return;
  facts->known = *bytes == kAnyLength ? LengthKnown::kPart : LengthKnown::kAll;
  if (facts->known == LengthKnown::kAll) facts->size_bytes = *bytes;
}

void find_length_term(const Call &call, const Member &member, CallFacts *facts) {
  if (!has_length_term(call, member) || !facts->has_channel) return;
  // Steps of levels have Sluice's own lengths.
  const bool meets = wire::Channel::process().terms().first_meeting != CollectiveTerms::kNever;
  facts->compares_lengths = meets && member.size > 1 && !member.state->is_of_levels && facts->is_blocking &&
                            !facts->follows_barrier && !facts->is_in_rank_order;
  if (facts->compares_lengths) facts->length_term = length_term(call, member);
}

void find_facts_of_reduction(const Call &call, const Member &member, CallFacts *facts) {
  facts->keeps_rank_order = keeps_rank_order(call);
  facts->is_in_rank_order =
      facts->keeps_rank_order && facts->is_of_one_group && !facts->has_own_operation && can_be_folded(call, member);
  facts->unit_bytes = std::max<std::uint64_t>(element_bytes(call.recv.type).value_or(1), 1);
  if (facts->known != LengthKnown::kAll ||
      facts->size_bytes < wire::Channel::process().terms().segments_threshold_bytes) {
    return;
  }
  ReductionPair pair{};
  facts->can_be_reduced_in_parts = call.may_be_cut || (!call.recv.counts.is_named() && !facts->is_in_rank_order &&
                                                       find_reduction_pair(call.recv.type, call.op, &pair));
}

CallFacts facts_of(const Call &call, const Member *member) {
  CallFacts facts;
  facts.pattern = call.pattern;
  facts.is_blocking = call.form == Form::kBlocking;
  facts.is_persistent = call.form == Form::kPersistent;
  facts.has_own_operation = is_by_own_operation(call.op);
  // By an operation of the program's: Open MPI 4's MPI_Ireduce writes beside its memory where a type has a lower bound.
  facts.follows_barrier = call.comes_after_barrier || facts.has_own_operation || is_between_groups(call.comm);
  facts.all_trust_blocking = all_trust_blocking(call);
  // Without a channel nobody meets, and nothing is asked.
  facts.trusts_blocking = wire::Channel::process().is_open() && trusts_blocking(call);
  if (member == nullptr) return facts;
  const CommState *const state = member->state;
  facts.has_channel = wire::Channel::process().is_open() && state != nullptr && state->is_within_world;
  facts.is_of_one_group = !member->is_inter && member->size > 1;
  facts.is_on_one_node = facts.has_channel && state->is_on_one_node;
  facts.n_ranks = member->size;
  facts.has_root = has_root(call, *member);
  facts.is_alltoall_in_place = call.pattern == Pattern::kAlltoall && call.send.is_in_place();
  facts.has_lengths = !is_reduction(call.pattern) && (call.send.counts.is_named() || call.recv.counts.is_named());
  if (call.pattern == Pattern::kNone) return facts;
  find_length(call, *member, &facts);
  if (is_reduction(call.pattern)) find_facts_of_reduction(call, *member, &facts);
  find_length_term(call, *member, &facts);
  return facts;
}

void say(const Call &call) {
  for (const plan::WayChoice &choice : call.ways) log_plan(call, [&] { return explain(choice); });
}

}  // namespace

void find_facts(const Member *member, Call *call) {
  const Signature signature(*call);
  std::unique_ptr<FactsOfComm::Known> *known = nullptr;
  if (member != nullptr && member->state != nullptr) {
    known = &member->state->part<FactsOfComm>().at(signature);
    if (*known != nullptr && (*known)->signature == signature) {
      call->facts = (*known)->facts;
      call->ways = (*known)->ways;
      return;
    }
  }
  call->facts = facts_of(*call, member);
  call->ways = choose_ways(call->facts, wire::Channel::process().terms());
  if (member != nullptr && !are_together_or_with_host(call->ways))
    call->facts.common_length = common_length(*call, *member);
  say(*call);
  if (known == nullptr || !is_repeatable(*call)) return;
  *known = std::make_unique<FactsOfComm::Known>(FactsOfComm::Known{signature, call->facts, call->ways});
}

}  // namespace sluice::ops::coll
