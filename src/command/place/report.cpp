// SPDX-License-Identifier: BSD-3-Clause
#include "command/place/report.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <iterator>
#include <nlohmann/json.hpp>

namespace sluice::command::place {
namespace {

using Out = std::back_insert_iterator<std::string>;
using nlohmann::ordered_json;

constexpr int kFormat = 1;

std::string plural(std::size_t n, const char *what) {
  return fmt::format("{} {}{}", n, what, n == 1 ? "" : "s");
}

std::string node_text(int numa_node) {
  return numa_node >= 0 ? fmt::format("NUMA node {}", numa_node) : std::string("NUMA node unknown");
}

std::string cores_text(const Nearness &near) {
  if (near.threads.is_empty()) return fmt::format("nearest cores unknown: {}", near.found_by);
  return fmt::format("nearest cores {} (by its {})", near.threads.text(), near.found_by);
}

std::string cards_text(const NearCards &cards) {
  return cards.names.empty() ? "no network card known"
                             : fmt::format("network {} (same {})", fmt::join(cards.names, ", "), cards.shared);
}

void print_links(Out out, const Report &report, std::int32_t puller) {
  if (!report.has_links) return;
  for (const Link &link : report.links) {
    if (link.puller != puller) continue;
    if (link.problem.empty()) {
      fmt::format_to(out, "    pulls from device {} of another process at {:.1f} GB/s\n", link.owner, link.gb_per_s);
    } else {
      fmt::format_to(out, "    does not reach device {} of another process: {}\n", link.owner, link.problem);
    }
  }
}

void print_device(Out out, const Report &report, std::size_t index) {
  const sluice_device_info_t &device = report.devices[index];
  const Nearness &near = report.nearness[index];
  fmt::format_to(out, "  device {}  {}, {}\n", index, device.name,
                 device.pci_address[0] != '\0' ? fmt::format("PCI {}", device.pci_address) : "no PCI address");
  fmt::format_to(out, "    {}, {}\n    {}\n", node_text(near.numa_node), cores_text(near), cards_text(near.cards));
  print_links(out, report, static_cast<std::int32_t>(index));
}

void print_seat(Out out, const Seat &seat, std::size_t rank) {
  fmt::format_to(
      out, "  rank {:<3} device {:<3} {}{}\n", rank, seat.device,
      seat.threads.is_empty() ? "not bound, as the cores near it are not known" : "cores " + seat.threads.text(),
      seat.n_sharing > 1 ? fmt::format(", which {} ranks share", seat.n_sharing) : "");
}

// A process that a launcher started, in a few lines: all ranks of a node print this.
std::string own_text(const Report &report, const LocalRank &self) {
  const auto rank = static_cast<std::size_t>(self.rank);
  const Seat &seat = report.seats.at(rank);
  const auto device = static_cast<std::size_t>(seat.device);
  const Nearness &near = report.nearness[device];
  std::string text = fmt::format("rank {} of {} on {} (by {}): device {} {}\n", rank, report.seats.size(), report.host,
                                 self.variable, device, report.devices[device].name);
  fmt::format_to(Out(text), "    {}, {}\n    {}\n    runs on cores {}; --bind {} gives it {}\n",
                 node_text(near.numa_node), cores_text(near), cards_text(near.cards), report.bound_to.text(),
                 report.rule, seat.threads.is_empty() ? "no others" : seat.threads.text());
  print_links(Out(text), report, seat.device);
  const std::string distance = describe_distance(self.rank, seat.device, near, report.bound_to);
  if (!distance.empty()) fmt::format_to(Out(text), "    {}\n", distance);
  return text;
}

ordered_json json_of(const Report &report, std::size_t index) {
  const sluice_device_info_t &device = report.devices[index];
  const Nearness &near = report.nearness[index];
  ordered_json json = {{"index", index},
                       {"name", device.name},
                       {"pci_address", device.pci_address},
                       {"numa_node", near.numa_node},
                       {"cores", near.threads.text()},
                       {"found_by", near.found_by},
                       {"network", near.cards.names},
                       {"network_shares", near.cards.shared}};
  if (!report.has_links) return json;
  json["pulls_from"] = ordered_json::array();
  for (const Link &link : report.links) {
    if (static_cast<std::size_t>(link.puller) != index) continue;
    ordered_json from = {{"device", link.owner}, {"is_reached", link.problem.empty()}};
    if (link.problem.empty()) {
      from["gb_per_s"] = link.gb_per_s;
    } else {
      from["problem"] = link.problem;
    }
    json["pulls_from"].push_back(std::move(from));
  }
  return json;
}

}  // namespace

std::string describe_distance(int rank, std::int32_t device, const Nearness &near, const ThreadSet &bound_to) {
  if (near.threads.is_empty() || bound_to.is_empty()) return "";
  if (hwloc_bitmap_intersects(near.threads.get(), bound_to.get()) != 0) return "";
  return fmt::format("rank {} of this node runs far from its device {}: on cores {}, and near the device are {}", rank,
                     device, bound_to.text(), near.threads.text());
}

std::string to_text(const Report &report) {
  if (report.self) return own_text(report, *report.self);
  std::string text = fmt::format("{}: {}, {} by {}\n", report.is_this_machine ? report.host : "The machine described",
                                 plural(static_cast<std::size_t>(report.n_numa_nodes), "NUMA node"),
                                 plural(report.devices.size(), "device"), report.backend);
  for (std::size_t i = 0; i < report.devices.size(); ++i) print_device(Out(text), report, i);
  if (!report.has_links) text += "  what they reach of each other, and how fast: --measure\n";
  fmt::format_to(Out(text), "\nWith --bind {} and {} on this node\n", report.rule, plural(report.seats.size(), "rank"));
  for (std::size_t rank = 0; rank < report.seats.size(); ++rank) print_seat(Out(text), report.seats[rank], rank);
  return text;
}

std::string to_json(const Report &report) {
  ordered_json root = {{"format", kFormat},
                       {"host", report.host},
                       {"is_this_machine", report.is_this_machine},
                       {"n_numa_nodes", report.n_numa_nodes},
                       {"backend", report.backend},
                       {"bind", report.rule}};
  root["devices"] = ordered_json::array();
  for (std::size_t i = 0; i < report.devices.size(); ++i) root["devices"].push_back(json_of(report, i));
  root["ranks"] = ordered_json::array();
  for (std::size_t rank = 0; rank < report.seats.size(); ++rank) {
    const Seat &seat = report.seats[rank];
    root["ranks"].push_back(
        {{"local_rank", rank}, {"device", seat.device}, {"cores", seat.threads.text()}, {"n_sharing", seat.n_sharing}});
  }
  if (report.self) {
    root["self"] = {{"local_rank", report.self->rank},
                    {"n_local_ranks", report.self->n_ranks},
                    {"variable", report.self->variable},
                    {"runs_on", report.bound_to.text()}};
  }
  return root.dump(2, ' ', false, ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace sluice::command::place
