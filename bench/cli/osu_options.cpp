// SPDX-License-Identifier: BSD-3-Clause
// What OSU's programs take and sluice-bench has otherwise, or not at all.
#include "bench/cli/osu_options.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <regex>
#include <string_view>

namespace sluice::bench {
namespace {

constexpr const char *kGroup = "OSU's, for its scripts";
constexpr const char *kDefaultPercentiles = "50,90,99";
constexpr std::string_view kLogForm = "log:";
constexpr std::string_view kFixed = "fixed:";

struct Missing {
  std::string_view begin;  // of a name of OSU's
  const char *advice;
};
constexpr std::array kMissing{
    Missing{"put_bibw", "put_bw puts one way; bibw sends both ways at once"},
    Missing{"latency_mp", "latency_mt has pairs of threads, multi_lat pairs of processes"},
    Missing{"hello", "init says how long MPI_Init took"},
    Missing{"xccl_", "this program measures MPI; bench/compare_peers measures the vendors' libraries beside it"},
    Missing{"oshm_", "this program measures MPI; put_latency, get_latency and their like are its one-sided tests"},
    Missing{"upc", "this program measures MPI; put_latency, get_latency and their like are its one-sided tests"}};

[[noreturn]] void refuse(const char *letter, const char *what, const char *instead) {
  throw OptionError(fmt::format("{}: {}: {}", letter, what, instead));
}

void refuse_what_is_missing(const OsuWords &words) {
  if (words.vary_window != 0) {
    refuse("-V", "one window a run",
           "give -W 1, -W 2, ..., and --json for each, and lay them over each other by report");
  }
  if (!words.graph.empty()) {
    refuse("-G", "no graphs from here", "--json FILE, then sluice-bench report FILE --plots DIR writes SVG and PNG");
  }
  if (!words.counters.empty()) {
    refuse("-P", "no counters of the processor from here",
           "run the ranks below perf stat; MPI_Pcontrol marks each test");
  }
  if (words.wants_session) {
    refuse("-I", "no sessions", "ranks begin with MPI_Init_thread; without -I the same messages are measured");
  }
  if (words.is_in_place) {
    refuse("-l", "no MPI_IN_PLACE", "without -l the same operation is measured with two buffers");
  }
}

void interpret_root(const std::string &text, Options &options) {
  if (text.empty()) {
    return;
  }
  int root = -1;
  if (text == "rotate") {
    refuse("-k rotate", "one root a run", "-k fixed:RANK for each");
  }
  if (!text.starts_with(kFixed) || !CLI::detail::lexical_cast(text.substr(kFixed.size()), root) || root < 0) {
    throw OptionError(fmt::format("-k: '{}' is not fixed:RANK", text));
  }
  if (options.test->family != Family::coll) {
    throw OptionError(fmt::format("{} has no root, and takes no -k", options.test->name));
  }
  options.root = root;
  options.notes.push_back(fmt::format("the root is rank {}", root));
}

// D as M, in a list and of one side too.
std::string with_managed(const std::string &word) {
  return std::regex_replace(word, std::regex("\\bD\\b"), "M");
}

}  // namespace

void declare_osu_options(CLI::App &app, OsuWords &words) {
  const auto add = [&app](const char *names, auto &value, const char *text) {
    app.add_option(names, value, text)->group(kGroup);
  };
  add("-p,--num-pairs", words.n_pairs, "Tests of pairs: the number of pairs, half of the ranks");
  add("-k,--root-rank", words.root, "Collectives with a root: fixed:RANK (default fixed:0)");
  add("-R,--print-rate", words.print_rate, "Messages a second beside the bandwidth: they are always there");
  add("-u,--validation-warmup", words.validation_warmup, "Accepted: checked iterations are not among the timed ones");
  add("-a,--array-size", words.array_size, "Accepted: the computation takes as long as the operation alone");
  add("-M,--mem-limit", words.memory_limit, "Accepted: -m says the largest size");
  add("-V,--vary-window", words.vary_window, "0; 1 is not there: several runs with -W");
  add("-G,--graph", words.graph, "Not there: --json, and sluice-bench report");
  add("-P,--papi", words.counters, "Not there: perf stat");
  app.add_flag("-I,--session", words.wants_session, "Not there: MPI_Init_thread")->group(kGroup);
  app.add_flag("-l,--in-place", words.is_in_place, "Not there: two buffers")->group(kGroup);
  app.add_option("--validation-log", words.check_log)->group("");
}

std::vector<std::string> in_plain_form(const std::vector<std::string> &arguments) {
  std::vector<std::string> plain;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::string &word = arguments[i];
    const bool is_check = word == "-c" || word == "--validation";
    const bool has_log = is_check && i + 1 < arguments.size() && arguments[i + 1].starts_with(kLogForm);
    const std::size_t log = word.find(kLogForm);
    if (word == "-z" || word == "--tail-lat") {
      plain.push_back(std::string("-z") + kDefaultPercentiles);
    } else if (has_log || ((word.starts_with("-c") || word.starts_with("--validation=")) && log != std::string::npos)) {
      plain.insert(plain.end(), {"-c", "--validation-log", has_log ? arguments[i + 1] : word.substr(log)});
      i += has_log ? 1 : 0;
    } else {
      plain.push_back(word);
    }
  }
  return plain;
}

void interpret_osu_device(Options &options, std::vector<std::string> &placement) {
  if (options.device == "rocm") {
    options.device = "hip";
  } else if (options.device == "managed") {
    options.device = "cuda";
    for (std::string &word : placement) word = with_managed(word);
    if (placement.empty() && options.test->has_placement) placement = {"M", "M"};
    options.notes.emplace_back("-d managed: managed memory of -d cuda");
  }
}

void interpret_osu_words(const OsuWords &words, Options &options) {
  refuse_what_is_missing(words);
  interpret_root(words.root, options);
  if (words.n_pairs != 0) {
    if (!options.test->is_paired || words.n_pairs < 0) {
      throw OptionError(
          fmt::format("{} takes no -p {}: tests of pairs do, with 1 or more", options.test->name, words.n_pairs));
    }
    options.n_pairs = static_cast<std::uint64_t>(words.n_pairs);
  }
  if (words.print_rate == 0) options.notes.emplace_back("-R 0: messages a second are printed all the same");
  if (words.validation_warmup != 0) options.notes.emplace_back("-u: checked iterations are not among the timed ones");
  if (words.array_size != 0) options.notes.emplace_back("-a: the computation takes as long as the operation alone");
  if (words.memory_limit != 0) options.notes.emplace_back("-M: -m says the largest size");
  if (!words.check_log.empty()) {
    options.notes.emplace_back("-c log: the first wrong element is in the line that ends the run, and in --json");
  }
}

std::string advice_for_missing(const std::string &test) {
  const auto *found =
      std::find_if(kMissing.begin(), kMissing.end(), [&](const Missing &one) { return test.starts_with(one.begin); });
  return found != kMissing.end() ? found->advice : "";
}

std::vector<std::string> element_words_of(const std::string &text) {
  if (text.empty()) {
    return {""};
  }
  std::vector<std::string> words;
  for (const std::string &word : CLI::detail::split(text, ',')) {
    if (word == "all") {
      words.insert(words.end(), {"mpi_char", "mpi_int", "mpi_float"});
    } else {
      words.push_back(word);
    }
  }
  std::vector<std::string> once;
  std::copy_if(words.begin(), words.end(), std::back_inserter(once),
               [&](const std::string &word) { return std::find(once.begin(), once.end(), word) == once.end(); });
  return once;
}

}  // namespace sluice::bench
