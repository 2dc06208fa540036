// SPDX-License-Identifier: BSD-3-Clause
// Which network library a process opens, and that it is believed nothing: the trial message.
#include "network/network.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <string>

#include "device/device_memory.hpp"
#include "fake_device.hpp"

namespace sluice::network::network_test {
namespace {

using ::testing::HasSubstr;
using tests::FakeBackend;

TEST(NetworkChoice, TakesWhatIsNamed_AndNothingByItself) {
  EXPECT_EQ(choose("auto").kind, Kind::kNone);
  EXPECT_EQ(choose("auto").why, Why::kNotTried);
  EXPECT_EQ(choose("off").kind, Kind::kNone);
  EXPECT_EQ(choose("ucp").kind, Kind::kUcp);
  EXPECT_EQ(choose("simulated").kind, Kind::kSimulated);
  EXPECT_EQ(choose("simulated").fault, Fault::kNone);
  EXPECT_EQ(choose("simulated:busy").fault, Fault::kBusy);
  EXPECT_EQ(choose("ofi:cxi").why, Why::kOfQueues);
  for (const char *wanted : {"", "UCP", "simulated:", "simulated:lost", "simulatedbusy", "ofi"}) {
    EXPECT_EQ(choose(wanted).kind, Kind::kNone) << wanted;
    EXPECT_EQ(choose(wanted).why, Why::kUnknownName) << wanted;
  }
}

TEST(NetworkChoice, SaysWhy) {
  EXPECT_THAT(reason(choose("auto").why), HasSubstr("SLUICE_NETWORK=ucp"));
  EXPECT_THAT(reason(choose("nonsense").why), HasSubstr("auto, off or ucp"));
}

// How a library of the tests carries a message of its process to itself.
enum class Manner : std::uint8_t { kRight, kChanged, kRefuses, kNotReceived, kFails, kTakesItForHost };

class Ended final : public Transfer {
 public:
  explicit Ended(Status outcome) : outcome_(std::move(outcome)) {}
  bool poll(Status *outcome) override {
    *outcome = outcome_;
    return true;
  }
  void cancel() noexcept override {}

 private:
  Status outcome_;
};

class Library final : public Provider {
 public:
  Library(const FakeBackend &fake, Manner manner) : fake_(fake), manner_(manner) {}
  std::string_view name() const noexcept override { return "library"; }
  const std::string &address() const noexcept override { return address_; }
  bool takes(const Memory & /*memory*/) override { return manner_ != Manner::kTakesItForHost; }
  Status receive(const Memory &memory, std::uint64_t /*tag*/, std::unique_ptr<Transfer> *transfer) override {
    if (manner_ == Manner::kNotReceived) return Status::error(ErrorKind::kBackend, "no receive");
    into_ = memory.data;
    *transfer = std::make_unique<Ended>(outcome());
    return {};
  }
  Status send(const Memory &memory, int /*peer*/, std::string_view address, std::uint64_t /*tag*/,
              std::unique_ptr<Transfer> *transfer) override {
    EXPECT_EQ(address, address_);
    if (manner_ == Manner::kRefuses) return Status::error(ErrorKind::kBackend, "no send");
    std::memcpy(fake_.alias(into_), fake_.alias(memory.data), memory.size_bytes);
    if (manner_ == Manner::kChanged) *fake_.alias(into_ + memory.size_bytes - 1) ^= std::byte{1};
    *transfer = std::make_unique<Ended>(outcome());
    return {};
  }

 private:
  [[nodiscard]] Status outcome() const {
    return manner_ == Manner::kFails ? Status::error(ErrorKind::kBackend, "it broke") : Status();
  }
  const FakeBackend &fake_;
  Manner manner_;
  std::byte *into_ = nullptr;
  std::string address_ = "here";
};

// Device memory of Sluice's own, out of the arena of the fake.
FakeBackend *arena = nullptr;
sluice_backend_t with_memory(const FakeBackend &fake) {
  sluice_backend_t table = fake.table();
  // There with the group `pack` only.
  table.can_pack = [](int32_t) { return 0; };
  table.enqueue_pack = [](sluice_queue_t *, const sluice_pack_t *) { return SLUICE_SUCCESS; };
  table.device_alloc = [](int32_t device, size_t size_bytes, void **memory) {
    *memory = arena->allocate(SLUICE_MEMORY_DEVICE, size_bytes, device);
    return SLUICE_SUCCESS;
  };
  table.device_free = [](int32_t /*device*/, void *memory) {
    arena->free(static_cast<std::byte *>(memory));
    return SLUICE_SUCCESS;
  };
  return table;
}

class NetworkTrial : public ::testing::Test {
 protected:
  Status attempt(Manner manner, bool *is_final, bool has_memory = true) {
    FakeBackend fake;
    arena = &fake;
    const sluice_backend_t table = has_memory ? with_memory(fake) : fake.table();
    Status status;
    const std::unique_ptr<device::Backend> backend = device::Backend::over_table(&table, &status);
    EXPECT_TRUE(status.is_ok()) << status.message();
    Library library(fake, manner);
    const device::Place place{MemoryKind::kDevice, backend.get(), 1, 0};
    status = try_on(&library, place, is_final);
    device::release_queues();
    device::release_device_memory();
    device::StagingPool::process().trim();
    return status;
  }
};

TEST_F(NetworkTrial, BelievesWhatComesAsItWasSent) {
  bool is_final = false;
  const Status status = attempt(Manner::kRight, &is_final);
  EXPECT_TRUE(status.is_ok()) << status.message();
}

TEST_F(NetworkTrial, BelievesNothingElse_AndSaysWhy) {
  const std::pair<Manner, const char *> manners[] = {{Manner::kChanged, "came changed"},
                                                     {Manner::kRefuses, "no send"},
                                                     {Manner::kNotReceived, "no receive"},
                                                     {Manner::kFails, "it broke"},
                                                     {Manner::kTakesItForHost, "for memory of the host"}};
  for (const auto &[manner, text] : manners) {
    bool is_final = false;
    const Status status = attempt(manner, &is_final);
    EXPECT_FALSE(status.is_ok()) << text;
    EXPECT_THAT(status.message(), HasSubstr(text));
    EXPECT_TRUE(is_final) << text;
  }
}

TEST_F(NetworkTrial, NeedsDeviceMemoryOfItsOwn) {
  bool is_final = false;
  EXPECT_THAT(attempt(Manner::kRight, &is_final, false).message(), HasSubstr("no device memory of its own"));
  EXPECT_TRUE(is_final);
}

}  // namespace
}  // namespace sluice::network::network_test
