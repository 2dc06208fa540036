// SPDX-License-Identifier: BSD-3-Clause
#include "plan/plan.hpp"

#include <fmt/format.h>

namespace sluice::plan {
namespace {

const char *sentence(Reason reason) {
  switch (reason) {
    case Reason::kHostMemory:
      return "plain host memory goes to the host MPI as it is";
    case Reason::kNoBytes:
      return "there is nothing to copy";
    case Reason::kCpuMayTouch:
      return "the CPU, and so the host MPI, may touch this memory";
    case Reason::kDeviceMemory:
      return "the CPU may not touch device memory";
    case Reason::kSharedIsStaged:
      return "shared memory is staged like device memory, so that no host MPI registers or pins migrating pages";
    case Reason::kBuffered:
      return "a blocking send this short returns before its receive is posted";
    case Reason::kPeerPulls:
      return "the receiver is on this node and pulls it out of the sender's device memory";
    case Reason::kNoHandle:
      return "the receiver is on this node and cannot map this memory, but memory that the sender's device copies it "
             "to";
    case Reason::kByDevice:
      return "the receiver is on this node, and devices bring this memory there faster than the CPU";
    case Reason::kByNetwork:
      return "a network library carries this memory to the receiver's node";
    case Reason::kLarge:
      return "long enough that copies and wire overlap";
    case Reason::kMessageDecides:
      return "the message says whether its data are pulled or have come staged";
  }
  return "";
}

const char *words(Form form) {
  switch (form) {
    case Form::kPlain:
      return "";
    case Form::kPacked:
      return ", packed";
    case Form::kImage:
      return ", as an image with its gaps";
  }
  return "";
}

}  // namespace

std::string explain(const Query &query, const Plan &plan) {
  std::string how(name(plan.route));
  if (plan.route == Route::kStaged) {
    how += fmt::format(" through {} memory{}", name(plan.staging_memory), words(plan.form));
  }
  if (plan.route == Route::kUndecided) how += fmt::format(", posted in {}{}", name(plan.room), words(plan.form));
  if (plan.route == Route::kPipelined) how += fmt::format(" through {} memory", name(plan.staging_memory));
  if (plan.packs) how += plan.form == Form::kPacked ? " by one kernel" : ", packed by one kernel";
  return fmt::format("{} {} bytes -> {}: {}", name(query.kind), query.size_bytes, how, sentence(plan.reason));
}

}  // namespace sluice::plan
