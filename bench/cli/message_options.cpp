// SPDX-License-Identifier: BSD-3-Clause
// Options that concern the messages themselves, and what is said about their times.
#include "bench/cli/message_options.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdint>

namespace sluice::bench {
namespace {

constexpr std::int64_t kMostSets = 65536;

}  // namespace

bool interpret_packing(const PackingWords &words, Options &options) {
  if (!words.wants_packed && !words.wants_compare) {
    return false;
  }
  if (words.is_staged || (words.wants_packed && words.wants_compare)) {
    throw OptionError("--packed, --compare-packed, --naive and --compare-naive exclude each other");
  }
  if (!options.family.message.is_derived()) {
    throw OptionError("--packed and --compare-packed need a datatype to pack: -D vector, for one");
  }
  options.route = words.wants_packed ? Route::naive : Route::compare;
  options.by_hand = ByHand::packing;
  return true;
}

void require_message_options(const Options &options) {
  const TestInfo &test = *options.test;
  if (options.family.message.is_derived()) {
    if (!test.has_derived_types) {
      throw OptionError(fmt::format("{} has no messages of derived datatypes, and takes no -D", test.name));
    }
    if (options.route != Route::direct && options.by_hand == ByHand::staging) {
      throw OptionError("-D: what is done by hand with a datatype is --packed or --compare-packed");
    }
    for (const std::uint64_t size : options.sizes) {
      require_whole_blocks(options.family.message, size);
    }
  }
  if (options.family.compute != ComputePlace::host) {
    if (!test.has_overlap) {
      throw OptionError(fmt::format("{} computes nothing meanwhile, and takes no --compute", test.name));
    }
    if (!options.has_device_side()) {
      throw OptionError("--compute: there is no device to compute on: give -d <name>; --list-devices names them");
    }
  }
  if (options.family.layout != BlockLayout::even && !test.has_block_layouts) {
    throw OptionError(fmt::format("{} has no counts for each pair of ranks, and takes no --layout", test.name));
  }
  if (options.family.has_large_counts && (!test.has_large_counts || options.route != Route::direct)) {
    throw OptionError(fmt::format("{} has no form with --large-count{}", test.name,
                                  test.has_large_counts ? " that is done by hand" : ""));
  }
}

void interpret_window(const std::string &window, Options &options) {
  if (options.test->family != Family::rma) {
    return;
  }
  if (options.route != Route::direct) {
    throw OptionError(fmt::format("{} has no form that is done by hand", options.test->name));
  }
  if (window.empty() && options.has_device_side()) {
    options.family.window = WindowKind::create;
  }
  if (is_of_mpi(options.family.window) && options.placement[1] != SLUICE_MEMORY_HOST) {
    throw OptionError(
        fmt::format("-w {0}: MPI_Win_allocate{1} gives host memory: -w create or dynamic, or H for rank 1",
                    word_of(options.family.window), options.family.window == WindowKind::shared ? "_shared" : ""));
  }
  if (options.family.epoch == Epoch::request && !options.test->has_requests) {
    throw OptionError(fmt::format("-s request: MPI has no form of {}'s access with a request", options.test->name));
  }
}

void interpret_freshness(const std::string &rotate, Options &options) {
  if (!rotate.empty()) {
    std::int64_t n = 0;
    if (rotate != "auto" && !CLI::detail::lexical_cast(rotate, n)) {
      throw OptionError(fmt::format("--rotate: '{}' is neither a number nor auto", rotate));
    }
    if (rotate != "auto" && (n < 1 || n > kMostSets)) {
      throw OptionError(fmt::format("--rotate: {} is outside 1 to {}", n, kMostSets));
    }
    options.rotate = static_cast<std::uint64_t>(n);
  }
  if (!options.is_cold && options.rotate == 1) {
    return;
  }
  if (!options.test->has_fresh_memory) {
    throw OptionError(fmt::format("{} takes neither --cold nor --rotate", options.test->name));
  }
  if (!options.test->has_rotation && options.rotate != 1) {
    throw OptionError(fmt::format("{} takes no --rotate: --cold has new memory in each iteration", options.test->name));
  }
  if (options.is_cold && (options.rotate != 1 || options.batch != 1)) {
    throw OptionError("--cold excludes --rotate and --batch: each iteration has memory and a time of its own");
  }
}

void interpret_percentiles(const std::string &percentiles, Options &options) {
  if (options.wants_samples && options.json_path.empty()) {
    throw OptionError("--samples needs --json: samples are in that file alone");
  }
  if (percentiles.empty()) {
    return;
  }
  for (const std::string &word : CLI::detail::split(percentiles, ',')) {
    double value = 0;
    if (!CLI::detail::lexical_cast(word, value) || !(value > 0 && value <= 100)) {
      throw OptionError(fmt::format("-z: '{}' is not a percentile above 0 and up to 100", word));
    }
    options.percentiles.push_back(value);
  }
}

}  // namespace sluice::bench
