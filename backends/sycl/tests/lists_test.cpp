// SPDX-License-Identifier: BSD-3-Clause
// Copies in command lists of Level Zero, on the loop-back loader, which makes what it may backwards and refuses what
// the specification forbids: what arrives, in which order, what is refused, and that nothing is used or given back
// while it is in flight.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <array>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "../level_zero_lists.h"
#include "copy_batch.h"
#include "loopback_loader.h"

namespace {

namespace level_zero = sluice::backends::sycl::level_zero;
using level_zero::CopyLists;
using sluice::backends::Outcome;
using sluice::tests::CopyBatch;

int g_context_place = 0;
int g_device_place = 0;
constexpr int32_t kLost = 0x70000001;
constexpr int32_t kUnsupported = 0x78000003;

const level_zero::Calls &calls() {
  const level_zero::Calls *found = nullptr;
  const Outcome outcome = level_zero::find_calls_of_process(&found);
  EXPECT_TRUE(outcome.is_success()) << outcome.text;
  return *found;
}

Outcome make(std::unique_ptr<CopyLists> *lists) {
  return CopyLists::make(calls(), &g_context_place, &g_device_place, lists);
}

std::unique_ptr<CopyLists> made() {
  std::unique_ptr<CopyLists> lists;
  const Outcome outcome = make(&lists);
  EXPECT_TRUE(outcome.is_success()) << outcome.text;
  return lists;
}

// A batch with a buffer that it is copied to.
struct Case {
  Case(size_t n_copies, unsigned seed) : batch(n_copies, seed), dst(batch.size_bytes()) {
    CopyBatch::poison(dst.data(), dst.size());
  }
  Outcome enqueue(CopyLists *lists) { return lists->enqueue(batch.copies(dst.data(), batch.src()), &number); }
  std::string problem() const { return batch.problem(dst.data()); }

  CopyBatch batch;
  std::vector<unsigned char> dst;
  uint64_t number = 0;
};

class Lists : public testing::Test {
 protected:
  void SetUp() override {
    loopback_reset(loopback::HandleForm::kDescriptor);
    for (const auto *count : {&state_.n_queues, &state_.n_lists, &state_.n_fences}) before_.push_back(*count);
  }
  void TearDown() override {
    loopback_hold_lists(false);
    EXPECT_EQ(state_.n_misuses, 0) << "calls that the specification forbids";
  }
  void expect_nothing_left() const {
    EXPECT_EQ(state_.n_queues, before_[0]);
    EXPECT_EQ(state_.n_lists, before_[1]);
    EXPECT_EQ(state_.n_fences, before_[2]);
  }
  int n_lists() const { return state_.n_lists - before_[1]; }

