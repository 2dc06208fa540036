// SPDX-License-Identifier: BSD-3-Clause
// The command line: OSU's letters and words, our long options, and one clear line for each mistake.
#include "bench/cli/options.hpp"

#include <gtest/gtest.h>

#include <array>
#include <string>
#include <vector>

#include "bench/cli/osu_name.hpp"
#include "bench/cli/sizes.hpp"

namespace sluice::bench::options_test {
namespace {

const std::array k_tests{
    TestInfo{
        .name = "latency", .title = "t", .has_large_counts = true, .has_derived_types = true, .has_fresh_memory = true},
    TestInfo{.name = "bw", .title = "t", .metric = Metric::bandwidth_mbps, .min_size = 1, .has_derived_types = true},
    TestInfo{.name = "copies", .title = "t", .has_placement = false, .needs_device = true},
    TestInfo{.name = "adds",
             .title = "t",
             .family = Family::coll,
             .default_range = "1M",
             .has_two_buffers = true,
             .has_element_type = true,
             .has_operation = true,
             .has_block_layouts = true},
    TestInfo{.name = "iadds", .title = "t", .family = Family::coll, .has_fresh_memory = true, .has_overlap = true},
    TestInfo{.name = "narrow", .title = "t", .max_size = 2147483647},
    TestInfo{.name = "waits", .title = "t", .family = Family::coll, .has_sizes = false}};

Options parse(const std::vector<std::string> &arguments) {
  return parse_options(arguments, k_tests);
}

std::string error_text(const std::vector<std::string> &arguments) {
  try {
    parse(arguments);
  } catch (const OptionError &error) {
    return error.what();
  }
  return "no error";
}

void expect_error(const std::vector<std::string> &arguments, const std::string &part) {
  const std::string text = error_text(arguments);
  EXPECT_NE(text.find(part), std::string::npos) << text;
  EXPECT_EQ(text.find('\n'), std::string::npos) << text;
}

using Sizes = std::vector<std::uint64_t>;

TEST(Options, SayWhoComputes_InOurWordsAndOsus) {
  EXPECT_EQ(parse({"iadds"}).family.compute, ComputePlace::host);
  EXPECT_EQ(parse({"iadds", "-r", "cpu"}).family.compute, ComputePlace::host);
  EXPECT_EQ(parse({"iadds", "-r", "gpu", "-d", "x"}).family.compute, ComputePlace::device);
  EXPECT_EQ(parse({"iadds", "--compute", "device", "-d", "x"}).family.compute, ComputePlace::device);
  EXPECT_EQ(parse({"iadds", "-r", "both", "-d", "x"}).family.compute, ComputePlace::both);
  EXPECT_EQ(parse({"iadds", "--compute=each", "-d", "x"}).family.compute, ComputePlace::each);
  expect_error({"iadds", "-r", "frob"}, "-r: 'frob' is unknown: host, device, both, each, cpu, gpu");
  expect_error({"iadds", "-r", "gpu"}, "there is no device to compute on: give -d <name>");
  expect_error({"iadds", "-r", "gpu", "-d", "x", "H", "H"}, "there is no device to compute on");
  expect_error({"latency", "-r", "gpu", "-d", "x"}, "latency computes nothing meanwhile, and takes no --compute");
}

TEST(OsuName, StandsForTheTest) {
  using Words = std::vector<std::string>;
  EXPECT_EQ(arguments_of({"/a/sluice-bench", "bw", "D", "D"}), (Words{"bw", "D", "D"}));
  EXPECT_EQ(arguments_of({"/osu_x/osu_bw"}), (Words{"bw"}));
  EXPECT_EQ(arguments_of({"osu_bw", "-m", "8", "-x", "10", "D", "H"}), (Words{"bw", "-m", "8", "-x", "10", "H", "H"}));
  EXPECT_EQ(arguments_of({"osu_bw", "-d", "x", "D", "D"}), (Words{"bw", "-d", "x", "D", "D"}));
  EXPECT_EQ(arguments_of({"osu_bw", "D"}), (Words{"bw", "H"}));
}

TEST(Options, KeepSamples_OnlyForTheFile) {
  EXPECT_TRUE(parse({"latency", "--samples", "--json", "x"}).wants_samples);
  EXPECT_FALSE(parse({"latency", "--json", "x"}).wants_samples);
  expect_error({"latency", "--samples"}, "--samples needs --json");
}

TEST(Options, GiveCollectivesFreshMemory) {
  EXPECT_TRUE(parse({"iadds", "--cold"}).is_cold);
  EXPECT_EQ(parse({"iadds", "--rotate", "3"}).rotate, 3U);
  expect_error({"waits", "--cold"}, "waits takes neither --cold nor --rotate");
}

TEST(Options, AreThoseOfEachTest_WhenSeveralAreNamed) {
  const std::vector<Options> runs = parse_runs({"latency,adds", "--json", "out", "-i", "3"}, k_tests);
  ASSERT_EQ(runs.size(), 2U);
  EXPECT_EQ(runs[0].test->name, "latency");
  EXPECT_EQ(runs[1].test->name, "adds");
  EXPECT_EQ(runs[0].sizes.front(), 1U);
  EXPECT_EQ(runs[1].sizes.front(), 4U);
  EXPECT_EQ(runs[0].json_path, "out/latency.json");
  EXPECT_EQ(runs[1].json_path, "out/adds.json");
  EXPECT_EQ(runs[1].csv_path, "");
  EXPECT_EQ(runs[1].iterations, 3U);
  expect_error({"latency,frob"}, "test 'frob' is unknown");
  expect_error({"latency,,bw"}, "no test was named");
  EXPECT_THROW(parse_runs({"latency,waits", "-m", "8"}, k_tests), OptionError);
}

TEST(Options, AreThoseOfEachPlacement_WhenSeveralAreNamed) {
  const std::vector<Options> runs = parse_runs({"latency", "-d", "stub", "D:D,H:M", "--json", "out"}, k_tests);
  ASSERT_EQ(runs.size(), 2U);
  EXPECT_EQ(runs[0].placement, (std::array{SLUICE_MEMORY_DEVICE, SLUICE_MEMORY_DEVICE}));
  EXPECT_EQ(runs[1].placement, (std::array{SLUICE_MEMORY_HOST, SLUICE_MEMORY_SHARED}));
  EXPECT_EQ(runs[0].json_path, "out/latency.D-D.json");
  EXPECT_EQ(runs[1].json_path, "out/latency.H-M.json");
  expect_error({"latency", "-d", "stub", "D:D,X:D"}, "placement 'X' is unknown");
}

TEST(Options, TakeDatatypes_AsOsuWritesThem) {
  const DerivedType type = parse({"latency", "-D", "vect:96:40", "--sizes", "8,40,4000"}).family.message;
  EXPECT_EQ(type.kind, TypeKind::vector);
  EXPECT_EQ(type.stride_bytes, 96U);
  EXPECT_EQ(type.block_bytes, 40U);
  EXPECT_EQ(parse({"bw", "-D", "cont"}).family.message.kind, TypeKind::contiguous);
  EXPECT_FALSE(parse({"bw"}).family.message.is_derived());
  const Options packed = parse({"latency", "-D", "struct", "--compare-packed"});
  EXPECT_EQ(packed.route, Route::compare);
  EXPECT_STREQ(by_hand_name(packed), "packed");
  EXPECT_EQ(packed.repeat, 5U);
  expect_error({"latency", "-D", "frob"}, "no such type");
  expect_error({"latency", "-D", "vector:8"}, ":STRIDE:BLOCK");
  expect_error({"latency", "-D", "cont:16:8"}, ":STRIDE:BLOCK");
  expect_error({"latency", "-D", "vector:8:16"}, "strides as many or more");
  expect_error({"latency", "-D", "vector:8:0"}, "1 byte or more");
  expect_error({"latency", "-D", "struct:100:10"}, "multiple of 8");
  expect_error({"latency", "-D", "vector", "--sizes", "100"}, "multiples of 64, its block, not 100");
  expect_error({"latency", "--packed"}, "need a datatype to pack");
  expect_error({"latency", "-D", "vector", "--packed", "--naive"}, "exclude each other");
  expect_error({"latency", "-d", "x", "-D", "vector", "--naive"}, "is --packed or --compare-packed");
  expect_error({"adds", "-D", "vector"}, "takes no -D");
}

TEST(Options, TakeFreshMemory_OneWayAtATime) {
  EXPECT_EQ(parse({"latency", "--rotate", "auto"}).rotate, 0U);
  EXPECT_EQ(parse({"latency", "--rotate", "7"}).rotate, 7U);
  EXPECT_TRUE(parse({"latency", "--cold"}).is_cold);
  EXPECT_EQ(parse({"latency"}).rotate, 1U);
  expect_error({"latency", "--rotate", "some"}, "neither a number nor auto");
  expect_error({"latency", "--rotate", "0"}, "--rotate: 0 is outside 1 to 65536");
  expect_error({"latency", "--cold", "--rotate", "2"}, "--cold excludes");
  expect_error({"latency", "--cold", "--batch", "2"}, "--cold excludes");
  expect_error({"adds", "--cold"}, "adds takes neither --cold nor --rotate");
}

TEST(Options, TakeSizesOfGigabytes) {
  EXPECT_EQ(parse({"latency", "-m", "2147483648:4294967296"}).sizes,
            (std::vector<std::uint64_t>{std::uint64_t{1} << 31, std::uint64_t{1} << 32}));
}

TEST(Options, RefuseWhatTheCallsCannotCount) {
  EXPECT_EQ(parse({"narrow", "--sizes", "2147483647"}).sizes, Sizes{2147483647U});
  expect_error({"narrow", "--sizes", "8,2G"}, "narrow: sizes go up to 2147483647, the largest count of its calls, not");
}

TEST(Options, TakeLargeCounts_WhereTheCallsAreThere) {
  EXPECT_TRUE(parse({"latency", "--large-count"}).family.has_large_counts);
  expect_error({"bw", "--large-count"}, "bw has no form with --large-count");
  expect_error({"latency", "-d", "x", "--naive", "--large-count"}, "that is done by hand");
}

TEST(Options, AreOsuDefaults_WhenOnlyTheTestIsGiven) {
  const Options options = parse({"latency"});
  EXPECT_EQ(options.test->name, "latency");
  EXPECT_EQ(options.sizes.front(), 1U);
  EXPECT_EQ(options.sizes.back(), 4194304U);
  EXPECT_EQ(options.sizes.size(), 23U);
  EXPECT_FALSE(options.iterations.has_value());
  EXPECT_EQ(options.window, 64U);
  EXPECT_FALSE(options.has_multiple_buffers);
  EXPECT_EQ(options.check, CheckMode::some);
  EXPECT_EQ(options.repeat, 1U);
  EXPECT_EQ(options.placement, (std::array{SLUICE_MEMORY_HOST, SLUICE_MEMORY_HOST}));
}

TEST(Options, ReadOsuLetters_InAnyOrder) {
  const Options options = parse({"bw", "-d", "any", "-m", "4:64", "-i", "7", "-x", "0", "-W", "16", "-b", "multiple",
                                 "-c", "-f", "-z1,99.9", "D", "H"});
  EXPECT_EQ(options.device, "any");
  EXPECT_EQ(options.sizes, (Sizes{4, 8, 16, 32, 64}));
  EXPECT_EQ(options.iterations, 7U);
  EXPECT_EQ(options.warmup, 0U);
  EXPECT_EQ(options.window, 16U);
  EXPECT_TRUE(options.has_multiple_buffers);
  EXPECT_EQ(options.check, CheckMode::all);
  EXPECT_TRUE(options.is_full);
  EXPECT_EQ(options.percentiles, (std::vector<double>{1, 99.9}));
  EXPECT_EQ(options.placement, (std::array{SLUICE_MEMORY_DEVICE, SLUICE_MEMORY_HOST}));
}

TEST(Options, KeepPlacementWords_WhenBareZStandsBeforeThem) {
  const Options options = parse({"latency", "-d", "any", "-z", "H", "D"});
  EXPECT_EQ(options.percentiles, (std::vector<double>{50, 90, 99}));
  EXPECT_EQ(options.placement, (std::array{SLUICE_MEMORY_HOST, SLUICE_MEMORY_DEVICE}));
}

TEST(Options, ReadEveryPlacementWord) {
  EXPECT_EQ(parse({"latency", "-d", "any"}).placement, (std::array{SLUICE_MEMORY_DEVICE, SLUICE_MEMORY_DEVICE}));
  EXPECT_EQ(parse({"latency", "-d", "any", "MD", "P"}).placement,
            (std::array{SLUICE_MEMORY_SHARED, SLUICE_MEMORY_PINNED}));
  EXPECT_EQ(parse({"latency", "-d", "any", "MH", "M"}).placement,
            (std::array{SLUICE_MEMORY_SHARED, SLUICE_MEMORY_SHARED}));
  EXPECT_FALSE(parse({"latency", "-d", "any", "H", "H"}).has_device_side());
}

TEST(Options, ReadAPlacementOfEachRank) {
  const Options options = parse({"adds", "-d", "any", "P,H,D,M"});
  EXPECT_EQ(options.rank_placement, (std::vector<sluice_memory_kind_t>{SLUICE_MEMORY_PINNED, SLUICE_MEMORY_HOST,
                                                                       SLUICE_MEMORY_DEVICE, SLUICE_MEMORY_SHARED}));
  EXPECT_EQ(options.placement, (std::array{SLUICE_MEMORY_PINNED, SLUICE_MEMORY_DEVICE}));
  EXPECT_TRUE(parse({"adds", "-d", "any", "D"}).rank_placement.empty());
  EXPECT_EQ(parse({"latency", "-d", "any", "--naive", "H,D"}).route, Route::naive);
  expect_error({"adds", "-d", "any", "D,X"}, "placement 'X' is unknown");
  expect_error({"adds", "D,H"}, "this placement needs a device module here");
  expect_error({"adds", "-d", "any", "--naive", "H,P,H"}, "need a side in device or managed memory");
}

TEST(Options, AreThoseOfEachDatatype_WhenSeveralAreNamed) {
  const std::vector<Options> runs =
      parse_runs({"latency", "-D", "contiguous,vector:96:32", "--sizes", "64", "--csv", "out"}, k_tests);
  ASSERT_EQ(runs.size(), 2U);
  EXPECT_FALSE(runs[0].family.message.has_gaps());
  EXPECT_EQ(runs[1].family.message.stride_bytes, 96U);
  EXPECT_EQ(runs[1].csv_path, "out/latency.vector_96_32.csv");
  expect_error({"latency", "-D", "vector,frob", "--sizes", "64"}, "frob");
  expect_error({"adds", "-D", "vector,struct", "--sizes", "64"}, "takes no -D");
}

TEST(Options, ReadAKindForEachSideOfACollective) {
  const Options all = parse({"adds", "-d", "any", "D/H"});
  EXPECT_EQ(all.placement, (std::array{SLUICE_MEMORY_DEVICE, SLUICE_MEMORY_DEVICE}));
  EXPECT_EQ(all.recv_placement, (std::array{SLUICE_MEMORY_HOST, SLUICE_MEMORY_HOST}));
  const Options two = parse({"adds", "-d", "any", "H/MD", "P"});
  EXPECT_EQ(two.placement, (std::array{SLUICE_MEMORY_HOST, SLUICE_MEMORY_PINNED}));
  EXPECT_EQ(two.recv_placement, (std::array{SLUICE_MEMORY_SHARED, SLUICE_MEMORY_PINNED}));
  const Options each = parse({"adds", "-d", "any", "H,D/H,H/P"});
  EXPECT_EQ(each.rank_placement,
            (std::vector<sluice_memory_kind_t>{SLUICE_MEMORY_HOST, SLUICE_MEMORY_DEVICE, SLUICE_MEMORY_HOST}));
  EXPECT_EQ(each.rank_recv_placement,
            (std::vector<sluice_memory_kind_t>{SLUICE_MEMORY_HOST, SLUICE_MEMORY_HOST, SLUICE_MEMORY_PINNED}));
  EXPECT_TRUE(parse({"adds", "-d", "any", "H/D"}).has_device_side());
  EXPECT_EQ(parse({"adds", "-d", "any", "--naive", "H/D"}).route, Route::naive);
  const std::vector<Options> runs = parse_runs({"adds", "-d", "any", "D/H:D,H/D:H/D", "--json", "out"}, k_tests);
  ASSERT_EQ(runs.size(), 2U);
  EXPECT_EQ(runs[0].json_path, "out/adds.D_H-D.json");
  EXPECT_EQ(runs[1].recv_placement, (std::array{SLUICE_MEMORY_DEVICE, SLUICE_MEMORY_DEVICE}));
}

TEST(Options, RefuseAKindForEachSide_WhereThereIsOneBuffer) {
  expect_error({"latency", "-d", "any", "D/H", "D"}, "'D/H' says what a rank sends from and what it receives into");
  expect_error({"latency", "-d", "any", "D/H:D,D:D"}, "latency has no two buffers there");
  expect_error({"waits", "-d", "any", "D/H"}, "waits has no two buffers there");
  expect_error({"adds", "-d", "any", "D/X"}, "placement 'X' is unknown");
  expect_error({"adds", "-d", "any", "/D"}, "placement '' is unknown");
  expect_error({"adds", "-d", "any", "D/H/D"}, "placement 'H/D' is unknown");
  expect_error({"adds", "D/H"}, "this placement needs a device module here");
  expect_error({"adds", "-l", "-d", "any", "D/H"}, "-l: no MPI_IN_PLACE");
}

TEST(Options, ReadNaiveForms) {
  const Options naive = parse({"latency", "-d", "any", "--naive"});
  EXPECT_EQ(naive.route, Route::naive);
  EXPECT_EQ(naive.naive_staging, NaiveStaging::pageable);
  EXPECT_EQ(naive.repeat, 1U);
  const Options compare = parse({"latency", "-d", "any", "--compare-naive=pinned"});
  EXPECT_EQ(compare.route, Route::compare);
  EXPECT_EQ(compare.naive_staging, NaiveStaging::pinned);
  EXPECT_EQ(compare.repeat, 5U);
  EXPECT_EQ(parse({"latency", "-d", "any", "--compare-naive", "--repeat", "9"}).repeat, 9U);
}

TEST(Options, ReadCheckModes) {
  EXPECT_EQ(parse({"latency", "--check", "none"}).check, CheckMode::none);
  EXPECT_EQ(parse({"latency", "--check", "all"}).check, CheckMode::all);
  EXPECT_EQ(parse({"latency", "-c", "--check", "all"}).check, CheckMode::all);
}

TEST(Options, AskForTexts) {
  EXPECT_EQ(parse({"--list"}).action, Action::list_tests);
  EXPECT_EQ(parse({"--list-devices"}).action, Action::list_devices);
  EXPECT_EQ(parse({"-v"}).action, Action::version);
  const Options help = parse({"-h"});
  EXPECT_EQ(help.action, Action::help);
  EXPECT_NE(help.help_text.find("--compare-naive"), std::string::npos);
}

TEST(Options, SayWhatIsWrong_InOneLine) {
  expect_error({}, "no test was named; --list names them");
  expect_error({"frob"}, "test 'frob' is unknown; --list names them");
  expect_error({"latency", "--frob"}, "--frob");
  expect_error({"latency", "-i"}, "--iterations");
  expect_error({"latency", "-i", "many"}, "many");
  expect_error({"latency", "-i", "-5"}, "-i: -5 is outside 1 to");
  expect_error({"latency", "-i", "0"}, "-i: 0 is outside 1 to");
  expect_error({"latency", "--repeat", "0"}, "--repeat: 0 is outside");
  expect_error({"latency", "--time-cap", "0"}, "--time-cap: 0 is not");
  expect_error({"latency", "--time-cap", "nan"}, "--time-cap: nan is not");
  expect_error({"latency", "--precision", "5"}, "--precision needs --time-cap");
  expect_error({"latency", "--time-cap", "1", "--precision", "-1"}, "--precision: -1 is not");
  expect_error({"latency", "-W", "100000"}, "-W: 100000 is outside 1 to 65536");
  expect_error({"latency", "-b", "three"}, "-b: 'three' is unknown: single or multiple");
  expect_error({"latency", "--check", "most"}, "--check: 'most' is unknown: all, some or none");
  expect_error({"latency", "-c", "--check", "none"}, "-c means --check all");
  expect_error({"latency", "-z0"}, "-z: '0' is not a percentile");
}

TEST(Options, SayWhatIsWrong_AboutPlacement) {
  expect_error({"latency", "D", "D"}, "give -d <name>");
  expect_error({"latency", "-d", "any", "D"}, "placement needs two words");
  expect_error({"latency", "-d", "any", "D", "X"}, "placement 'X' is unknown: H, D, M (MD, MH) or P");
  expect_error({"latency", "-d", "any", "D", "D", "D"}, "placement needs two words");
  expect_error({"copies"}, "copies needs a device module");
  expect_error({"copies", "-d", "any", "D", "D"}, "copies takes no placement words");
  expect_error({"latency", "--naive"}, "need a side in device or managed memory");
  expect_error({"latency", "-d", "any", "--naive", "H", "P"}, "need a side in device or managed memory");
  expect_error({"latency", "-d", "any", "--naive=magic"}, "--naive: 'magic' is unknown: pageable or pinned");
  expect_error({"latency", "-d", "any", "--naive", "--compare-naive"}, "exclude each other");
}

TEST(Options, ReadWhatFamiliesTake) {
  const FamilyOptions family =
      parse({"adds", "-T", "mpi_double", "--op", "min", "--sync", "barrier", "-N", "cart:2:3", "-t", "4:4", "-q", "16"})
          .family;
  EXPECT_EQ(family.type, ElementType::float64);
  EXPECT_EQ(family.operation, Operation::min);
  EXPECT_EQ(family.start, StartRule::barrier);
  EXPECT_EQ(family.topology.dimensions, 2);
  EXPECT_EQ(family.topology.radius, 3);
  EXPECT_EQ(family.n_threads, 4);
  EXPECT_EQ(family.n_partitions, 16);
  EXPECT_EQ(parse({"adds", "--layout", "uneven"}).family.layout, BlockLayout::uneven);
  EXPECT_EQ(parse({"adds"}).family.layout, BlockLayout::even);
  EXPECT_EQ(parse({"iadds", "--layout", "even"}).family.layout, BlockLayout::even);
  EXPECT_EQ(parse({"adds"}).family.type, ElementType::int32);
  EXPECT_EQ(parse({"adds"}).sizes.front(), 4U);
  EXPECT_EQ(parse({"latency"}).family.type, ElementType::bytes);
  EXPECT_EQ(parse({"adds", "-d", "any", "P"}).placement, (std::array{SLUICE_MEMORY_PINNED, SLUICE_MEMORY_PINNED}));
}

TEST(Options, SayWhatIsWrong_AboutFamilies) {
  expect_error({"adds", "-T", "mpi_half"}, "-T: 'mpi_half' is unknown: mpi_char, mpi_int");
  expect_error({"adds", "--op", "xor"}, "--op: 'xor' is unknown: sum, max, min");
  expect_error({"adds", "--sync", "now"}, "--sync: 'now' is unknown: clock, barrier");
  expect_error({"adds", "--layout", "odd"}, "--layout: 'odd' is unknown: even, uneven");
  expect_error({"iadds", "--layout", "uneven"}, "iadds has no counts for each pair of ranks, and takes no --layout");
  expect_error({"adds", "-N", "cart:9:1"}, "-N: 'cart:9:1' is not cart:DIMENSIONS:RADIUS");
  expect_error({"adds", "-t", "1:2"}, "-t: threads answer each other in pairs: 1:1, not 1:2");
  expect_error({"adds", "-t", "x"}, "-t: 'x' is not a number");
  expect_error({"adds", "-q", "0"}, "-q: 0 is outside 1 to");
  expect_error({"adds", "--sizes", "6"}, "adds: sizes are multiples of 4, its element, not 6");
  expect_error({"waits", "-m", "8"}, "waits has no messages, and takes no sizes");
}

TEST(Sizes, ReadRangesListsAndSuffixes) {
  EXPECT_EQ(parse_size_range("-m", "0:4", 1), (Sizes{0, 1, 2, 4}));
  EXPECT_EQ(parse_size_range("-m", "3:10", 1), (Sizes{3, 6}));
  EXPECT_EQ(parse_size_range("-m", "2", 1), (Sizes{1, 2}));
  EXPECT_EQ(parse_size_range("-m", "4G:8G", 1), (Sizes{4294967296U, 8589934592U}));
  EXPECT_EQ(parse_size_list("--sizes", "8,1K,3,2M"), (Sizes{8, 1024, 3, 2097152}));
}

TEST(Sizes, SayWhatIsWrong) {
  expect_error({"latency", "-m", "x"}, "-m: 'x' is not a size");
  expect_error({"latency", "-m", ":8"}, "-m: '' is not a size");
  expect_error({"latency", "-m", "8:"}, "-m: '' is not a size");
  expect_error({"latency", "-m", "-8"}, "'-8' is not a size");
  expect_error({"latency", "-m", "16:8"}, "-m: the smallest size 16 is above the largest 8");
  expect_error({"latency", "-m", "99999999999999999999"}, "more than the largest size, 2^62 bytes");
  expect_error({"latency", "-m", "8388608T"}, "more than the largest size, 2^62 bytes");
  expect_error({"latency", "--sizes", "8,,16"}, "--sizes: '' is not a size");
  expect_error({"latency", "-m", "8", "--sizes", "8"}, "-m and --sizes exclude each other");
  expect_error({"bw", "-m", "0:8"}, "bw: sizes start at 1, not 0");
}

}  // namespace
}  // namespace sluice::bench::options_test
