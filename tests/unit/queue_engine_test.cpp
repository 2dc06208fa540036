// SPDX-License-Identifier: BSD-3-Clause
#include "plan/queue_engine.hpp"

#include <gtest/gtest.h>

#include <array>

namespace sluice::plan::queue_engine_test {
namespace {

using Engine = QueueEngine;
using Reason = QueueEngineReason;

// For each communicator, what an engine that all ranks have begun becomes.
struct Line {
  QueueComm comm;
  QueueEnginePlan with_channels;
  QueueEnginePlan without;
};
constexpr QueueEnginePlan kUnreached{Engine::kThread, Reason::kUnreachedComm};
constexpr QueueEnginePlan kAlone{Engine::kThread, Reason::kAloneComm};
constexpr QueueEnginePlan kAloneWithGraphs{Engine::kDevice, Reason::kAloneComm};
constexpr QueueEnginePlan kElsewhere{Engine::kDevice, Reason::kElsewhereComm};
constexpr QueueEnginePlan kStreams{Engine::kDevice, Reason::kByStreams};
constexpr QueueEnginePlan kThreads{Engine::kDevice, Reason::kByThreadsHere};
constexpr QueueEnginePlan kNetwork{Engine::kDwq, Reason::kByNetwork};

constexpr std::array<Line, kQueueComms> kDeviceLines = {{{QueueComm::kOfMessages, kStreams, kThreads},
                                                         {QueueComm::kUnreached, kUnreached, kUnreached},
                                                         {QueueComm::kAlone, kAloneWithGraphs, kAloneWithGraphs},
                                                         {QueueComm::kElsewhere, kElsewhere, kElsewhere},
                                                         {QueueComm::kSomeHere, kStreams, kThreads},
                                                         {QueueComm::kOneNode, kStreams, kThreads}}};
constexpr std::array<Line, kQueueComms> kDwqLines = {{{QueueComm::kOfMessages, kNetwork, kNetwork},
                                                      {QueueComm::kUnreached, kUnreached, kUnreached},
                                                      {QueueComm::kAlone, kAlone, kAlone},
                                                      {QueueComm::kElsewhere, kNetwork, kNetwork},
                                                      {QueueComm::kSomeHere, kNetwork, kNetwork},
                                                      {QueueComm::kOneNode, kNetwork, kNetwork}}};

void expect_plan(const QueueEngineQuery &query, const QueueEnginePlan &wanted) {
  const QueueEnginePlan plan = choose_queue_engine(query);
  EXPECT_EQ(plan.engine, wanted.engine) << explain(query, plan);
  EXPECT_EQ(plan.reason, wanted.reason) << explain(query, plan);
}

TEST(QueueEngine, IsTheOneThatAllRanksHaveBegun_WhereTheCommunicatorAllowsIt) {
  for (const Line &line : kDeviceLines) {
    expect_plan({Engine::kDevice, true, true, line.comm}, line.with_channels);
    expect_plan({Engine::kDevice, true, false, line.comm}, line.without);
  }
  for (const Line &line : kDwqLines) {
    expect_plan({Engine::kDwq, true, true, line.comm}, line.with_channels);
    expect_plan({Engine::kDwq, true, false, line.comm}, line.without);
  }
}

TEST(QueueEngine, IsTheThread_WhereNotAllHaveBegunTheOther) {
  for (const Engine wanted : {Engine::kDevice, Engine::kDwq}) {
    for (const Line &line : kDeviceLines) {
      expect_plan({wanted, false, true, line.comm}, {Engine::kThread, Reason::kMissing});
      expect_plan({wanted, false, false, line.comm}, {Engine::kThread, Reason::kMissing});
    }
  }
}

TEST(QueueEngine, IsTheThread_WhereNoOtherIsAskedForByName) {
  for (const Line &line : kDeviceLines) {
    for (const bool has_channels : {false, true}) {
      for (const bool is_agreed : {false, true}) {
        expect_plan({Engine::kAuto, is_agreed, has_channels, line.comm}, {Engine::kThread, Reason::kMatches});
        expect_plan({Engine::kThread, is_agreed, has_channels, line.comm}, {Engine::kThread, Reason::kAsked});
      }
    }
  }
}

TEST(QueueEngine, IsByItselfTheDevice_WhereQueuesAloneUseTheCommunicator) {
  for (const Line &line : kDeviceLines) {
    expect_plan({Engine::kAuto, true, true, line.comm, true}, line.with_channels);
    expect_plan({Engine::kAuto, true, false, line.comm, true}, line.without);
    expect_plan({Engine::kDevice, true, true, line.comm, true}, line.with_channels);
    expect_plan({Engine::kAuto, false, true, line.comm, true}, {Engine::kThread, Reason::kMissing});
    expect_plan({Engine::kThread, true, true, line.comm, true}, {Engine::kThread, Reason::kAsked});
  }
}

// Two ranks of which one has a stream with channels and the other has none meet in one engine.
TEST(QueueEngine, DoesNotHangOnTheStream) {
  for (std::size_t wanted = 0; wanted < kQueueEngineNames.size(); ++wanted) {
    for (const Line &line : kDeviceLines) {
      const auto engine = static_cast<Engine>(wanted);
      EXPECT_EQ(choose_queue_engine({engine, true, true, line.comm}).engine,
                choose_queue_engine({engine, true, false, line.comm}).engine);
    }
  }
}

TEST(QueueEngine, IsNamedAsInItsKnob) {
  EXPECT_EQ(queue_engine_of("auto"), Engine::kAuto);
  EXPECT_EQ(queue_engine_of("thread"), Engine::kThread);
  EXPECT_EQ(queue_engine_of("device"), Engine::kDevice);
  EXPECT_EQ(queue_engine_of("dwq"), Engine::kDwq);
  EXPECT_EQ(queue_engine_of("nothing of this"), Engine::kAuto);
}

TEST(QueueEngine, ExplainsItself) {
  QueueEngineQuery query{Engine::kDevice, true, true, QueueComm::kOneNode};
  EXPECT_EQ(explain(query, choose_queue_engine(query)),
            "queue engine device, all ranks on one node -> device: the streams carry what both sides can");
  query.comm = QueueComm::kElsewhere;
  EXPECT_EQ(
      explain(query, choose_queue_engine(query)),
      "queue engine device, ranks on other nodes -> device: no partner is on this node, so the progress threads carry "
      "all messages");
  query = {Engine::kAuto, false, true, QueueComm::kOneNode};
  EXPECT_EQ(explain(query, choose_queue_engine(query)),
            "queue engine auto, all ranks on one node -> thread: its messages match plain ones, which the "
            "communicator's info does not rule out");
  query.is_agreed = query.is_asserted = true;
  EXPECT_EQ(explain(query, choose_queue_engine(query)),
            "queue engine auto, all ranks on one node, queues alone -> device: the streams carry what both sides can");
}

}  // namespace
}  // namespace sluice::plan::queue_engine_test
