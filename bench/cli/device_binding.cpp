// SPDX-License-Identifier: BSD-3-Clause
// Which rank gets which device.
#include "bench/cli/device_binding.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <map>
#include <string_view>

#include "bench/cli/option_error.hpp"

namespace sluice::bench {
namespace {

constexpr std::string_view kListWord = "list:";

std::int32_t parse_device(const std::string &word, const std::string &text) {
  std::int32_t device = -1;
  const auto [stop, error] = std::from_chars(word.data(), word.data() + word.size(), device);
  if (error != std::errc{} || stop != word.data() + word.size() || device < 0) {
    throw OptionError(fmt::format("--bind: '{}' of '{}' is not the number of a device", word, text));
  }
  return device;
}

// The devices on the rank's NUMA node; all where there are none.
std::vector<std::int32_t> closest_devices(int numa_node, const std::vector<int> &device_numa_nodes) {
  std::vector<std::int32_t> near;
  std::vector<std::int32_t> all;
  for (std::size_t device = 0; device < device_numa_nodes.size(); ++device) {
    all.push_back(static_cast<std::int32_t>(device));
    if (numa_node >= 0 && device_numa_nodes[device] == numa_node) {
      near.push_back(static_cast<std::int32_t>(device));
    }
  }
  return near.empty() ? all : near;
}

DeviceChoice choose_closest(const std::vector<Seat> &seats, const std::vector<int> &device_numa_nodes) {
  DeviceChoice choice;
  std::map<std::int32_t, int> n_users;
  for (const Seat &seat : seats) {
    const std::vector<std::int32_t> near = closest_devices(seat.numa_node, device_numa_nodes);
    // The one with the fewest users, the first of equal ones: ranks of other nodes may have come here already.
    const std::int32_t device = *std::min_element(
        near.begin(), near.end(), [&](std::int32_t a, std::int32_t b) { return n_users[a] < n_users[b]; });
    n_users[device] += seat.needs_device ? 1 : 0;
    choice.devices.push_back(device);
  }
  return choice;
}

}  // namespace

DeviceBinding parse_device_binding(const std::string &text) {
  if (text == "round-robin") return {};
  if (text == "closest") return {BindingRule::closest, {}};
  if (!text.starts_with(kListWord)) {
    throw OptionError(fmt::format("--bind: '{}' is unknown: closest, round-robin or list:0,1", text));
  }
  DeviceBinding binding{BindingRule::list, {}};
  for (const std::string &word : CLI::detail::split(text.substr(kListWord.size()), ',')) {
    binding.list.push_back(parse_device(word, text));
  }
  return binding;
}

std::string describe(const DeviceBinding &binding) {
  switch (binding.rule) {
    case BindingRule::closest:
      return "closest";
    case BindingRule::list:
      return fmt::format("list:{}", fmt::join(binding.list, ","));
    default:
      return "round-robin";
  }
}

DeviceChoice choose_devices(const DeviceBinding &binding, const std::vector<Seat> &seats,
                            const std::vector<int> &device_numa_nodes) {
  if (binding.rule == BindingRule::closest) {
    return choose_closest(seats, device_numa_nodes);
  }
  const std::size_t n_devices = device_numa_nodes.size();
  DeviceChoice choice;
  for (std::size_t i = 0; i < seats.size(); ++i) {
    if (binding.rule == BindingRule::round_robin || (!seats[i].needs_device && i >= binding.list.size())) {
      choice.devices.push_back(static_cast<std::int32_t>(i % n_devices));
    } else if (i >= binding.list.size()) {
      choice.error =
          fmt::format("--bind: the list names {} devices, and rank {} of this host needs one", binding.list.size(), i);
      return choice;
    } else if (static_cast<std::size_t>(binding.list[i]) >= n_devices) {
      choice.error =
          fmt::format("--bind: there is no device {}: this host has {}, numbered from 0", binding.list[i], n_devices);
      return choice;
    } else {
      choice.devices.push_back(binding.list[i]);
    }
  }
  return choice;
}

SharedDevice find_shared_device(const std::vector<Seat> &seats, const std::vector<std::int32_t> &devices) {
  std::map<std::int32_t, int> n_users;
  for (std::size_t i = 0; i < seats.size(); ++i) {
    n_users[devices[i]] += seats[i].needs_device ? 1 : 0;
  }
  for (const auto &[device, n] : n_users) {
    if (n > 1) return {device, n};
  }
  return {};
}

}  // namespace sluice::bench
