// SPDX-License-Identifier: BSD-3-Clause
#include "ops/coll/call/held_types.hpp"

#include "ops/datatype/layout_of.hpp"

namespace sluice::ops::coll {

Status HeldTypes::replace_type(MPI_Datatype *type) {
  if (!is_valid(*type)) return {};
  return made_.emplace_back().hold(type);
}

Status HeldTypes::replace_in(Argument *argument, std::vector<MPI_Datatype> *of_blocks, std::size_t n_blocks) {
  if (argument->is_in_place()) return {};
  if (!argument->has_types) return replace_type(&argument->type);
  if (argument->types == nullptr || argument->counts.is_null()) return {};
  of_blocks->assign(argument->types, argument->types + n_blocks);
  for (std::size_t i = 0; i < of_blocks->size(); ++i) {
    if (argument->counts.at(i) <= 0) continue;
    if (Status status = replace_type(&(*of_blocks)[i]); !status.is_ok()) return status;
  }
  argument->set_types(of_blocks->data());
  return {};
}

Status HeldTypes::replace(const Member &member, Call *call) {
  // The operations are defined for types of MPI's own, Fortran's among them, and not for ours.
  if (is_reduction(call->pattern)) return {};
  const bool is_root = call->root == member.rank;
  const bool sends = call->pattern == Pattern::kScatter ? is_root : call->pattern != Pattern::kBroadcast;
  const bool receives = call->pattern != Pattern::kGather || is_root;
  const auto n_ranks = static_cast<std::size_t>(member.size);
  const Neighborhood *neighbors = call->neighbors.get();
  if (sends) {
    const std::size_t n_blocks = neighbors == nullptr ? n_ranks : neighbors->destinations.size();
    if (Status status = replace_in(&call->send, &sent_, n_blocks); !status.is_ok()) return status;
  }
  const std::size_t n_blocks = neighbors == nullptr ? n_ranks : neighbors->sources.size();
  return receives ? replace_in(&call->recv, &received_, n_blocks) : Status();
}

}  // namespace sluice::ops::coll
