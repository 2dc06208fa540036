// SPDX-License-Identifier: BSD-3-Clause
#include "plan/queue_engine.hpp"

#include <fmt/format.h>

namespace sluice::plan {
namespace {

const char *words(QueueComm comm) {
  switch (comm) {
    case QueueComm::kOfMessages:
      return "communicators of the messages";
    case QueueComm::kUnreached:
      return "ranks outside of MPI_COMM_WORLD or of two groups";
    case QueueComm::kAlone:
      return "one rank alone";
    case QueueComm::kElsewhere:
      return "ranks on other nodes";
    case QueueComm::kSomeHere:
      return "ranks on several nodes";
    case QueueComm::kOneNode:
      return "all ranks on one node";
  }
  return "";
}

const char *sentence(QueueEngineReason reason) {
  switch (reason) {
    case QueueEngineReason::kMatches:
      return "its messages match plain ones, which the communicator's info does not rule out";
    case QueueEngineReason::kAsked:
      return "SLUICE_QUEUE_ENGINE asks for it";
    case QueueEngineReason::kMissing:
      return "not all ranks have the other one";
    case QueueEngineReason::kUnreachedComm:
      return "the other one serves single groups within MPI_COMM_WORLD";
    case QueueEngineReason::kAloneComm:
      return "the host MPI carries what a rank sends to itself";
    case QueueEngineReason::kElsewhereComm:
      return "no partner is on this node, so the progress threads carry all messages";
    case QueueEngineReason::kByStreams:
      return "the streams carry what both sides can";
    case QueueEngineReason::kByThreadsHere:
      return "partners' streams may carry messages; this stream has no channels, so the progress threads carry its own";
    case QueueEngineReason::kByNetwork:
      return "the network sends when a counter says so";
  }
  return "";
}

}  // namespace

std::string explain(const QueueEngineQuery &query, const QueueEnginePlan &plan) {
  return fmt::format("queue engine {}, {}{} -> {}: {}", name(query.wanted), words(query.comm),
                     query.is_asserted ? ", queues alone" : "", name(plan.engine), sentence(plan.reason));
}

}  // namespace sluice::plan
