// SPDX-License-Identifier: BSD-3-Clause
// The choice of what carries the messages of one queue (docs/queue/engines.md). Pure, as plan.hpp. Both sides of a
// message have to come to answers that fit: so it hangs on what all ranks agreed on, and on what both know of the
// communicator, and not on what this process' stream can do.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace sluice::plan {

// The values of SLUICE_QUEUE_ENGINE, in its order.
enum class QueueEngine : std::uint8_t { kAuto, kThread, kDevice, kDwq };
inline constexpr std::array<std::string_view, 4> kQueueEngineNames = {"auto", "thread", "device", "dwq"};
[[nodiscard]] constexpr std::string_view name(QueueEngine engine) noexcept {
  return kQueueEngineNames.at(static_cast<std::size_t>(engine));
}
// kAuto for a word that is none of them, which the knob's table refuses.
[[nodiscard]] constexpr QueueEngine queue_engine_of(std::string_view word) noexcept {
  for (std::size_t i = 0; i < kQueueEngineNames.size(); ++i) {
    if (kQueueEngineNames.at(i) == word) return static_cast<QueueEngine>(i);
  }
  return QueueEngine::kAuto;
}

// Whose messages a queue carries.
enum class QueueComm : std::uint8_t {
  kOfMessages,  // each message brings its communicator (SLUICE_QUEUE_VENDOR_FORM)
  kUnreached,   // an intercommunicator, or with processes outside of MPI_COMM_WORLD
  kAlone,       // this process is its only member
  kElsewhere,   // all others are on other nodes
  kSomeHere,    // others are on this node, and others elsewhere
  kOneNode      // all are on this node
};
inline constexpr std::size_t kQueueComms = 6;

struct QueueEngineQuery {
  QueueEngine wanted = QueueEngine::kAuto;  // SLUICE_QUEUE_ENGINE
  // All ranks have begun the engine, and either asked for it by name or said that only queues use the communicator.
  bool is_agreed = false;
  bool has_channels = false;  // the stream's backend has the group `channel`
  QueueComm comm = QueueComm::kOfMessages;
  bool is_asserted = false;  // all ranks said that only queues use the communicator (ops/comm/assertions.hpp)
};

enum class QueueEngineReason : std::uint8_t {
  kMatches,
  kAsked,
  kMissing,
  kUnreachedComm,
  kAloneComm,
  kElsewhereComm,
  kByStreams,
  kByThreadsHere,
  kByNetwork
};

struct QueueEnginePlan {
  QueueEngine engine = QueueEngine::kThread;  // never kAuto
  QueueEngineReason reason = QueueEngineReason::kMatches;
};

// The choice. Setup cost.
//
// auto is thread: messages of `device` and `dwq` match no plain ones, and a program that was not asked cannot be known
// to have none, however much faster `device` is inside a node (docs/adr/0033, 0034). Where the program has said that
// the communicator has none, auto is device (docs/adr/0083). `device` is kept where it has no
// partner on this node: such a rank, too, may capture a step into a graph, if one without messages (docs/adr/0057).
[[nodiscard]] constexpr QueueEnginePlan choose_queue_engine(const QueueEngineQuery &query) noexcept {
  if (query.wanted == QueueEngine::kAuto && !query.is_asserted) {
    return {QueueEngine::kThread, QueueEngineReason::kMatches};
  }
  if (query.wanted == QueueEngine::kThread) return {QueueEngine::kThread, QueueEngineReason::kAsked};
  if (!query.is_agreed) return {QueueEngine::kThread, QueueEngineReason::kMissing};
  if (query.comm == QueueComm::kUnreached) return {QueueEngine::kThread, QueueEngineReason::kUnreachedComm};
  if (query.wanted == QueueEngine::kDwq) {
    if (query.comm == QueueComm::kAlone) return {QueueEngine::kThread, QueueEngineReason::kAloneComm};
    return {QueueEngine::kDwq, QueueEngineReason::kByNetwork};
  }
  if (query.comm == QueueComm::kAlone) return {QueueEngine::kDevice, QueueEngineReason::kAloneComm};
  if (query.comm == QueueComm::kElsewhere) return {QueueEngine::kDevice, QueueEngineReason::kElsewhereComm};
  return {QueueEngine::kDevice, query.has_channels ? QueueEngineReason::kByStreams : QueueEngineReason::kByThreadsHere};
}

// One line for people: "queue engine device, all ranks on one node -> device: the streams carry what both sides can".
[[nodiscard]] std::string explain(const QueueEngineQuery &query, const QueueEnginePlan &plan);

}  // namespace sluice::plan
