// SPDX-License-Identifier: BSD-3-Clause
// Messages by the vendor's library (sluice/testing/program_exchange.h) on the loop-back driver, with a library in
// NCCL's place: two ranks, which are threads with a device each.
#include <cuda.h>
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <latch>
#include <thread>
#include <vector>

#include "loaded_module.h"
#include "loopback.h"
#include "sluice/backend.h"
#include "sluice/testing/program_exchange.h"

namespace {

constexpr size_t kRanks = 2;
constexpr size_t kMemory = 300007;
constexpr unsigned char kUntouched = 0xEE;

const sluice_backend_t *table = nullptr;
const sluice_program_exchange_t *exchange = nullptr;

unsigned char value_of(size_t rank, size_t offset) {
  return static_cast<unsigned char>(rank * 101 + offset * 7 + offset / 251);
}

// sizes[a][b]: of what a sends to b. Parts lie one behind the other with gaps, those that are received in another
// order.
struct Plan {
  std::array<std::array<uint64_t, kRanks>, kRanks> sizes;

  static uint64_t sent_at(size_t peer) { return 3 + peer * 140001; }
  static uint64_t received_at(size_t peer) { return 5 + (kRanks - 1 - peer) * 140003; }
};

// One rank's device, stream, memory and group; its thread alone uses it.
class Rank {
 public:
  explicit Rank(size_t rank) : rank_(rank) {
    EXPECT_EQ(table->program_set_device(static_cast<int32_t>(rank)), SLUICE_SUCCESS) << table->last_error();
    EXPECT_EQ(table->program_stream_create(&stream_), SLUICE_SUCCESS) << table->last_error();
    for (unsigned char **made : {&origin_, &sent_, &received_, &seen_}) {
      void *memory = nullptr;
      EXPECT_EQ(table->program_alloc(SLUICE_MEMORY_DEVICE, kMemory, &memory), SLUICE_SUCCESS) << table->last_error();
      *made = static_cast<unsigned char *>(memory);
    }
    for (size_t i = 0; i < kMemory; ++i) origin_[i] = value_of(rank, i);
  }
  ~Rank() {
    EXPECT_EQ(table->program_stream_destroy(stream_), SLUICE_SUCCESS) << table->last_error();
    for (void *memory : {origin_, sent_, received_, seen_}) EXPECT_EQ(table->program_free(memory), SLUICE_SUCCESS);
  }
  Rank(const Rank &) = delete;
  Rank &operator=(const Rank &) = delete;

  sluice_result_t join(const sluice_program_exchange_id_t &id) {
    return exchange->group_create(stream_, &id, kRanks, static_cast<uint32_t>(rank_), &group_);
  }
  // The data come into what is sent, and out of what is received, in the stream; the host waits for all of it at once.
  sluice_result_t run(const Plan &plan) {
    for (unsigned char *memory : {sent_, received_, seen_}) std::memset(memory, kUntouched, kMemory);
    std::array<uint64_t, kRanks> sent_sizes = plan.sizes[rank_];
    std::array<uint64_t, kRanks> received_sizes{};
    std::array<uint64_t, kRanks> sent_at{};
    std::array<uint64_t, kRanks> received_at{};
    for (size_t peer = 0; peer < kRanks; ++peer) {
      received_sizes[peer] = plan.sizes[peer][rank_];
      sent_at[peer] = Plan::sent_at(peer);
      received_at[peer] = Plan::received_at(peer);
    }
    EXPECT_EQ(table->program_stream_copy(stream_, sent_, origin_, kMemory), SLUICE_SUCCESS) << table->last_error();
    const sluice_program_exchange_parts_t parts = {sent_,     sent_sizes.data(),     sent_at.data(),
                                                   received_, received_sizes.data(), received_at.data()};
    const sluice_result_t result = exchange->enqueue(group_, &parts);
    // They are read during the call only.
    for (auto *numbers : {&sent_sizes, &received_sizes, &sent_at, &received_at}) numbers->fill(1);
    EXPECT_EQ(table->program_stream_copy(stream_, seen_, received_, kMemory), SLUICE_SUCCESS) << table->last_error();
    // What is sent may be written again.
    EXPECT_EQ(table->program_stream_copy(stream_, sent_, received_, kMemory), SLUICE_SUCCESS) << table->last_error();
    return result;
  }
  // Behind run(): every byte of the memory that it received in, and of the gaps.
  void check(const Plan &plan) const {
    ASSERT_EQ(table->program_stream_synchronize(stream_), SLUICE_SUCCESS) << table->last_error();
    std::vector<unsigned char> expected(kMemory, kUntouched);
    for (size_t peer = 0; peer < kRanks; ++peer) {
      for (uint64_t i = 0; i < plan.sizes[peer][rank_]; ++i) {
        expected[Plan::received_at(peer) + i] = value_of(peer, Plan::sent_at(rank_) + i);
      }
    }
    for (size_t i = 0; i < kMemory; ++i) {
      ASSERT_EQ(int{seen_[i]}, int{expected[i]}) << "byte " << i << " of rank " << rank_;
    }
  }
  sluice_result_t leave() { return exchange->group_destroy(group_); }
  sluice_result_t abandon() { return exchange->group_abandon(group_); }
  sluice_result_t wait() { return table->program_stream_synchronize(stream_); }
  sluice_program_exchange_group_t *group() const { return group_; }

