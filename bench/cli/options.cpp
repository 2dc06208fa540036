// SPDX-License-Identifier: BSD-3-Clause
// The command line of sluice-bench.
#include "bench/cli/options.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <utility>

#include "bench/cli/check_options.hpp"
#include "bench/cli/choices.hpp"
#include "bench/cli/help_footer.hpp"
#include "bench/cli/message_options.hpp"
#include "bench/cli/osu_options.hpp"
#include "bench/cli/placement.hpp"
#include "bench/cli/sizes.hpp"
#include "packaging/option_table.hpp"

namespace sluice::bench {
namespace {

constexpr const char *kDefaultRange = "4194304";
constexpr std::int64_t kDefaultCompareRepeat = 5;
constexpr std::int64_t kDefaultCappedRepeat = 100;
constexpr double kLongestCapS = 1e6;
constexpr int kManyWords = 1000;  // more than two are refused by us, with a better text
constexpr std::int64_t kLargestCount = std::int64_t{1} << 40;
constexpr std::int64_t kLargestWindow = 65536;

// The words as the user typed them; interpreted once all of them are known.
struct Words {
  std::string test;
  std::vector<std::string> placement;
  std::string range;
  std::string size_list;
  std::string buffers = "single";
  std::string rotate;
  std::string binding = "round-robin";
  std::string naive;
  std::string compare_naive;
  CheckWords check;
  std::string percentiles;
  FamilyWords family;
  OsuWords osu;
  // Signed, so that a negative number is refused instead of becoming a huge one.
  std::int64_t iterations = 0;
  std::int64_t warmup = 0;
  std::int64_t repeat = 1;
  std::int64_t batch = 1;
  std::int64_t window = 64;
  double time_cap_s = 0;
};

struct Command {
  CLI::App app{"sluice-bench: measures MPI on host and device memory", "sluice-bench"};
  Words words;
  CLI::Option *iterations = nullptr;
  CLI::Option *warmup = nullptr;
  CLI::Option *repeat = nullptr;
  CLI::Option *time_cap = nullptr;
  CLI::Option *precision = nullptr;
  bool wants_help = false;
  bool wants_version = false;
  bool wants_tests = false;
  bool wants_devices = false;
  bool wants_packed = false;
  bool wants_compare_packed = false;
};

void declare_what(Command &command, Options &options) {
  CLI::App &app = command.app;
  Words &words = command.words;
  app.set_help_flag();  // ours, so that only one rank prints
  app.footer(help_footer());
  app.add_flag("-h,--help", command.wants_help, "Print this text");
  app.add_flag("-v,--version", command.wants_version, "Print the version");
  app.add_flag("--list", command.wants_tests, "Name the tests, one a line");
  app.add_flag("--list-devices", command.wants_devices, "Name the device modules and devices found, one a line");
  app.add_option("test", words.test, "The test to run (--list), or several: latency,bw,allreduce");
  app.add_option(
         "placement", words.placement,
         "Memory of rank 0 and of rank 1 (of the lower and the upper half of the pairs; of rank 0 and of all "
         "others): H host, D device, M (MD, MH) managed or shared, P pinned host; with -d the default is D D. "
         "One word for each rank: D,H,D,H. Several, one after the other: D:D,H:D. Collectives with two buffers: "
         "D/H sends from device and receives into host memory, for all ranks or wherever a word stands")
      ->expected(0, kManyWords);
  app.add_option("-d,--accelerator", options.device, "Device module to take memory from (--list-devices)")
      ->type_name("MODULE");
  app.add_option("--module-path", options.module_dir, "Folder with the device modules (default: ../lib/sluice)")
      ->type_name("DIR");
  app.add_flag("--naive{pageable}", words.naive,
               "The program stages by hand, in malloc memory; --naive=pinned: in the runtime's host memory");
  app.add_flag("--compare-naive{pageable}", words.compare_naive,
               "Direct and naive in turn, block by block, and their ratio; --compare-naive=pinned as above");
  app.add_flag("--packed", command.wants_packed,
               "With -D: the program packs each message into contiguous memory of the same kind, and unpacks it there");
  app.add_flag("--compare-packed", command.wants_compare_packed,
               "With -D: the datatype and packing by hand in turn, block by block, and their ratio");
  app.add_option("--bind", words.binding,
                 "Device of a rank: round-robin over the ranks of a host (default), closest to its cores, list:0,2,1");
  app.add_flag("--oversubscribe", options.is_oversubscribed, "Several ranks may share a device");
  app.add_flag("--force", options.is_forced, "Pass device memory even to an MPI that does not say it can take it");
}

void declare_how(Command &command, Options &options) {
  CLI::App &app = command.app;
  Words &words = command.words;
  app.add_option("-m,--message-size", words.range, "[MIN:]MAX, sizes in bytes, doubling (default 1:4M)");
  app.add_option("--sizes", words.size_list, "8,64,1M: these sizes instead");
  command.iterations = app.add_option("-i,--iterations", words.iterations, "Timed iterations for each size");
  command.warmup = app.add_option("-x,--warmup", words.warmup, "Iterations before them");
  command.repeat = app.add_option("--repeat", words.repeat,
                                  "Independent blocks of iterations; prints the median of their medians [min..max]");
  command.time_cap =
      app.add_option("--time-cap", words.time_cap_s,
                     "Repeat blocks until their median is known well enough, for so many seconds at each size "
                     "(--repeat then: at most, default 100)");
  command.precision = app.add_option("--precision", options.precision_percent,
                                     "Well enough: its 95 % interval reaches so many percent to each side (2)");
  app.add_option("--batch", words.batch, "Iterations timed as one sample (default 1)");
  app.add_option("-W,--window-size", words.window, "Messages in flight (default 64)");
  app.add_option("-b,--buffer-num", words.buffers, "single | multiple: one buffer for the window, or one a message");
  app.add_option("--rotate", words.rotate,
                 "So many sets of buffers in turn, or auto: over more memory than caches hold (default 1)");
  app.add_flag("--cold", options.is_cold,
               "New memory for each iteration, made and touched outside of the timed part; memory growth in a column");
  declare_check_options(app, words.check);
  app.add_flag("-f,--full", options.is_full, "More columns: largest, deviation, samples");
  app.add_option("-z,--tail-lat", words.percentiles, "-z50,90,99: columns with these percentiles");
  app.add_flag("--samples", options.wants_samples, "With --json: each sample, in the order in which they were taken");
  app.add_option("--json", options.json_path, "Write the results to this file as well (several tests: to this folder)")
      ->type_name("PATH");
  app.add_option("--csv", options.csv_path, "The same as comma-separated values")->type_name("PATH");
  app.add_flag("--progress", options.wants_progress, "Say on stderr which size is measured, terminal or not");
  declare_family_options(app, words.family);
  declare_osu_options(app, words.osu);
}

NaiveStaging parse_staging(const char *option, const std::string &word) {
  if (word == "pageable") return NaiveStaging::pageable;
  if (word == "pinned") return NaiveStaging::pinned;
  throw OptionError(fmt::format("{}: '{}' is unknown: pageable or pinned", option, word));
}

void interpret_route(const Command &command, Options &options) {
  const bool is_staged_by_hand = !command.words.naive.empty() || !command.words.compare_naive.empty();
  if (interpret_packing({command.wants_packed, command.wants_compare_packed, is_staged_by_hand}, options)) {
    return;
  }
  const Words &words = command.words;
  if (!words.naive.empty() && !words.compare_naive.empty()) {
    throw OptionError("--naive and --compare-naive exclude each other");
  }
  if (!words.naive.empty()) {
    options.route = Route::naive;
    options.naive_staging = parse_staging("--naive", words.naive);
  }
  if (!words.compare_naive.empty()) {
    options.route = Route::compare;
    options.naive_staging = parse_staging("--compare-naive", words.compare_naive);
  }
  const auto is_staged = [](const std::array<sluice_memory_kind_t, 2> &kinds) {
    return std::any_of(kinds.begin(), kinds.end(), [](sluice_memory_kind_t kind) {
      return kind == SLUICE_MEMORY_DEVICE || kind == SLUICE_MEMORY_SHARED;
    });
  };
  if (options.route != Route::direct && !is_staged(options.placement) && !is_staged(options.recv_placement)) {
    throw OptionError("--naive and --compare-naive need a side in device or managed memory (-d <name>, D or M)");
  }
}

void interpret_sizes(const Words &words, Options &options) {
  if (!words.range.empty() && !words.size_list.empty()) {
    throw OptionError("-m and --sizes exclude each other");
  }
  const TestInfo &test = *options.test;
  if (!test.has_sizes) {
    if (!words.range.empty() || !words.size_list.empty()) {
      throw OptionError(fmt::format("{} has no messages, and takes no sizes", test.name));
    }
    options.sizes = {0};
    return;
  }
  const std::uint64_t step = test.has_element_type ? element_bytes(options.family.type) : test.size_step;
  const std::uint64_t first = std::max<std::uint64_t>({test.min_size, step, 1});
  const std::string usual = test.default_range.empty() ? kDefaultRange : test.default_range;
  const std::string range = words.range.empty() ? usual : words.range;
  options.sizes =
      words.size_list.empty() ? parse_size_range("-m", range, first) : parse_size_list("--sizes", words.size_list);
  const std::uint64_t smallest = *std::min_element(options.sizes.begin(), options.sizes.end());
  if (smallest < test.min_size) {
    throw OptionError(fmt::format("{}: sizes start at {}, not {}", test.name, test.min_size, smallest));
  }
  const std::uint64_t largest = *std::max_element(options.sizes.begin(), options.sizes.end());
  if (largest > test.max_size) {
    throw OptionError(fmt::format("{}: sizes go up to {}, the largest count of its calls, not {}", test.name,
                                  test.max_size, largest));
  }
  for (const std::uint64_t size : options.sizes) {
    if (size % step != 0) {
      throw OptionError(fmt::format("{}: sizes are multiples of {}, its element, not {}", test.name, step, size));
    }
  }
}

std::uint64_t in_range(const char *option, std::int64_t value, std::int64_t smallest, std::int64_t largest) {
  if (value < smallest || value > largest) {
    throw OptionError(fmt::format("{}: {} is outside {} to {}", option, value, smallest, largest));
  }
  return static_cast<std::uint64_t>(value);
}

void interpret_time_cap(const Command &command, Options &options) {
  if (command.time_cap->count() > 0) {
    if (!(command.words.time_cap_s > 0 && command.words.time_cap_s <= kLongestCapS)) {
      throw OptionError(fmt::format("--time-cap: {} is not a number of seconds above 0, up to {}",
                                    command.words.time_cap_s, kLongestCapS));
    }
    options.time_cap_s = command.words.time_cap_s;
  } else if (command.precision->count() > 0) {
    throw OptionError("--precision needs --time-cap: how long to try");
  }
  if (!(options.precision_percent > 0)) {
    throw OptionError(fmt::format("--precision: {} is not a percentage above 0", options.precision_percent));
  }
}

void interpret_counts(const Command &command, Options &options) {
  const Words &words = command.words;
  if (command.iterations->count() > 0) {
    options.iterations = in_range("-i", words.iterations, 1, kLargestCount);
  }
  if (command.warmup->count() > 0) {
    options.warmup = in_range("-x", words.warmup, 0, kLargestCount);
  }
  std::int64_t repeat = words.repeat;
  if (command.repeat->count() == 0) {
    repeat = command.time_cap->count() > 0     ? kDefaultCappedRepeat
             : options.route == Route::compare ? kDefaultCompareRepeat
                                               : repeat;
  }
  options.repeat = in_range("--repeat", repeat, 1, kLargestCount);
  interpret_time_cap(command, options);
  options.batch = in_range("--batch", words.batch, 1, kLargestCount);
  options.window = in_range("-W", words.window, 1, kLargestWindow);
  const std::string &buffers = words.buffers;
  if (buffers != "single" && buffers != "multiple") {
    throw OptionError(fmt::format("-b: '{}' is unknown: single or multiple", buffers));
  }
  options.has_multiple_buffers = buffers == "multiple";
}

void interpret_test(const Words &words, std::span<const TestInfo> tests, Options &options) {
  const auto found = std::find_if(tests.begin(), tests.end(), [&](const TestInfo &t) { return t.name == words.test; });
  if (found != tests.end()) {
    options.test = &*found;
    return;
  }
  const std::string advice = advice_for_missing(words.test);
  throw OptionError(words.test.empty() ? "no test was named; --list names them"
                    : advice.empty()   ? fmt::format("test '{}' is unknown; --list names them", words.test)
                                       : fmt::format("OSU's {} has no counterpart here: {}", words.test, advice));
}

// options.test is chosen.
void interpret(Command &command, Options &options) {
  interpret_osu_device(options, command.words.placement);
  options.family =
      interpret_family(command.words.family, options.test->has_operation ? ElementType::int32 : ElementType::bytes);
  interpret_osu_words(command.words.osu, options);
  if (!command.words.family.type.empty() && !options.test->has_element_type) {
    options.notes.push_back(fmt::format("-T: {} has no numbers: what it sends is bytes", options.test->name));
  }
  interpret_placement(command.words.placement, options);
  interpret_route(command, options);
  interpret_window(command.words.family.window, options);
  interpret_check(command.words.check, options);
  interpret_percentiles(command.words.percentiles, options);
  interpret_sizes(command.words, options);
  require_message_options(options);
  interpret_counts(command, options);
  interpret_freshness(command.words.rotate, options);
  options.binding = parse_device_binding(command.words.binding);
}

// A file of the test's own in the folder.
std::string file_in(const std::string &folder, const std::string &test, const char *suffix) {
  return folder.empty() ? "" : fmt::format("{}/{}.{}", folder, test, suffix);
}

// common: what the command line said to all tests alike.
std::vector<Options> interpret_all(Command &command, std::span<const TestInfo> tests, const Options &common) {
  const Words &words = command.words;
  const std::vector<Choice> choices =
      choices_of({words.test, words.placement, words.family.message, words.family.type});
  std::vector<Options> runs;
  for (const Choice &choice : choices) {
    Options options = common;
    command.words.test = choice.test;
    command.words.placement = choice.placement;
    command.words.family.message = choice.datatype;
    command.words.family.type = choice.type;
    interpret_test(command.words, tests, options);
    interpret(command, options);
    if (choices.size() > 1) {
      const std::string file = choice.file + (options.test->has_element_type ? choice.type_suffix : "");
      options.json_path = file_in(options.json_path, file, "json");
      options.csv_path = file_in(options.csv_path, file, "csv");
    }
    // What has no elements is the same with all of them.
    if (choice.is_first_type || options.test->has_element_type) runs.push_back(std::move(options));
  }
  return runs;
}

std::string one_line(std::string text) {
  std::replace(text.begin(), text.end(), '\n', ' ');
  return text;
}

}  // namespace

Options parse_options(const std::vector<std::string> &arguments, std::span<const TestInfo> tests) {
  std::vector<Options> runs = parse_runs(arguments, tests);
  if (runs.size() != 1) {
    throw OptionError("one test at a time");
  }
  return std::move(runs.front());
}

std::vector<Options> parse_runs(const std::vector<std::string> &arguments, std::span<const TestInfo> tests) {
  Options options;
  Command command;
  declare_what(command, options);
  declare_how(command, options);
  try {
    std::vector<std::string> words = in_plain_form(arguments);
    std::reverse(words.begin(), words.end());  // CLI11 takes them last first
    command.app.parse(words);
  } catch (const CLI::ParseError &error) {
    throw OptionError(one_line(error.what()) + "; --help lists the options");
  }
  if (command.wants_help) {
    options.action = Action::help;
    options.help_text = command.app.help();
  } else if (command.wants_version) {
    options.action = Action::version;
  } else if (command.wants_tests) {
    options.action = Action::list_tests;
  } else if (command.wants_devices) {
    options.action = Action::list_devices;
  } else {
    return interpret_all(command, tests, options);
  }
  return {options};
}

bool asks_for_options(const std::vector<std::string> &command) {
  return command.size() > 1 && command[1] == packaging::kDescribeOptions;
}

std::string describe_options(std::span<const TestInfo> tests) {
  Options options;
  Command command;
  declare_what(command, options);
  declare_how(command, options);
  nlohmann::ordered_json table = packaging::describe_program(command.app);
  for (const TestInfo &test : tests) table["tests"].push_back({{"name", test.name}, {"text", test.title}});
  return table.dump();
}

const char *by_hand_name(const Options &options) {
  return options.by_hand == ByHand::packing ? "packed" : "naive";
}

const char *memory_name(sluice_memory_kind_t kind) {
  switch (kind) {
    case SLUICE_MEMORY_PINNED:
      return "pinned";
    case SLUICE_MEMORY_DEVICE:
      return "device";
    case SLUICE_MEMORY_SHARED:
      return "managed";
    default:
      return "host";
  }
}

}  // namespace sluice::bench
