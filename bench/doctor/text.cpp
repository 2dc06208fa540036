// SPDX-License-Identifier: BSD-3-Clause
// What is printed.
#include "bench/doctor/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <sstream>

#include "bench/doctor/conclusions.hpp"
#include "bench/doctor/fact_queries.hpp"
#include "bench/doctor/rank_list.hpp"

namespace sluice::bench::doctor {
namespace {

constexpr int kFormat = 1;
constexpr std::size_t kColumns = 100;
constexpr std::size_t kLabelColumns = 18;
constexpr std::size_t kRankColumns = 10;

using TextOf = std::function<std::string(const Json &)>;

// One fact of all ranks: a line for each different value.
std::string fact(const std::string &label, const std::vector<Json> &ranks, const TextOf &text_of) {
  std::string lines;
  for (const auto &[value, whose] : folded(ranks, text_of)) {
    if (value.empty()) continue;
    const std::size_t indent = 2 + kLabelColumns + kRankColumns;
    std::string line = wrapped(value, indent);
    const std::string head =
        fmt::format("  {:<{}}{:<{}}", lines.empty() ? label : "", kLabelColumns, rank_list(whose), kRankColumns - 1);
    if (head.size() < indent) {
      line.replace(0, head.size(), head);
    } else {
      line = fmt::format("{}\n{}", head, line);
    }
    lines += line;
  }
  return lines;
}

std::string joined(const Json &words) {
  std::string text;
  for (const Json &word : words) text += (text.empty() ? "" : " ") + word.get<std::string>();
  return text;
}

std::string sluice_text(const Json &rank) {
  const Json &sluice = rank.at("sluice");
  if (!sluice.at("is_there").get<bool>()) return "not in the process";
  const std::string by = rank.at("preload").at("by");
  return fmt::format("{}{}, {}: {}", sluice.at("version").get<std::string>(),
                     sluice.at("is_enabled").get<bool>() ? "" : ", switched off",
                     by == "you" ? "preloaded by you" : "preloaded by the doctor",
                     sluice.at("library").get<std::string>());
}

std::string backend_text(const Json &rank, const std::string &name) {
  const Json *backend = find_backend(rank, name);
  if (backend == nullptr) return "not there";
  const Json &devices = backend->at("devices");
  if (devices.empty()) return fmt::format("no device: {}", backend->at("problem").get<std::string>());
  const bool is_taken = backend->at("sluice_takes_it");
  const char *taker = is_taken                                  ? "taken by Sluice"
                      : backend->at("mpi_takes_it").get<bool>() ? "taken by the MPI itself"
                                                                : "not taken by MPI";
  return fmt::format("{} device{}, {}: {}{}", devices.size(), devices.size() == 1 ? "" : "s", taker,
                     devices[0].at("name").get<std::string>(), devices.size() == 1 ? "" : ", ...");
}

std::string size_text(const Json &bytes) {
  if (!bytes.is_number()) return "no limit";
  constexpr double kMiB = 1024.0 * 1024.0;
  return fmt::format("{:.0f} MiB", static_cast<double>(bytes.get<std::uint64_t>()) / kMiB);
}

std::string limits_text(const Json &rank) {
  const Json &limits = rank.at("limits");
  const Json &files = limits.at("open_files");
  const Json &scope = limits.at("ptrace_scope");
  const Json &shared = limits.at("shared_memory_free_bytes");
  return fmt::format("/dev/shm {} free; open files {}; locked memory {}; ptrace scope {}",
                     shared.is_number() ? size_text(shared) : "unknown",
                     files.is_number() ? std::to_string(files.get<std::uint64_t>()) : "no limit",
                     size_text(limits.at("locked_bytes")),
                     scope.is_number() ? std::to_string(scope.get<int>()) : "none");
}

std::string masks_text(const Json &rank) {
  std::string text;
  for (const Json &backend : rank.at("backends")) {
    const std::string masks = joined(backend.at("masks"));
    if (!masks.empty()) text += (text.empty() ? "" : " ") + masks;
  }
  return text;
}

// "ipc" where both directions and lengths have one; else "ipc, 4 MiB pipelined", and with a stroke where they differ.
std::string route_text(const Json &pair) {
  const auto of_sides = [&](const char *member) {
    std::string text;
    for (const Json &side : pair.at("sides")) {
      const std::string one = side.at(member);
      if (text.empty()) {
        text = one;
      } else if (one != text) {
        text += "/" + one;
      }
    }
    return text.empty() ? std::string("unknown") : text;
  };
  const std::string of_short = of_sides("short_route");
  const std::string of_long = of_sides("long_route");
  const std::string text = of_short == of_long ? of_long : fmt::format("{}, 8 B: {}", of_long, of_short);
  return pair.value("between_nodes", false) ? text + ", to another node" : text;
}

}  // namespace

std::string wrapped(const std::string &text, std::size_t indent) {
  std::istringstream words(text);
  std::string lines;
  std::string line(indent, ' ');
  bool is_empty = true;
  for (std::string word; words >> word;) {
    if (!is_empty && line.size() + 1 + word.size() > kColumns) {
      lines += line + "\n";
      line.assign(indent, ' ');
      is_empty = true;
    }
    if (!is_empty) line += ' ';
    line += word;
    is_empty = false;
  }
  return lines + line + "\n";
}

std::string text_of_ranks(const Findings &findings) {
  const std::vector<Json> &ranks = findings.ranks;
  const Json &first = ranks.front();
  const auto member = [](const char *name) {
    return [name](const Json &rank) { return rank.at(name).get<std::string>(); };
  };
  std::string text =
      fmt::format("Sluice {}: {} rank{} (flavour {}: {})\n", first.at("program_version").get<std::string>(),
                  ranks.size(), ranks.size() == 1 ? "" : "s", first.at("flavour").get<std::string>(),
                  first.at("flavour_rule").get<std::string>());
  if (first.at("started_by").is_null()) {
    text +=
        wrapped(fmt::format("No launcher started this process, so it looks at itself alone. To see the ways between "
                            "ranks, start: {}",
                            first.at("start_line").get<std::string>()),
                0);
  }
  text += fmt::format("\n  {:<{}}{}\n", "fact", kLabelColumns, "ranks");
  text += fact("host", ranks, member("host"));
  text += fact("MPI", ranks, [](const Json &rank) {
    return fmt::format("{} (standard {}, threads: {})", rank.at("mpi").get<std::string>(),
                       rank.at("standard").get<std::string>(), rank.at("thread_level").get<std::string>());
  });
  text += fact("Sluice", ranks, sluice_text);
  text += fact("memory kinds", ranks, [](const Json &rank) {
    const std::string kinds = rank.at("memory_kinds");
    return kinds.empty() ? std::string("the MPI names none") : kinds;
  });
  for (const Json &backend : first.at("backends")) {
    const std::string name = backend.at("name");
    text += fact("backend " + name, ranks, [&](const Json &rank) { return backend_text(rank, name); });
  }
  text += fact("masks", ranks, masks_text);
  text += fact("variables", ranks, [](const Json &rank) { return joined(rank.at("knobs")); });
  text += fact("cores", ranks, member("cores"));
  text += fact("limits", ranks, limits_text);
  return text;
}

std::string text_of_pairs(const Findings &findings) {
  if (findings.ranks.size() < 2) return "";
  if (findings.pairs.empty()) {
    return "\nFrom device memory to device memory: no two ranks have a device that Sluice takes.\n";
  }
  std::string text = fmt::format("\nFrom device memory to device memory of the backend {}\n", findings.backend);
  text +=
      fmt::format("  {:<12} {:<10} {:>10} {:>14}  {:<8} {}\n", "ranks", "devices", "8 B", "4 MiB", "bytes", "route");
  for (const Json &pair : findings.pairs) {
    const Json &sides = pair.at("sides");
    double latency_us = 0;
    double bandwidth = 0;
    bool is_right = true;
    std::string devices;
    for (const Json &side : sides) {
      latency_us = std::max(latency_us, side.value("latency_us", 0.0));
      bandwidth = std::max(bandwidth, side.value("bandwidth_gb_per_s", 0.0));
      is_right = is_right && side.at("is_right").get<bool>();
      devices += fmt::format("{}{}", devices.empty() ? "" : " - ", side.at("device").get<int>());
    }
    text += fmt::format("  {:<12} {:<10} {:>10} {:>14}  {:<8} {}\n",
                        fmt::format("{} - {}", pair.at("ranks")[0].get<int>(), pair.at("ranks")[1].get<int>()), devices,
                        fmt::format("{:.1f} us", latency_us), fmt::format("{:.2f} GB/s", bandwidth),
                        is_right ? "right" : "WRONG", route_text(pair));
  }
  return text;
}

std::string text_of_conclusions(const Findings &findings) {
  std::string text = "\nConclusions\n";
  if (!has_fault(findings.conclusions)) text += "  All is well.\n";
  int number = 0;
  for (const Conclusion &conclusion : findings.conclusions) {
    const std::string head = conclusion.is_wrong ? fmt::format("  {}. ", ++number) : std::string("  -  ");
    std::string what = wrapped(conclusion.what, 5);
    text += what.replace(0, std::min<std::size_t>(head.size(), 5), head.substr(0, 5));
    text += wrapped("To do: " + conclusion.remedy, 5);
  }
  return text;
}

std::string json_of(const Findings &findings) {
  Json root = {{"format", kFormat}, {"is_well", !has_fault(findings.conclusions)}, {"backend", findings.backend}};
  root["conclusions"] = Json::array();
  for (const Conclusion &conclusion : findings.conclusions) {
    root["conclusions"].push_back(
        {{"is_wrong", conclusion.is_wrong}, {"what", conclusion.what}, {"remedy", conclusion.remedy}});
  }
  root["pairs"] = findings.pairs;
  root["ranks"] = findings.ranks;
  return root.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace sluice::bench::doctor
