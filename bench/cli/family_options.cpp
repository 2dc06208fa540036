// SPDX-License-Identifier: BSD-3-Clause
// Options that only some families of tests read.
#include "bench/cli/family_options.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <string_view>
#include <vector>

#include "bench/cli/option_error.hpp"

namespace sluice::bench {
namespace {

template <class Value>
struct Word {
  const char *word;
  Value value;
};

constexpr std::array kTypes{
    Word<ElementType>{"mpi_char", ElementType::bytes}, Word<ElementType>{"mpi_int", ElementType::int32},
    Word<ElementType>{"mpi_long", ElementType::int64}, Word<ElementType>{"mpi_float", ElementType::float32},
    Word<ElementType>{"mpi_double", ElementType::float64}};
constexpr std::array kOperations{Word<Operation>{"sum", Operation::sum}, Word<Operation>{"max", Operation::max},
                                 Word<Operation>{"min", Operation::min}};
constexpr std::array kStarts{Word<StartRule>{"clock", StartRule::clock},
                             Word<StartRule>{"barrier", StartRule::barrier}};
constexpr std::array kLayouts{Word<BlockLayout>{"even", BlockLayout::even},
                              Word<BlockLayout>{"uneven", BlockLayout::uneven}};
// Ours, then OSU's.
constexpr std::array kComputePlaces{
    Word<ComputePlace>{"host", ComputePlace::host}, Word<ComputePlace>{"device", ComputePlace::device},
    Word<ComputePlace>{"both", ComputePlace::both}, Word<ComputePlace>{"each", ComputePlace::each},
    Word<ComputePlace>{"cpu", ComputePlace::host},  Word<ComputePlace>{"gpu", ComputePlace::device}};
constexpr std::array kWindows{
    Word<WindowKind>{"create", WindowKind::create}, Word<WindowKind>{"allocate", WindowKind::allocate},
    Word<WindowKind>{"dynamic", WindowKind::dynamic}, Word<WindowKind>{"shared", WindowKind::shared}};
constexpr std::array kEpochs{Word<Epoch>{"flush", Epoch::flush},
                             Word<Epoch>{"flush_local", Epoch::flush_local},
                             Word<Epoch>{"flush_all", Epoch::flush_all},
                             Word<Epoch>{"flush_local_all", Epoch::flush_local_all},
                             Word<Epoch>{"request", Epoch::request},
                             Word<Epoch>{"lock", Epoch::lock},
                             Word<Epoch>{"lock_all", Epoch::lock_all},
                             Word<Epoch>{"fence", Epoch::fence},
                             Word<Epoch>{"pscw", Epoch::pscw}};

constexpr std::array kPackWays{Word<PackWay>{"auto", PackWay::either}, Word<PackWay>{"kernel", PackWay::kernel},
                               Word<PackWay>{"copies", PackWay::copies}};

constexpr int kMostThreads = 256;
constexpr int kMostProgressCalls = 1000000;
constexpr std::int64_t kMostPartitions = 4096;
constexpr std::int64_t kMostGroups = 1 << 20;
constexpr int kMostDimensions = 3;
constexpr int kMostSteps = 16;

template <class Words>
auto value_of(const char *option, const Words &words, const std::string &text) {
  for (const auto &word : words) {
    if (text == word.word) {
      return word.value;
    }
  }
  std::vector<std::string_view> all;
  all.reserve(words.size());
  for (const auto &word : words) {
    all.emplace_back(word.word);
  }
  throw OptionError(fmt::format("{}: '{}' is unknown: {}", option, text, fmt::join(all, ", ")));
}

template <class Words, class Value>
const char *find_word(const Words &words, Value value) {
  const auto found = std::find_if(words.begin(), words.end(), [&](const auto &word) { return word.value == value; });
  return found != words.end() ? found->word : "";
}

// A whole number from `smallest` to `largest`, and nothing else in the text.
std::optional<int> number_in(std::string_view text, int smallest, int largest) {
  int value = 0;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || stop != text.data() + text.size() || value < smallest || value > largest) {
    return std::nullopt;
  }
  return value;
}

Topology parse_topology(const std::string &text) {
  const std::vector<std::string> parts = CLI::detail::split(text, ':');
  if (parts.size() == 3 && parts[0] == "cart") {
    const auto dimensions = number_in(parts[1], 1, kMostDimensions);
    const auto radius = number_in(parts[2], 1, kMostSteps);
    if (dimensions && radius) {
      return {*dimensions, *radius};
    }
  }
  if (parts[0] == "graph") {
    throw OptionError("-N: neighbourhoods are not read from a file: cart:DIMENSIONS:RADIUS is a torus");
  }
  throw OptionError(
      fmt::format("-N: '{}' is not cart:DIMENSIONS:RADIUS, 1 to {} and 1 to {}", text, kMostDimensions, kMostSteps));
}

// OSU's -t: sender and receiver threads for latency_mt, calls of MPI_Test for non-blocking collectives.
void parse_threads(const std::string &text, FamilyOptions &options) {
  if (text.empty()) {
    return;
  }
  const std::vector<std::string> parts = CLI::detail::split(text, ':');
  const auto first = number_in(parts[0], 0, kMostProgressCalls);
  const auto second = parts.size() == 2 ? number_in(parts[1], 0, kMostThreads) : first;
  if (parts.size() > 2 || !first || !second) {
    throw OptionError(fmt::format("-t: '{}' is not a number, or two with a colon between them", text));
  }
  if (*first != *second) {
    throw OptionError(fmt::format("-t: threads answer each other in pairs: {0}:{0}, not {0}:{1}", *first, *second));
  }
  options.n_threads = *first;
  options.n_progress_calls = *first;
}

}  // namespace

