// SPDX-License-Identifier: BSD-3-Clause
// Where results go.
#include "bench/report/report.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <sstream>
#include <utility>

#include "bench/report/csv_report.hpp"

namespace sluice::bench {
namespace {

std::string file_error(const char *option, const std::string &path) {
  return fmt::format("{}: '{}' cannot be written: {}", option, path, std::strerror(errno));
}

// An empty path: nothing is asked for. Returns the reason why it could not be done, or "".
std::string write_file(const char *option, const std::string &path, const std::string &text) {
  if (path.empty()) {
    return "";
  }
  std::ofstream file(path);
  file << text;
  file.close();
  return file ? "" : file_error(option, path);
}

// The first line, with runs of blanks made one.
std::string heading_line(const std::string &text) {
  std::istringstream words(text.substr(0, text.find('\n')));
  std::string line;
  for (std::string word; words >> word;) {
    line += line.empty() ? word : " " + word;
  }
  return line;
}

}  // namespace

Report::Report(const Options &options, bool is_writer)
    : options_(options), is_writer_(is_writer), table_(options), progress_(options, is_writer) {}

std::string Report::open() const {
  if (!is_writer_) {
    return "";
  }
  // Empties them: an old result must not pass for this run's.
  const std::string error = write_file("--json", options_.json_path, "");
  return error.empty() ? write_file("--csv", options_.csv_path, "") : error;
}

void Report::print_rank(std::size_t rank) const {
  const nlohmann::json &about = run_.ranks.at(rank);
  std::string text =
      fmt::format("# Rank {}: host {}, {} memory", rank, about.value("host", "?"), about.value("memory", "?"));
  if (about.contains("recv_memory")) {
    text += fmt::format(" to send, {} memory to receive", about.value("recv_memory", "?"));
  }
  if (about.contains("device")) {
    const nlohmann::json &device = about.at("device");
    text += fmt::format(", device {} {} ({})", device.value("module", ""), device.value("index", -1),
                        device.value("name", ""));
    const std::string pci = device.value("pci_address", "");
    text += pci.empty() ? "" : fmt::format(", PCI {}", pci);
    const int numa_node = device.value("numa_node", -1);
    text += numa_node < 0 ? "" : fmt::format(", NUMA node {}", numa_node);
  }
  const std::string cores = about.value("cores", "");
  text += cores.empty() ? "" : fmt::format(", on cores {}", cores);
  const int own_node = about.value("numa_node", -1);
  text += own_node < 0 ? "" : fmt::format(" (NUMA node {})", own_node);
  fmt::print("{}\n", text);
}

void Report::begin(RunRecord run, Columns columns) {
  run_ = std::move(run);
  columns_ = std::move(columns);
  if (!is_writer_) {
    return;
  }
  fmt::print("# sluice-bench {}: {}: {}\n", program_version(), options_.test->name, options_.test->title);
  fmt::print("# MPI: {}\n", heading_line(run_.mpi_library));
  for (std::size_t rank = 0; rank < run_.ranks.size(); ++rank) {
    print_rank(rank);
  }
  if (options_.family.message.is_derived()) {
    fmt::print("# Messages: {}\n", describe(options_.family.message));
  }
  if (options_.route != Route::direct && options_.by_hand == ByHand::packing) {
    fmt::print("# Packed: the program packs into contiguous memory of the same kind, and unpacks\n");
  } else if (options_.route != Route::direct) {
    fmt::print("# Naive: the program stages by hand in {} host memory\n",
               options_.naive_staging == NaiveStaging::pinned ? "pinned" : "pageable");
  }
  if (options_.repeat > 1) {
    const std::string cap = options_.time_cap_s ? fmt::format("up to {} s, or until known within {} %, at most ",
                                                              *options_.time_cap_s, options_.precision_percent)
                                                : "";
    fmt::print("# Each figure is the median of {}{} blocks' medians\n", cap, options_.repeat);
  }
  for (const std::string &note : run_.notes) {
    fmt::print("# Note: {}\n", note);
  }
  fmt::print("{}\n", table_.heading(columns_));
  std::fflush(stdout);
  progress_.show(0);
}

void Report::add(Row row) {
  if (!is_writer_) {
    return;
  }
  progress_.clear();
  fmt::print("{}\n", table_.line(row));
  std::fflush(stdout);
  rows_.push_back(std::move(row));
  progress_.show(rows_.size());
}

std::string Report::finish(const std::string &failure) {
  progress_.clear();
  if (!is_writer_) {
    return "";
  }
  std::string csv_error = write_file("--csv", options_.csv_path, csv_document(options_, columns_, rows_));
  if (options_.json_path.empty()) {
    return csv_error;
  }
  const std::string text = json_document(options_, run_, columns_, rows_, failure).dump(2) + '\n';
  const std::string json_error = write_file("--json", options_.json_path, text);
  return json_error.empty() ? csv_error : json_error;
}

}  // namespace sluice::bench