 private:
  size_t rank_;
  void *stream_ = nullptr;
  unsigned char *origin_ = nullptr;
  unsigned char *sent_ = nullptr;
  unsigned char *received_ = nullptr;
  unsigned char *seen_ = nullptr;
  sluice_program_exchange_group_t *group_ = nullptr;
};

class Exchange : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    static const sluice_host_services_t services = {sizeof services, [](int, const char *) {},
                                                    [](const char *) -> const char * { return nullptr; }};
    // NOLINTNEXTLINE(concurrency-mt-unsafe): the only thread
    ASSERT_EQ(setenv("SLUICE_BENCH_NCCL", SLUICE_LOOPBACK_NCCL, 1), 0);
    void *library = nullptr;
    ASSERT_NO_FATAL_FAILURE(load_module(services, &table, &library));
    const auto find = reinterpret_cast<sluice_program_exchange_fn>(dlsym(library, SLUICE_PROGRAM_EXCHANGE_SYMBOL));
    ASSERT_NE(find, nullptr);
    exchange = find();
    ASSERT_EQ(exchange->api_version, SLUICE_PROGRAM_EXCHANGE_API_VERSION);
  }
  void SetUp() override {
    ASSERT_EQ(unsetenv("LOOPBACK_NCCL"), 0);
    ASSERT_EQ(exchange->id_create(&id_), SLUICE_SUCCESS) << table->last_error();
  }
  // Both ranks at once.
  static void on_ranks(const std::function<void(size_t)> &body) {
    std::thread other([&] { body(1); });
    std::thread one([&] { body(0); });
    one.join();
    other.join();
  }

  sluice_program_exchange_id_t id_ = {};
};

TEST_F(Exchange, NamesTheLibraryWithItsVersion) {
  ASSERT_NE(exchange->library(), nullptr) << table->last_error();
  EXPECT_STREQ(exchange->library(), "NCCL 2.28.9");
}

// More than a socket holds goes both ways at once; some parts are empty; one group carries several exchanges.
TEST_F(Exchange, CarriesUnequalPartsInTheOrderOfTheStream) {
  constexpr Plan kPlans[] = {{{{{1000, 120001}, {77, 3}}}},
                             {{{{0, 130003}, {140000, 1}}}},
                             {{{{9, 0}, {8, 0}}}},
                             {{{{0, 0}, {0, 0}}}},
                             {{{{1, 2}, {3, 4}}}}};
  on_ranks([&](size_t number) {
    Rank rank(number);
    ASSERT_EQ(rank.join(id_), SLUICE_SUCCESS) << table->last_error();
    for (const Plan &plan : kPlans) {
      EXPECT_EQ(rank.run(plan), SLUICE_SUCCESS) << table->last_error();
      rank.check(plan);
    }
    EXPECT_EQ(rank.leave(), SLUICE_SUCCESS) << table->last_error();
  });
}

// The number, what it means and what the library said of it, in one line; and nothing is left to destroy.
TEST_F(Exchange, PassesTheLibrarysTextOn) {
  ASSERT_EQ(setenv("LOOPBACK_NCCL", "error", 1), 0);
  on_ranks([&](size_t number) {
    Rank rank(number);
    ASSERT_EQ(rank.join(id_), SLUICE_SUCCESS) << table->last_error();
    EXPECT_EQ(rank.run({{{{1, 1}, {1, 1}}}}), SLUICE_ERROR_NATIVE);
    EXPECT_STREQ(table->last_error(),
                 "ncclGroupEnd: 2 (unhandled system error): loop-back: refused as it was asked for");
    EXPECT_EQ(rank.wait(), SLUICE_SUCCESS) << table->last_error();
    EXPECT_EQ(rank.abandon(), SLUICE_SUCCESS) << table->last_error();
  });
}

TEST_F(Exchange, RefusesTwoRanksOfOneDevice) {
  on_ranks([&](size_t number) {
    Rank rank(number);
    ASSERT_EQ(table->program_set_device(1), SLUICE_SUCCESS);
    EXPECT_EQ(rank.join(id_), SLUICE_ERROR_NATIVE);
    EXPECT_STREQ(table->last_error(),
                 "ncclCommInitRank: 5 (invalid usage): Duplicate GPU detected : rank 0 and rank 1 "
                 "both on CUDA device 1");
    EXPECT_EQ(rank.group(), nullptr);
  });
}

// One rank gives up: what it had enqueued ends, though the other never comes.
TEST_F(Exchange, AbandonsWhatWaitsForAnother) {
  std::latch has_ended(1);
  on_ranks([&](size_t number) {
    Rank rank(number);
    ASSERT_EQ(rank.join(id_), SLUICE_SUCCESS) << table->last_error();
    if (number == 0) {
      EXPECT_EQ(rank.run({{{{1, 1}, {1, 1}}}}), SLUICE_SUCCESS) << table->last_error();
      EXPECT_EQ(rank.abandon(), SLUICE_SUCCESS) << table->last_error();
      EXPECT_EQ(rank.wait(), SLUICE_SUCCESS) << table->last_error();
      has_ended.count_down();
    } else {
      has_ended.wait();
      EXPECT_EQ(rank.abandon(), SLUICE_SUCCESS) << table->last_error();
    }
  });
}

}  // namespace
