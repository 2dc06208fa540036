// SPDX-License-Identifier: BSD-3-Clause
// What a buffer is: every kind, interior addresses, order of the backends, memory that changes, failing queries.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "fake_device.hpp"
#include "plan/policy.hpp"

namespace sluice::device::classify_test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using tests::Call;
using tests::FakeBackend;

class Classify : public tests::FakeDevice {
 protected:
  static Place classified(const void *address) {
    Place place;
    const Status status = classify(address, &place);
    EXPECT_TRUE(status.is_ok()) << status.message();
    return place;
  }
};

TEST_F(Classify, KnowsEveryKind) {
  for (const sluice_memory_kind_t kind :
       {SLUICE_MEMORY_PINNED, SLUICE_MEMORY_DEVICE, SLUICE_MEMORY_SHARED, SLUICE_MEMORY_FREED}) {
    const Place place = classified(fake.allocate(kind, 100, 1));
    EXPECT_EQ(static_cast<int>(place.kind), static_cast<int>(kind));
    EXPECT_EQ(place.backend, backend);
    EXPECT_EQ(place.device, 1);
    EXPECT_GT(place.allocation_id, 0u);
  }
}

TEST_F(Classify, KnowsEveryInteriorAddress) {
  const std::byte *memory = fake.allocate(SLUICE_MEMORY_DEVICE, 1000);
  const std::uint64_t id = classified(memory).allocation_id;
  for (std::size_t i = 0; i < 1000; ++i) {
    const Place place = classified(memory + i);
    EXPECT_EQ(place.kind, MemoryKind::kDevice) << i;
    EXPECT_EQ(place.allocation_id, id) << i;
  }
  EXPECT_EQ(classified(memory + 1000).kind, MemoryKind::kHost) << "one past the end";
}

TEST_F(Classify, SaysHost_WhenNobodyKnowsIt) {
  int local = 0;
  for (const void *address : {static_cast<const void *>(&local), static_cast<const void *>(nullptr)}) {
    Place place{MemoryKind::kDevice, backend, 3, 9};
    EXPECT_TRUE(classify(address, &place).is_ok());
    EXPECT_EQ(place.kind, MemoryKind::kHost);
    EXPECT_EQ(place.backend, nullptr);
    EXPECT_EQ(place.device, -1);
    EXPECT_EQ(place.allocation_id, 0u);
  }
}

TEST_F(Classify, AsksNobody_AboutNull) {
  const int before = fake.calls(Call::kQueryPointer);
  classified(nullptr);
  EXPECT_EQ(fake.calls(Call::kQueryPointer), before);
}

TEST_F(Classify, TakesTheFirstBackendThatKnowsIt) {
  FakeBackend second(1);
  FakeBackend third(2);
  const Backend *second_backend = add(second);
  add(third);
  second.claim_all(SLUICE_MEMORY_SHARED);
  third.claim_all(SLUICE_MEMORY_DEVICE);
  const Place mine = classified(fake.allocate(SLUICE_MEMORY_DEVICE, 64));
  EXPECT_EQ(mine.backend, backend);
  EXPECT_EQ(second.calls(Call::kQueryPointer), 0) << "asked though the first knew";
  int local = 0;
  const Place other = classified(&local);
  EXPECT_EQ(other.backend, second_backend);
  EXPECT_EQ(other.kind, MemoryKind::kShared);
  EXPECT_EQ(third.calls(Call::kQueryPointer), 0);
  Registry::process().clear();  // while all the fakes live
}

TEST_F(Classify, SeesMemoryAsItIsNow) {
  const std::byte *memory = fake.allocate(SLUICE_MEMORY_DEVICE, 64);
  const std::uint64_t id = classified(memory).allocation_id;
  fake.free(memory);
  EXPECT_EQ(classified(memory + 5).kind, MemoryKind::kFreed);
  fake.replace(memory, SLUICE_MEMORY_SHARED);
  EXPECT_EQ(classified(memory + 5).kind, MemoryKind::kShared);
  EXPECT_NE(classified(memory).allocation_id, id);
}

TEST_F(Classify, Fails_WhenAQueryFails) {
  const std::byte *memory = fake.allocate(SLUICE_MEMORY_DEVICE, 64);
  fake.fail(Call::kQueryPointer, SLUICE_ERROR_NATIVE, "FAKE_QUERY_3: context lost");
  Place place{MemoryKind::kDevice, backend, 3, 9};
  const Status status = classify(memory, &place);
  EXPECT_EQ(status.kind(), ErrorKind::kBackend);
  EXPECT_THAT(status.message(), AllOf(HasSubstr("fake0"), HasSubstr("FAKE_QUERY_3: context lost")));
  EXPECT_EQ(place.kind, MemoryKind::kHost);
  EXPECT_EQ(place.backend, nullptr);
  EXPECT_EQ(classified(memory).kind, MemoryKind::kDevice) << "a failure is not remembered";
}

TEST_F(Classify, ShowsLoadedBackends_WhileOneIsThere) {
  EXPECT_FALSE(loaded_backends().empty());
  EXPECT_EQ(Registry::process().find("fake0"), backend);
  EXPECT_EQ(Registry::process().find("fake"), nullptr);
  EXPECT_EQ(Registry::process().find(""), nullptr);
  Registry::process().clear();
  EXPECT_TRUE(loaded_backends().empty());
  EXPECT_EQ(Registry::process().find("fake0"), nullptr);
}

TEST_F(Classify, AnswersManyThreads) {
  const std::byte *device = fake.allocate(SLUICE_MEMORY_DEVICE, 4096);
  const std::byte *shared = fake.allocate(SLUICE_MEMORY_SHARED, 4096);
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 1000; ++i) {
        Place place;
        if (!classify(i % 2 == 0 ? device + i : shared + i, &place).is_ok() ||
            place.kind != (i % 2 == 0 ? MemoryKind::kDevice : MemoryKind::kShared)) {
          ++wrong;
        }
      }
    });
  }
  for (std::thread &thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

TEST_F(Classify, LeavesOutBackends_WhenThereAreTooMany) {
  std::vector<sluice_backend_t> tables(Registry::kMaxBackends, fake.table());
  ::testing::internal::CaptureStderr();
  for (const sluice_backend_t &table : tables) {
    Status status;
    Registry::process().add(Backend::over_table(&table, &status));
    EXPECT_TRUE(status.is_ok());
  }
  const std::string text = ::testing::internal::GetCapturedStderr();
  EXPECT_EQ(Registry::process().backends().size(), Registry::kMaxBackends);
  EXPECT_THAT(text, HasSubstr("is left out"));
  EXPECT_EQ(fake.finis(), 1) << "the one left out was shut down";
  Registry::process().clear();
  expected_finis = static_cast<int>(Registry::kMaxBackends) + 1;
}

TEST_F(Classify, PolicyTakesTheBackendsPreference_WhenTheKnobIsAuto) {
  for (const sluice_staging_memory_t memory :
       {SLUICE_STAGING_MALLOC, SLUICE_STAGING_ALIGNED, SLUICE_STAGING_RUNTIME, SLUICE_STAGING_RUNTIME_ALIGNED}) {
    fake.set_preferred_staging(memory);
    const plan::Policy policy = plan::policy_of(backend, 0);
    EXPECT_EQ(static_cast<int>(policy.staging_memory), static_cast<int>(memory));
  }
  EXPECT_EQ(plan::policy_of(nullptr, -1).staging_memory, StagingMemory::kMalloc);
}

}  // namespace
}  // namespace sluice::device::classify_test
