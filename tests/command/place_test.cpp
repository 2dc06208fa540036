// SPDX-License-Identifier: BSD-3-Clause
// Which cores and network cards lie near a device, and which rank gets them: on machines that are descriptions
// (machines/make_machines.py says which), and on none, for hwloc's synthetic ones.
#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>

#include <cstdio>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "command/place/report.hpp"

namespace sluice::command::place::place_test {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;

// The machine of a file of descriptions, or of a synthetic one.
class Described {
 public:
  Described(const char *variable, const std::string &value) {
    setenv(variable, value.c_str(), 1);
    const Status status = Machine::load(&machine_);
    EXPECT_TRUE(status.is_ok()) << status.message();
    unsetenv(variable);
  }
  [[nodiscard]] const Machine &machine() const { return machine_; }

 private:
  Machine machine_;
};

Described file(const std::string &name) {
  return {"HWLOC_XMLFILE", std::string(SLUICE_TEST_MACHINES) + "/" + name};
}

sluice_device_info_t device_at(const std::string &pci_address, int numa_node = -1) {
  sluice_device_info_t info{};
  std::snprintf(info.pci_address, sizeof info.pci_address, "%s", pci_address.c_str());
  info.numa_node = numa_node;
  return info;
}

std::vector<sluice_device_info_t> devices_at(const std::vector<std::string> &buses) {
  std::vector<sluice_device_info_t> devices;
  for (const std::string &bus : buses) devices.push_back(device_at("0000:" + bus + ":00.0"));
  return devices;
}

const std::vector<std::string> kEight = {"11", "21", "31", "41", "91", "a1", "b1", "c1"};
const std::vector<std::string> kSix = {"18", "28", "38", "98", "a8", "b8"};

std::vector<Nearness> nearness_of(const Machine &machine, const std::vector<sluice_device_info_t> &devices) {
  std::vector<Nearness> nearness;
  for (const sluice_device_info_t &device : devices) nearness.push_back(machine.near(device));
  return nearness;
}

std::vector<Seat> seats_of(const Machine &machine, const std::vector<Nearness> &devices, const std::string &bind,
                           int n_ranks) {
  BindRule rule;
  EXPECT_TRUE(parse_bind_rule(bind, &rule).is_ok());
  std::vector<Seat> seats;
  const SeatProblem problem = plan_seats(machine, devices, rule, n_ranks, &seats);
  EXPECT_TRUE(problem.status.is_ok()) << problem.status.message();
  return seats;
}

std::vector<std::string> cores_of(const std::vector<Seat> &seats) {
  std::vector<std::string> texts;
  for (const Seat &seat : seats) texts.push_back(seat.threads.text());
  return texts;
}

TEST(Near_NamesTheRightCores, OnTwoSocketsWithEightDevices) {
  const Described described = file("eight_devices.xml");
  const std::vector<Nearness> near = nearness_of(described.machine(), devices_at(kEight));
  for (std::size_t i = 0; i < 8; ++i) {
    EXPECT_EQ(near[i].threads.text(), i < 4 ? "0-55,112-167" : "56-111,168-223") << i;
    EXPECT_EQ(near[i].numa_node, i < 4 ? 0 : 1) << i;
    EXPECT_EQ(near[i].found_by, "PCI address") << i;
    EXPECT_THAT(near[i].cards.names, ElementsAre("fabric_" + std::to_string(i))) << i;
    EXPECT_EQ(near[i].cards.shared, "PCI switch") << i;
  }
  EXPECT_FALSE(described.machine().is_this_one());
}

TEST(Near_NamesTheRightCores, OnTwoSocketsWithSixDevicesAndMemoryOfTheirOwn) {
  const Described described = file("six_devices.xml");
  const std::vector<Nearness> near = nearness_of(described.machine(), devices_at(kSix));
  for (std::size_t i = 0; i < 6; ++i) {
    EXPECT_EQ(near[i].threads.text(), i < 3 ? "0-51,104-155" : "52-103,156-207") << i;
    EXPECT_EQ(near[i].numa_node, i < 3 ? 0 : 1) << i;  // the DRAM's, not 2 and 3, which have no cores of their own
    EXPECT_EQ(near[i].cards.shared, "package") << i;
  }
  EXPECT_THAT(near[0].cards.names, ElementsAre("hsn0", "hsn1", "hsn2", "hsn3"));
  EXPECT_THAT(near[5].cards.names, ElementsAre("hsn4", "hsn5", "hsn6", "hsn7"));
}

TEST(Near_TakesTheNumaNode_WhereNoPciAddressHelps, OnASyntheticMachine) {
  const Described described("HWLOC_SYNTHETIC", "package:2 [numa] core:4 pu:2");
  const Nearness by_node = described.machine().near(device_at("", 1));
  EXPECT_EQ(by_node.threads.text(), "8-15");
  EXPECT_EQ(by_node.numa_node, 1);
  EXPECT_EQ(by_node.found_by, "NUMA node");
  EXPECT_TRUE(by_node.cards.names.empty());
  EXPECT_EQ(described.machine().near(device_at("0000:11:00.0", 0)).found_by, "NUMA node");
  const Nearness unknown = described.machine().near(device_at(""));
  EXPECT_TRUE(unknown.threads.is_empty());
  EXPECT_THAT(unknown.found_by, HasSubstr("neither its PCI address nor its NUMA node"));
  EXPECT_TRUE(described.machine().near(device_at("0000:11:00.0", 7)).threads.is_empty());
}

TEST(Seats_DivideTheNearCores, AmongTheRanksBesideThem) {
  const Described eight = file("eight_devices.xml");
  const std::vector<Nearness> near = nearness_of(eight.machine(), devices_at(kEight));
  EXPECT_THAT(cores_of(seats_of(eight.machine(), near, "closest", 8)),
              ElementsAre("0-13,112-125", "14-27,126-139", "28-41,140-153", "42-55,154-167", "56-69,168-181",
                          "70-83,182-195", "84-97,196-209", "98-111,210-223"));
  // Fewer ranks have more.
  EXPECT_THAT(cores_of(seats_of(eight.machine(), near, "closest", 2)), ElementsAre("0-27,112-139", "28-55,140-167"));
  EXPECT_THAT(cores_of(seats_of(eight.machine(), near, "list:0,4", 2)), ElementsAre("0-55,112-167", "56-111,168-223"));

  const Described six = file("six_devices.xml");
  const std::vector<Nearness> of_six = nearness_of(six.machine(), devices_at(kSix));
  EXPECT_THAT(cores_of(seats_of(six.machine(), of_six, "closest", 6)),
              ElementsAre("0-16,104-120", "17-33,121-137", "34-51,138-155", "52-68,156-172", "69-85,173-189",
                          "86-103,190-207"));
}

TEST(Seats_GiveNoCoreTwice, AndEachRankItsDevice) {
  const Described six = file("six_devices.xml");
  const std::vector<Nearness> near = nearness_of(six.machine(), devices_at(kSix));
  const std::vector<Seat> seats = seats_of(six.machine(), near, "closest", 12);
  ThreadSet all;
  for (std::size_t rank = 0; rank < seats.size(); ++rank) {
    EXPECT_EQ(seats[rank].device, static_cast<std::int32_t>(rank % 6));
    EXPECT_FALSE(hwloc_bitmap_intersects(all.get(), seats[rank].threads.get())) << rank;
    EXPECT_TRUE(hwloc_bitmap_isincluded(seats[rank].threads.get(), near[rank % 6].threads.get())) << rank;
    EXPECT_EQ(seats[rank].n_sharing, 1);
    hwloc_bitmap_or(all.get(), all.get(), seats[rank].threads.get());
  }
  EXPECT_EQ(all.text(), "0-207");
}

// Each device of two tiles counts as two, at one address: a rank a tile, none on the other's cores.
TEST(Seats_GiveEachTileItsCores, WhereTwoDevicesHaveOneAddress) {
  const Described six = file("six_devices.xml");
  std::vector<std::string> tiles;
  for (const std::string &bus : kSix) tiles.insert(tiles.end(), 2, bus);
  const std::vector<Nearness> near = nearness_of(six.machine(), devices_at(tiles));
  EXPECT_EQ(near[4].threads.text(), "0-51,104-155");
  EXPECT_EQ(near[6].threads.text(), "52-103,156-207");
  EXPECT_THAT(near[4].cards.names, ElementsAre("hsn0", "hsn1", "hsn2", "hsn3"));
  const std::vector<Seat> seats = seats_of(six.machine(), near, "closest", 12);
  EXPECT_THAT(cores_of(seats), ElementsAre("0-7,104-111", "8-16,112-120", "17-25,121-129", "26-33,130-137",
                                           "34-42,138-146", "43-51,147-155", "52-59,156-163", "60-68,164-172",
                                           "69-77,173-181", "78-85,182-189", "86-94,190-198", "95-103,199-207"));
  for (std::size_t rank = 0; rank < seats.size(); ++rank) {
    EXPECT_EQ(seats[rank].device, static_cast<std::int32_t>(rank));
    EXPECT_EQ(seats[rank].n_sharing, 1);
  }
}

TEST(Seats_ShareTheCores_WhenTheRanksAreMore, OnASyntheticMachine) {
  const Described described("HWLOC_SYNTHETIC", "package:2 [numa] core:2 pu:1");
  const std::vector<Nearness> near = nearness_of(described.machine(), {device_at("", 0), device_at("", 1)});
  const std::vector<Seat> seats = seats_of(described.machine(), near, "list:0,0,0,1", 4);
  EXPECT_THAT(cores_of(seats), ElementsAre("0-1", "0-1", "0-1", "2-3"));
  EXPECT_EQ(seats[0].n_sharing, 3);
  EXPECT_EQ(seats[3].n_sharing, 1);
  for (const Seat &seat : seats_of(described.machine(), std::vector<Nearness>(1), "closest", 2)) {
    EXPECT_TRUE(seat.threads.is_empty());
    EXPECT_EQ(seat.n_sharing, 1);
  }
}

TEST(Seats_AreRefused, ForAListThatDoesNotFit) {
  const Described described("HWLOC_SYNTHETIC", "package:2 [numa] core:2 pu:1");
  const std::vector<Nearness> near = nearness_of(described.machine(), {device_at("", 0), device_at("", 1)});
  std::vector<Seat> seats;
  BindRule rule{BindKind::kList, {0, 1}};
  const SeatProblem too_short = plan_seats(described.machine(), near, rule, 4, &seats);
  EXPECT_THAT(too_short.status.message(), HasSubstr("names 2 devices, and 4 ranks run on this node"));
  EXPECT_EQ(too_short.rank, 2);
  rule.devices = {0, 2, 3};
  const SeatProblem absent = plan_seats(described.machine(), near, rule, 3, &seats);
  EXPECT_THAT(absent.status.message(), HasSubstr("there is no device 2: this node shows 2"));
  EXPECT_EQ(absent.rank, 1);
}

TEST(Distance_IsTold, OnlyWhereNoCoreIsNear) {
  const Described described = file("eight_devices.xml");
  const Nearness near = described.machine().near(device_at("0000:91:00.0"));
  const auto bound_to = [](unsigned first, int last) {
    ThreadSet threads;
    hwloc_bitmap_set_range(threads.get(), first, last);
    return threads;
  };
  EXPECT_THAT(describe_distance(4, 4, near, bound_to(0, 13)),
              AllOf(HasSubstr("far from its device 4: on cores 0-13"), EndsWith("near the device are 56-111,168-223")));
  EXPECT_EQ(describe_distance(4, 4, near, bound_to(55, 56)), "");
  EXPECT_EQ(describe_distance(4, 4, Nearness(), bound_to(0, 13)), "");
  EXPECT_EQ(describe_distance(4, 4, near, ThreadSet()), "");
}

Report report_of(const Machine &machine, const std::vector<std::string> &buses) {
  Report report;
  report.host = "n1";
  report.n_numa_nodes = machine.n_numa_nodes();
  report.is_this_machine = machine.is_this_one();
  report.backend = "fake";
  report.devices = devices_at(buses);
  report.nearness = nearness_of(machine, report.devices);
  report.rule = "closest";
  report.seats = seats_of(machine, report.nearness, report.rule, 8);
  return report;
}

TEST(Report_NamesEachRanksPlace, AsTextAndJson) {
  const Described described = file("eight_devices.xml");
  Report report = report_of(described.machine(), kEight);
  report.has_links = true;
  report.links = {{0, 1, 280.12, ""}, {2, 1, 0, "no way there"}};
  const std::string text = to_text(report);
  EXPECT_THAT(text, HasSubstr("2 NUMA nodes, 8 devices by fake"));
  EXPECT_THAT(text, HasSubstr("NUMA node 1, nearest cores 56-111,168-223 (by its PCI address)"));
  EXPECT_THAT(text, HasSubstr("network fabric_7 (same PCI switch)"));
  EXPECT_THAT(text, HasSubstr("pulls from device 0 of another process at 280.1 GB/s"));
  EXPECT_THAT(text, HasSubstr("does not reach device 2 of another process: no way there"));
  EXPECT_THAT(text, HasSubstr("rank 5   device 5   cores 70-83,182-195"));
  const auto json = nlohmann::json::parse(to_json(report));
  EXPECT_EQ(json["ranks"][5]["cores"], "70-83,182-195");
  EXPECT_EQ(json["devices"][7]["network"][0], "fabric_7");
  EXPECT_EQ(json["devices"][1]["pulls_from"][1]["problem"], "no way there");
}

TEST(Report_IsOfItsOwnRank, UnderALauncher) {
  const Described described = file("eight_devices.xml");
  Report report = report_of(described.machine(), kEight);
  report.self = LocalRank{6, 8, "MPI_LOCALRANKID"};
  hwloc_bitmap_set_range(report.bound_to.get(), 0, 3);
  const std::string text = to_text(report);
  EXPECT_THAT(text, HasSubstr("rank 6 of 8 on n1 (by MPI_LOCALRANKID): device 6"));
  EXPECT_THAT(text, HasSubstr("runs on cores 0-3; --bind closest gives it 84-97,196-209"));
  EXPECT_THAT(text, HasSubstr("runs far from its device 6"));
}

TEST(Machine_Binds, ThisProcess) {
  // hwloc's PCI plugin unloads libpciaccess before that has freed its table of devices, which a leak checker then
  // counts as ours. Kept loaded, the table stays in reach.
  ::dlopen("libpciaccess.so.0", RTLD_LAZY | RTLD_NODELETE);
  Machine machine;
  const Status status = Machine::load(&machine);
  ASSERT_TRUE(status.is_ok()) << status.message();
  ASSERT_TRUE(machine.is_this_one());
  const ThreadSet before = machine.bound_to();
  ASSERT_FALSE(before.is_empty());
  ThreadSet one;
  hwloc_bitmap_set(one.get(), static_cast<unsigned>(hwloc_bitmap_first(before.get())));
  const Status bound = machine.bind(one);
  ASSERT_TRUE(bound.is_ok()) << bound.message();
  cpu_set_t mine;
  ASSERT_EQ(sched_getaffinity(0, sizeof mine, &mine), 0);
  EXPECT_EQ(CPU_COUNT(&mine), 1);
  EXPECT_TRUE(machine.bound_to() == one);
}

}  // namespace
}  // namespace sluice::command::place::place_test
