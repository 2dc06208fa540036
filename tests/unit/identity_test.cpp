// SPDX-License-Identifier: BSD-3-Clause
// Numbers of devices that processes can compare.
#include "device/identity.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <list>
#include <memory>

#include "fake_backend.hpp"

namespace sluice::device::identity_test {
namespace {

// Device 0 of the first backend is device 1 of the second, as in two processes that number their devices by
// themselves; a later one has no address.
sluice_result_t (*device_info_of_fake)(int32_t, sluice_device_info_t *) = nullptr;

template <int kFirst>
sluice_result_t device_info_with_address(int32_t device, sluice_device_info_t *info) {
  if (device > 1) return SLUICE_ERROR_INVALID_ARGUMENT;
  const sluice_result_t result = device_info_of_fake(0, info);
  if (result != SLUICE_SUCCESS) return result;
  const int place = kFirst == 0 ? device : 1 - device;
  *fmt::format_to_n(info->pci_address, sizeof info->pci_address - 1, "0000:{:x}b:00.0", place + 1).out = '\0';
  return result;
}

sluice_result_t device_info_without_address(int32_t device, sluice_device_info_t *info) {
  const sluice_result_t result = device_info_of_fake(device, info);
  if (result == SLUICE_SUCCESS) info->pci_address[0] = '\0';
  return result;
}

class Identity : public ::testing::Test {
 protected:
  const Backend &with(sluice_result_t (*device_info)(int32_t, sluice_device_info_t *)) {
    Made &made = kept().emplace_back();
    made.table = fake_.table();
    device_info_of_fake = made.table.device_info;
    made.table.device_info = device_info;
    Status status;
    made.backend = Backend::over_table(&made.table, &status);
    EXPECT_TRUE(status.is_ok()) << status.message();
    return *made.backend;
  }
  static std::uint64_t identity(const Backend &backend, std::int32_t device) {
    return identity_of({MemoryKind::kDevice, &backend, device, 0});
  }

 private:
  struct Made {
    sluice_backend_t table{};
    std::unique_ptr<Backend> backend;
  };
  // As those of a program they stay: what is known of one is remembered by its address.
  static std::list<Made> &kept() {
    static auto *const all = new std::list<Made>();
    return *all;
  }
  tests::FakeBackend fake_;
};

TEST_F(Identity, IsOneDevicesAndNoOthers_HoweverTheyAreNumbered) {
  const Backend &here = with(device_info_with_address<0>);
  const Backend &there = with(device_info_with_address<1>);
  EXPECT_NE(identity(here, 0), 0U);
  EXPECT_NE(identity(here, 0), identity(here, 1));
  EXPECT_EQ(identity(here, 0), identity(there, 1));
  EXPECT_EQ(identity(here, 1), identity(there, 0));
  EXPECT_EQ(identity(here, -1), identity(here, 0)) << "an unknown device counts as the first";
}

TEST_F(Identity, IsZero_WhereNothingIsKnown) {
  EXPECT_EQ(identity(with(device_info_without_address), 0), 0U);
  EXPECT_EQ(identity(with(device_info_with_address<0>), 2), 0U) << "the backend does not say";
  EXPECT_EQ(identity_of({}), 0U) << "host memory";
}

}  // namespace
}  // namespace sluice::device::identity_test
