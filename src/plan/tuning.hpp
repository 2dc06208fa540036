// SPDX-License-Identifier: BSD-3-Clause
// Tuning tables: what measuring a machine found to be best there, as data. `sluice tune` writes one for each backend;
// what SLUICE_TUNING gives a setting stays in force over it, and a setting that it does not name keeps its default
// (docs/tuning.md).
//
// Threads: any. Nothing but read_*() and the first process_tuning(), which others call, reads files, and nothing
// waits for a process.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.hpp"

namespace sluice::plan {

struct TuningTable {
  std::string path;
  std::string backend;                        // whose memory it is about
  std::string device;                         // part of the names of the devices it is about; empty: of any
  std::map<std::string, std::string> values;  // by the name of a tunable setting, each one in its range
};

// Reads the JSON of a table: {"format": 2, "backend": "...", "device": "...", "settings": {"coll_segment": "1M"}};
// other members are for people. `path` is for the messages. Errors: no such text; a setting that is none, that no table
// may set, or a value out of its range; the message names the file, what is wrong there and the remedy. State: *table
// is as it was then.
[[nodiscard]] Status parse_tuning(const std::string &text, const std::string &path, TuningTable *table);

// The tables for a device of that name, in the order in which they hold: those with the longest `device` first, equals
// as they come. What a table says of any device so holds for one whose own table is silent there.
[[nodiscard]] std::vector<const TuningTable *> find_tuning(std::span<const TuningTable> tables,
                                                           std::string_view backend, std::string_view device_name);

// The tables of a file, or of the *.json in a folder, by name. A folder that is not there holds none. What cannot be
// used is left out and added to `problems`.
[[nodiscard]] std::vector<TuningTable> read_tuning(const std::string &path, std::vector<Status> *problems);

// Where SLUICE_TUNING=auto looks: the user's folder first, then the one beside the backend modules in `module_folder`.
[[nodiscard]] std::vector<std::string> tuning_folders(const std::string &module_folder);

// Reads the tables that SLUICE_TUNING lets this process use. What cannot be used is left out and added to `problems`,
// and so is a file or folder that the user names and that has none.
[[nodiscard]] std::vector<TuningTable> read_wanted_tuning(std::vector<Status> *problems);

// The same, read at the first call; problems are logged then. Any thread.
[[nodiscard]] const std::vector<TuningTable> &process_tuning();

// The value in force of a tunable setting (of settings.def): that of SLUICE_TUNING, else that of the first of
// find_tuning()'s tables that names it, else the default.
[[nodiscard]] std::string tuned_value(std::span<const TuningTable *const> tables, const char *setting);

// The same as a number: itself, bytes or nanoseconds; 0 for a name that is no setting.
[[nodiscard]] std::uint64_t tuned_number(std::span<const TuningTable *const> tables, const char *setting);

// The same for a backend of which no device is known yet: none where no table is about any device of its.
[[nodiscard]] std::optional<std::uint64_t> tuned_number_of_any(std::string_view backend, const char *setting);

}  // namespace sluice::plan