  loopback::State &state_ = *loopback_state();
  std::vector<int> before_;  // tests of errors leave some
};

TEST_F(Lists, Batches_OfEveryLength_ArriveWhole) {
  auto lists = made();
  int n_executed = 0;
  for (const size_t n_copies : {size_t{0}, size_t{1}, size_t{2}, size_t{64}, size_t{1000}}) {
    for (unsigned iteration = 0; iteration < 5; ++iteration) {
      Case one(n_copies, static_cast<unsigned>(n_copies) + iteration);
      const Outcome outcome = one.enqueue(lists.get());
      ASSERT_TRUE(outcome.is_success()) << outcome.text;
      ASSERT_TRUE(lists->wait(one.number).is_success());
      EXPECT_EQ(one.problem(), "") << n_copies << " copies, iteration " << iteration;
      EXPECT_EQ(state_.n_executed, ++n_executed) << "a batch is one list";
    }
  }
  EXPECT_EQ(n_lists(), 1) << "a list that is done is used again";
  EXPECT_TRUE(lists->close().is_success());
  expect_nothing_left();
}

// The checker itself.
TEST_F(Lists, CopyThatIsNotMade_IsSeen) {
  state_.drops_last = true;
  auto lists = made();
  for (const size_t n_copies : {size_t{1}, size_t{2}, size_t{64}, size_t{1000}}) {
    Case one(n_copies, 3);
    ASSERT_TRUE(one.enqueue(lists.get()).is_success());
    ASSERT_TRUE(lists->wait(one.number).is_success());
    EXPECT_NE(one.problem(), "") << n_copies;
  }
}

// Each batch takes what the one before it has brought; held back, so that all are there when the first begins.
std::string chain_problem(CopyLists *lists) {
  constexpr size_t kSteps = 8;
  const CopyBatch batch(64, 11);
  std::array<std::vector<unsigned char>, kSteps> buffers;
  uint64_t last = 0;
  loopback_hold_lists(true);
  for (size_t step = 0; step < kSteps; ++step) {
    buffers[step].resize(batch.size_bytes());
    CopyBatch::poison(buffers[step].data(), batch.size_bytes());
    const unsigned char *src = step == 0 ? batch.src() : buffers[step - 1].data();
    const Outcome outcome = lists->enqueue(batch.copies(buffers[step].data(), src), &last);
    if (!outcome.is_success()) return outcome.text;
  }
  const Outcome outcome = lists->wait(last);
  return outcome.is_success() ? batch.problem(buffers.back().data()) : outcome.text;
}

TEST_F(Lists, Batches_OfOneQueue_KeepTheirOrder) {
  auto lists = made();
  for (int iteration = 0; iteration < 10; ++iteration) ASSERT_EQ(chain_problem(lists.get()), "");
}

// What the test above sees: without its barriers the loop-back makes later batches first.
TEST_F(Lists, Batches_WithoutBarriers_AreSeen) {
  state_.ignores_barriers = true;
  auto lists = made();
  EXPECT_NE(chain_problem(lists.get()), "");
}

TEST_F(Lists, Tickets_AreDoneInOrder_AndNotBefore) {
  auto lists = made();
  Case first(20, 1);
  Case second(30, 2);
  loopback_hold_lists(true);
  ASSERT_TRUE(first.enqueue(lists.get()).is_success());
  ASSERT_TRUE(second.enqueue(lists.get()).is_success());
  EXPECT_LT(first.number, second.number);
  EXPECT_EQ(lists->test(first.number).result, SLUICE_NOT_READY);
  EXPECT_EQ(lists->test(second.number).result, SLUICE_NOT_READY);
  loopback_hold_lists(false);
  while (lists->test(second.number).result == SLUICE_NOT_READY) std::this_thread::yield();
  EXPECT_TRUE(lists->test(second.number).is_success());
  EXPECT_TRUE(lists->test(first.number).is_success());
  EXPECT_TRUE(lists->wait(first.number).is_success());
  EXPECT_EQ(first.problem(), "");
  EXPECT_EQ(second.problem(), "");
  EXPECT_EQ(lists->wait(second.number + 1).result, SLUICE_ERROR_INVALID_ARGUMENT) << "nobody enqueued that";
}

// More than may be in flight: the loop-back refuses a list that is reset or used while it is.
TEST_F(Lists, AreUsedAgain_AndNeverWhileInFlight) {
  auto lists = made();
  constexpr size_t kCases = 10 * CopyLists::kMostInFlight;
  std::vector<std::unique_ptr<Case>> cases;
  for (unsigned i = 0; i < kCases; ++i) cases.push_back(std::make_unique<Case>(1 + i % 9, i));
  loopback_hold_lists(true);
  for (size_t i = 0; i < CopyLists::kMostInFlight; ++i) ASSERT_TRUE(cases[i]->enqueue(lists.get()).is_success());
  EXPECT_EQ(n_lists(), static_cast<int>(CopyLists::kMostInFlight));
  EXPECT_NE(cases.front()->problem(), "");
  for (size_t i = CopyLists::kMostInFlight; i < kCases; ++i) {
    const Outcome outcome = cases[i]->enqueue(lists.get());
    ASSERT_TRUE(outcome.is_success()) << outcome.text;
  }
  ASSERT_TRUE(lists->wait(cases.back()->number).is_success());
  for (const auto &one : cases) EXPECT_EQ(one->problem(), "");
  EXPECT_EQ(n_lists(), static_cast<int>(CopyLists::kMostInFlight)) << "no more than may be in flight";
  lists.reset();
  expect_nothing_left();
}

TEST_F(Lists, QueuesOfSeveralThreads_AreIndependent) {
  std::array<std::string, 4> problems;
  std::vector<std::thread> threads;
  for (unsigned rank = 0; rank < problems.size(); ++rank) {
    threads.emplace_back([&, rank] {
      std::unique_ptr<CopyLists> lists;
      Outcome outcome = make(&lists);
      for (unsigned iteration = 0; iteration < 100 && outcome.is_success(); ++iteration) {
        Case one(1 + (rank * 31 + iteration * 7) % 64, rank * 1000 + iteration);
        outcome = one.enqueue(lists.get());
        if (outcome.is_success()) outcome = lists->wait(one.number);
        if (outcome.is_success() && !one.problem().empty()) outcome = {SLUICE_ERROR_NATIVE, one.problem()};
      }
      problems[rank] = outcome.text;
    });
  }
  for (std::thread &thread : threads) thread.join();
  for (const std::string &problem : problems) EXPECT_EQ(problem, "");
  expect_nothing_left();
}

// Level Zero says no before anything was executed: another way may be tried, nothing was copied, nothing is left, and
// when the reason is gone lists are there again.
TEST_F(Lists, Refusals_LeaveNothing_AndSayWhy) {
  const struct {
    std::atomic<int32_t> *fault;
    const char *call;
  } faults[] = {{&state_.groups_fault, "zeDeviceGetCommandQueueGroupProperties"},
                {&state_.queue_fault, "zeCommandQueueCreate"},
                {&state_.list_fault, "zeCommandListCreate"},
                {&state_.fence_fault, "zeFenceCreate"},
                {&state_.append_fault, "zeCommandListAppendMemoryCopy"},
                {&state_.close_fault, "zeCommandListClose"}};
  for (const auto &[fault, call] : faults) {
    SCOPED_TRACE(call);
    Case one(5, 5);
    std::unique_ptr<CopyLists> lists;
    *fault = kLost;
    Outcome outcome = make(&lists);
    if (outcome.is_success()) outcome = one.enqueue(lists.get());
    EXPECT_EQ(outcome.result, SLUICE_ERROR_UNSUPPORTED);
    EXPECT_EQ(outcome.text, std::string(call) + ": 0x70000001 (ZE_RESULT_ERROR_DEVICE_LOST)");
    EXPECT_EQ(state_.n_executed, 0);
    EXPECT_EQ(n_lists(), 0);
    *fault = 0;
    if (lists == nullptr) lists = made();
    ASSERT_TRUE(one.enqueue(lists.get()).is_success());
    ASSERT_TRUE(lists->wait(one.number).is_success());
    EXPECT_EQ(one.problem(), "");
    lists.reset();
    expect_nothing_left();
    loopback_reset(loopback::HandleForm::kDescriptor);
  }
}

// From execution on nobody knows what was copied: final, with the native text, also where Level Zero calls it
// unsupported. What it may still use is left alone.
TEST_F(Lists, FailuresOfExecution_AreFinal) {
  using Step = std::function<Outcome(CopyLists *, Case *)>;
  const Step enqueue = [](CopyLists *lists, Case *one) { return one->enqueue(lists); };
  const Step wait = [](CopyLists *lists, Case *one) { return lists->wait(one->number); };
  const Step test = [](CopyLists *lists, Case *one) {
    Outcome outcome{SLUICE_NOT_READY, ""};
    while (outcome.result == SLUICE_NOT_READY) outcome = lists->test(one->number);
    return outcome;
  };
  const struct {
    std::atomic<int32_t> *fault;
    const char *call;
    bool is_enqueued;
    Step step;
  } faults[] = {{&state_.execute_fault, "zeCommandQueueExecuteCommandLists", false, enqueue},
                {&state_.wait_fault, "zeFenceHostSynchronize", true, wait},
                {&state_.wait_fault, "zeFenceQueryStatus", true, test},
                {&state_.wait_fault, "zeFenceQueryStatus", true, enqueue},
                {&state_.reset_fault, "zeCommandListReset", true, wait}};
  for (const auto &[fault, call, is_enqueued, step] : faults) {
    for (const int32_t code : {kLost, kUnsupported}) {
      SCOPED_TRACE(std::string(call) + " " + std::to_string(code));
      Case one(5, 5);
      auto lists = made();
      if (is_enqueued) {
        ASSERT_TRUE(one.enqueue(lists.get()).is_success());
      }
      *fault = code;
      Outcome outcome = step(lists.get(), &one);
      EXPECT_EQ(outcome.result, SLUICE_ERROR_NATIVE);
      EXPECT_EQ(outcome.text.rfind(std::string(call) + ": 0x7", 0), 0U) << outcome.text;
      *fault = 0;
      Case later(3, 6);
      const std::string text = outcome.text;
      EXPECT_EQ(later.enqueue(lists.get()).text, text) << "it stays so";
      const int n_there = state_.n_lists;
      outcome = lists->close();
      EXPECT_EQ(outcome.result, SLUICE_ERROR_NATIVE);
      EXPECT_EQ(state_.n_lists, n_there) << "what Level Zero may still use is not destroyed";
      lists.reset();
      loopback_wait_lists();  // that copy to what ends here
    }
  }
}

TEST_F(Lists, Close_WaitsForWhatIsInFlight) {
  for (const bool by_destructor : {false, true}) {
    Case one(64, 8);
    Case two(64, 9);
    auto lists = made();
    loopback_hold_lists(true);
    ASSERT_TRUE(one.enqueue(lists.get()).is_success());
    ASSERT_TRUE(two.enqueue(lists.get()).is_success());
    EXPECT_NE(one.problem(), "");
    if (!by_destructor) {
      EXPECT_TRUE(lists->close().is_success());
    }
    lists.reset();
    EXPECT_EQ(one.problem(), "");
    EXPECT_EQ(two.problem(), "");
    expect_nothing_left();
  }
}

TEST_F(Lists, Engines_AreThoseThatOnlyCopy) {
  const auto group = [](uint32_t flags, uint32_t n_engines) {
    level_zero::QueueGroup made;
    made.flags = flags;
    made.n_engines = n_engines;
    return made;
  };
  using Groups = std::vector<level_zero::QueueGroup>;
  EXPECT_EQ(level_zero::choose_group(Groups{group(7, 4), group(2, 1), group(2, 7)}), 1U) << "the main one";
  EXPECT_EQ(level_zero::choose_group(Groups{group(7, 4), group(2, 7), group(2, 1)}), 2U);
  EXPECT_EQ(level_zero::choose_group(Groups{group(7, 4), group(2, 7)}), 1U) << "only links";
  EXPECT_EQ(level_zero::choose_group(Groups{group(3, 1), group(3, 1)}), 0U) << "none that only copies";
  EXPECT_EQ(level_zero::choose_group(Groups{group(1, 4), group(3, 4)}), 1U);
  EXPECT_EQ(level_zero::choose_group(Groups{group(3, 1), group(2, 0)}), 0U) << "a group without engines";
  EXPECT_EQ(level_zero::choose_group(Groups{group(1, 4)}), std::nullopt);
  EXPECT_EQ(level_zero::choose_group(Groups{}), std::nullopt);
  auto lists = made();
  EXPECT_EQ(state_.last_ordinal, 1U);
}

TEST_F(Lists, LoaderWithoutAFunction_IsNamed) {
  EXPECT_TRUE(level_zero::check_list_calls(calls()).is_success());
  void *library = dlopen(OLD_LOADER_PATH, RTLD_NOW | RTLD_LOCAL);
  ASSERT_NE(library, nullptr) << dlerror();
  level_zero::Calls old;
  ASSERT_TRUE(level_zero::find_calls(OLD_LOADER_PATH, &old).is_success());
  const Outcome outcome = level_zero::check_list_calls(old);
  EXPECT_EQ(outcome.result, SLUICE_ERROR_UNSUPPORTED);
  EXPECT_NE(outcome.text.find("zeCommandListAppendMemoryCopy"), std::string::npos) << outcome.text;
  EXPECT_EQ(dlclose(library), 0);
}

}  // namespace
