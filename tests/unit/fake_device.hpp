// SPDX-License-Identifier: BSD-3-Clause
// FakeDevice: the fixture of tests that need the process's registry to hold fake backends and nothing else. At its end
// nothing may be left over: no queue, no staging memory, no misuse.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "device/copy.hpp"
#include "device/place.hpp"
#include "device/queue.hpp"
#include "device/registry.hpp"
#include "device/staging_pool.hpp"
#include "fake_backend.hpp"

namespace sluice::tests {

class FakeDevice : public ::testing::Test {
 protected:
  FakeDevice() { backend = add(fake); }

  ~FakeDevice() override {
    device::release_queues();
    device::StagingPool::process().trim();
    device::Registry::process().clear();
    EXPECT_EQ(fake.live_queues(), 0);
    EXPECT_EQ(fake.live_host_blocks(), 0);
    EXPECT_EQ(fake.misuse(), "");
    EXPECT_EQ(fake.finis(), expected_finis);
  }

  // Initialises a further fake and puts it behind those that are there.
  static const device::Backend *add(const FakeBackend &further) {
    Status status;
    std::unique_ptr<device::Backend> made = device::Backend::over_table(&further.table(), &status);
    EXPECT_TRUE(status.is_ok()) << status.message();
    const device::Backend *result = made.get();
    device::Registry::process().add(std::move(made));
    return result;
  }

  [[nodiscard]] device::Place place(int device = 0) const { return {MemoryKind::kDevice, backend, device, 1}; }

  FakeBackend fake;
  const device::Backend *backend = nullptr;
  int expected_finis = 1;
};

// What byte `position` of a message is in round `round`.
inline std::byte pattern(std::size_t position, std::size_t round) {
  return static_cast<std::byte>((position * 131 + (position >> 8) * 17 + round * 29 + 1) & 0xff);
}

}  // namespace sluice::tests
