// SPDX-License-Identifier: BSD-3-Clause
// What `sluice info --topology` says. Collected into values first, then printed as text or JSON. Pure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/local_rank.hpp"
#include "command/place/links.hpp"
#include "command/place/machine.hpp"
#include "command/place/seats.hpp"

namespace sluice::command::place {

struct Report {
  std::string host;
  int n_numa_nodes = 0;
  bool is_this_machine = true;  // false: hwloc was given a description of another one
  std::string backend;
  std::vector<sluice_device_info_t> devices;
  std::vector<Nearness> nearness;  // of each device
  std::string rule;                // as the user wrote it
  std::vector<Seat> seats;         // of the ranks of this node
  std::optional<LocalRank> self;   // when a launcher started this process
  ThreadSet bound_to;              // where it runs
  bool has_links = false;
  std::vector<Link> links;
};

// The whole table; of a process that a launcher started, what concerns its own rank.
[[nodiscard]] std::string to_text(const Report &report);
// Members are only ever added; another meaning raises "format".
[[nodiscard]] std::string to_json(const Report &report);

// One line about a rank that is to run on other cores than those near its device: none of the threads that it is bound
// to is near. Empty where one is, and where nothing is known.
[[nodiscard]] std::string describe_distance(int rank, std::int32_t device, const Nearness &near,
                                            const ThreadSet &bound_to);

}  // namespace sluice::command::place