void declare_family_options(CLI::App &app, FamilyWords &words) {
  app.add_option("-T,--type", words.type,
                 "Elements of collectives: mpi_char, mpi_int, mpi_long, mpi_float, mpi_double "
                 "(default mpi_int for what computes, mpi_char for the rest)");
  app.add_option("--op", words.operation, "Operation of reductions: sum, max, min (default sum)");
  app.add_option("--sync", words.start,
                 "Collectives begin together: clock, at a time agreed on synchronised clocks; barrier, after one");
  app.add_option("-N,--neighborhood,--nhbr", words.topology,
                 "cart:D:R, a torus of D dimensions with neighbours up to R steps away (default cart:1:1)");
  app.add_option("--layout", words.layout,
                 "alltoallv, alltoallw: even, a block of the size for each rank; uneven, none to two sizes (even)");
  app.add_option("--groups", words.groups,
                 "Collectives: the ranks in so many groups of neighbours, each with a communicator, all at once (1)");
  app.add_option(
      "-t,--num-threads,--num_test_calls", words.threads,
      "latency_mt: threads of each rank (2); non-blocking collectives: calls of MPI_Test while computing (0)");
  app.add_option(
      "-r,--compute,--cuda-target", words.compute,
      "Non-blocking collectives: who computes meanwhile: host (default; cpu), device (gpu), both at once, or each, one "
      "after the other, with the figures of both");
  app.add_option(
      "-D,--ddt", words.message,
      "Point to point: messages of one datatype, cont(iguous), vect(or), subarray, hindexed or struct; behind "
      "the last four :STRIDE:BLOCK in bytes (default 128:64). Several, one after the other: vector,struct");
  app.add_option(
      "--pack-by", words.pack_way,
      "Packing by hand (--packed, --compare-packed, pack): a device does it by a kernel, by copies, or auto, "
      "by a kernel where it has one (default auto)");
  app.add_flag("--large-count", words.has_large_counts,
               "Point to point: the calls whose counts have 64 bits (MPI_Send_c, ...; MPI-4)");
  app.add_option("-q,--num-partitions,--partitions", words.partitions, "Partitions of a partitioned message (8)");
  app.add_option(
      "-w,--win-option,--win-options", words.window,
      "One-sided: create, allocate, dynamic or shared (default allocate; create where memory is not the host's)");
  app.add_option("-s,--sync-option", words.epoch,
                 "One-sided: flush, flush_local, flush_all, flush_local_all, request, lock, lock_all, fence or pscw "
                 "(default flush)");
}

FamilyOptions interpret_family(const FamilyWords &words, ElementType usual) {
  FamilyOptions options;
  options.type = words.type.empty() ? usual : value_of("-T", kTypes, words.type);
  options.operation = value_of("--op", kOperations, words.operation);
  options.start = value_of("--sync", kStarts, words.start);
  options.window = words.window.empty() ? WindowKind::allocate : value_of("-w", kWindows, words.window);
  options.epoch = value_of("-s", kEpochs, words.epoch);
  options.compute = words.compute.empty() ? ComputePlace::host : value_of("-r", kComputePlaces, words.compute);
  options.topology = parse_topology(words.topology);
  options.layout = value_of("--layout", kLayouts, words.layout);
  parse_threads(words.threads, options);
  options.message = parse_derived_type(words.message);
  options.pack_way = value_of("--pack-by", kPackWays, words.pack_way);
  options.has_large_counts = words.has_large_counts;
  if (words.partitions < 1 || words.partitions > kMostPartitions) {
    throw OptionError(fmt::format("-q: {} is outside 1 to {}", words.partitions, kMostPartitions));
  }
  options.n_partitions = static_cast<int>(words.partitions);
  if (words.groups < 1 || words.groups > kMostGroups) {
    throw OptionError(fmt::format("--groups: {} is outside 1 to {}", words.groups, kMostGroups));
  }
  options.n_groups = static_cast<int>(words.groups);
  return options;
}

std::uint64_t element_bytes(ElementType type) {
  switch (type) {
    case ElementType::bytes:
      return 1;
    case ElementType::int32:
    case ElementType::float32:
      return 4;
    default:
      return 8;
  }
}

const char *word_of(ElementType type) {
  return find_word(kTypes, type);
}
const char *word_of(Operation operation) {
  return find_word(kOperations, operation);
}
const char *word_of(StartRule start) {
  return find_word(kStarts, start);
}
const char *word_of(BlockLayout layout) {
  return find_word(kLayouts, layout);
}
const char *word_of(ComputePlace place) {
  return find_word(kComputePlaces, place);
}
const char *word_of(WindowKind window) {
  return find_word(kWindows, window);
}
const char *word_of(Epoch epoch) {
  return find_word(kEpochs, epoch);
}
const char *word_of(PackWay way) {
  return find_word(kPackWays, way);
}

}  // namespace sluice::bench
