// SPDX-License-Identifier: BSD-3-Clause
// The command line of sluice-bench: OSU's option letters and placement words, and our own long options.
#pragma once

#include <sluice/backend.h>

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "bench/cli/device_binding.hpp"
#include "bench/cli/family_options.hpp"
#include "bench/cli/option_error.hpp"
#include "bench/cli/test_info.hpp"

namespace sluice::bench {

// What is asked for: a measurement, or a text.
enum class Action { measure, help, version, list_tests, list_devices };

// How a message gets from one device buffer to the other.
enum class Route {
  direct,  // the buffer is handed to MPI as it is
  naive,   // the program moves it by hand
  compare  // both, block by block in turn
};

// What a program does by hand on that route.
enum class ByHand {
  staging,  // copies to host memory, calls MPI on that, copies up
  packing   // packs a derived datatype into contiguous memory of the same kind, calls MPI on that, unpacks
};

// The host memory that a hand-staging program uses.
enum class NaiveStaging { pageable, pinned };

enum class CheckMode { none, some, all };

// Who compares data in device memory with what it should be.
enum class CheckPlace {
  either,  // the device where it has a kernel for that, else the host
  device,
  host  // on a copy
};

struct Options {
  Action action = Action::measure;
  std::string help_text;  // filled for Action::help

  const TestInfo *test = nullptr;
  std::vector<std::uint64_t> sizes;
  std::optional<std::uint64_t> iterations;  // none: the test's own default, which depends on the size
  std::optional<std::uint64_t> warmup;
  std::uint64_t batch = 1;           // iterations timed as one sample
  std::uint64_t repeat = 1;          // blocks; with a time cap: at most
  std::optional<double> time_cap_s;  // of a size: no block begins later
  double precision_percent = 2;      // with a time cap: blocks end when their median is known so well
  std::uint64_t window = 64;         // messages in flight
  bool has_multiple_buffers = false;
  std::uint64_t rotate = 1;  // sets of buffers that iterations take in turn; 0: as many as caches do not hold
  bool is_cold = false;      // each iteration has memory that was made for it

  std::string device;      // name of a device module; empty: host memory only
  std::string module_dir;  // empty: beside the program
  std::array<sluice_memory_kind_t, 2> placement{SLUICE_MEMORY_HOST, SLUICE_MEMORY_HOST};  // of rank 0 and rank 1
  // What they receive into: the same, unless a word of a collective said both sides (D/H).
  std::array<sluice_memory_kind_t, 2> recv_placement{SLUICE_MEMORY_HOST, SLUICE_MEMORY_HOST};
  Route route = Route::direct;
  ByHand by_hand = ByHand::staging;
  NaiveStaging naive_staging = NaiveStaging::pageable;
  CheckPlace check_place = CheckPlace::either;
  DeviceBinding binding;
  bool is_oversubscribed = false;  // several ranks may share a device
  bool is_forced = false;          // pass device memory to an MPI that does not say it can take it

  FamilyOptions family;
  CheckMode check = CheckMode::some;
  bool is_full = false;
  bool wants_progress = false;      // also where stderr is no terminal
  bool wants_samples = false;       // each time in the JSON
  std::vector<double> percentiles;  // further columns, 0 < p <= 100
  std::string json_path;            // empty: no JSON
  std::string csv_path;
  std::size_t run_number = 1;  // of n_runs that one command line asks for
  std::size_t n_runs = 1;

  std::vector<sluice_memory_kind_t> rank_placement;  // of each rank; empty: placement says
  std::vector<sluice_memory_kind_t> rank_recv_placement;

  int root = 0;                    // of collectives that have one
  std::uint64_t n_pairs = 0;       // that the ranks must be; 0: any number
  std::vector<std::string> notes;  // for the heading: what was understood otherwise than a reader might think

  // True when a buffer of any rank comes from a device runtime.
  bool has_device_side() const {
    constexpr std::array kHost{SLUICE_MEMORY_HOST, SLUICE_MEMORY_HOST};
    return placement != kHost || recv_placement != kHost;
  }
};

// Reads the arguments (without the program's name). tests: all tests there are; must outlive the result.
// Throws OptionError with one line that says what is wrong and what is allowed.
Options parse_options(const std::vector<std::string> &arguments, std::span<const TestInfo> tests);

// The same for a test word that may hold several names with commas between them, and a placement word of several pairs:
// the options of each, in that order. --json and --csv then name a folder, in which each run has a file of its own.
std::vector<Options> parse_runs(const std::vector<std::string> &arguments, std::span<const TestInfo> tests);

// True when the first argument (behind the program's name) asks for the table of options, packaging/option_table.hpp.
bool asks_for_options(const std::vector<std::string> &command);

// That table as JSON, and the names and titles of the tests.
std::string describe_options(std::span<const TestInfo> tests);

// The word of what is done by hand, as a series' name: "naive" or "packed".
const char *by_hand_name(const Options &options);

// The word of a memory kind in the heading and in JSON: "host", "pinned", "device", "managed".
const char *memory_name(sluice_memory_kind_t kind);

}  // namespace sluice::bench
