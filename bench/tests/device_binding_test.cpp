// SPDX-License-Identifier: BSD-3-Clause
// Which rank gets which device, on machines that are made up.
#include "bench/cli/device_binding.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "bench/cli/option_error.hpp"
#include "bench/memory/process_memory.hpp"
#include "bench/memory/rank_place.hpp"

namespace sluice::bench::device_binding_test {
namespace {

using Devices = std::vector<std::int32_t>;

std::vector<Seat> seats_on(const std::vector<int> &numa_nodes) {
  std::vector<Seat> seats;
  for (const int node : numa_nodes) seats.push_back({true, node});
  return seats;
}

Devices chosen(const std::string &binding, const std::vector<Seat> &seats, const std::vector<int> &device_nodes) {
  const DeviceChoice choice = choose_devices(parse_device_binding(binding), seats, device_nodes);
  EXPECT_EQ(choice.error, "");
  return choice.devices;
}

TEST(DeviceBinding, GoesRound_WhateverTheNodes) {
  EXPECT_EQ(chosen("round-robin", seats_on({1, 1, 0}), {0, 1}), (Devices{0, 1, 0}));
}

TEST(DeviceBinding, TakesTheDevicesOfTheRanksNode_EachInTurn) {
  EXPECT_EQ(chosen("closest", seats_on({1, 1, 0, 0}), {0, 0, 1, 1}), (Devices{2, 3, 0, 1}));
  EXPECT_EQ(chosen("closest", seats_on({1, 1, 1}), {0, 1}), (Devices{1, 1, 1}));
}

TEST(DeviceBinding, TakesTheLeastUsed_WhenNothingIsNear) {
  EXPECT_EQ(chosen("closest", seats_on({-1, 3, 0}), {0, 1}), (Devices{0, 1, 0}));
  EXPECT_EQ(chosen("closest", seats_on({0, 0}), {-1, -1}), (Devices{0, 1}));
}

TEST(DeviceBinding, LeavesDevicesFree_OfRanksThatNeedNone) {
  EXPECT_EQ(chosen("closest", {{false, -1}, {true, -1}}, {-1, -1}), (Devices{0, 0}));
}

TEST(DeviceBinding, FollowsTheList) {
  EXPECT_EQ(chosen("list:3,0,3", seats_on({0, 0, 0}), {0, 0, 0, 0}), (Devices{3, 0, 3}));
  EXPECT_EQ(chosen("list:1", {{true, 0}, {false, 0}}, {0, 0}), (Devices{1, 1}));
  const auto error_of = [](const char *text) {
    return choose_devices(parse_device_binding(text), seats_on({0, 0}), {0, 0}).error;
  };
  EXPECT_NE(error_of("list:1").find("names 1 devices, and rank 1"), std::string::npos);
  EXPECT_NE(error_of("list:0,2").find("there is no device 2"), std::string::npos);
}

TEST(DeviceBinding, RefusesOtherWords) {
  for (const char *text : {"", "near", "list:", "list:a", "list:-1"}) {
    EXPECT_THROW(parse_device_binding(text), OptionError) << text;
  }
  EXPECT_EQ(describe(parse_device_binding("list:0,2")), "list:0,2");
  EXPECT_EQ(describe(parse_device_binding("closest")), "closest");
}

TEST(DeviceBinding, FindsTheDeviceThatIsShared) {
  EXPECT_EQ(find_shared_device(seats_on({0, 0}), {0, 1}).n_ranks, 0);
  EXPECT_EQ(find_shared_device({{true, 0}, {false, 0}}, {0, 0}).n_ranks, 0);
  const SharedDevice shared = find_shared_device(seats_on({0, 0, 0}), {0, 1, 1});
  EXPECT_EQ(shared.device, 1);
  EXPECT_EQ(shared.n_ranks, 2);
}

TEST(RankPlace, NamesTheCores) {
  EXPECT_NE(query_rank_place().cores, "");
}

TEST(ProcessMemory, Grows_WhenMemoryIsTouched) {
  constexpr std::size_t kBytes = std::size_t{32} << 20;
  const std::uint64_t before = query_resident_bytes();
  const std::vector<char> touched(kBytes, 1);
  EXPECT_GE(query_resident_bytes(), before + kBytes / 2);
  EXPECT_EQ(touched.back(), 1);
}

}  // namespace
}  // namespace sluice::bench::device_binding_test
