// SPDX-License-Identifier: BSD-3-Clause
// What an application says: a table on rank 0, and a JSON file in the form of sluice-bench's, which `sluice-bench
// compare` and `sluice-bench report` take.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "apps/support/device.hpp"

namespace sluice::apps {

class Report {
 public:
  // Collective. name: of the application; command: its command line; json_path: "" for no file.
  Report(const World &world, const Device &device, std::string name, std::vector<std::string> command,
         std::string json_path);
  ~Report();
  Report(const Report &) = delete;
  Report &operator=(const Report &) = delete;

  // Local. A parameter of the run, for the heading and for JSON. Before the first row.
  void add_parameter(const std::string &name, const std::string &value);

  // Collective. A row: what `series` took for messages of size_bytes (0: of several sizes) on the slowest rank, in µs.
  // own_us: this rank's times, at least one, as many on each rank.
  void add(const std::string &series, std::uint64_t size_bytes, std::vector<double> own_us);

  // Collective. Writes the file: what was checked, and failure "" or why the run ended early. Throws AgreedError when
  // it cannot be written.
  void finish(const std::string &failure);

 private:
  struct Document;  // the JSON library's types stay out of the applications

  void print_heading();

  const World &world_;
  std::unique_ptr<Document> document_;
  std::string json_path_;
  bool has_heading_ = false;
};

}  // namespace sluice::apps
