// SPDX-License-Identifier: BSD-3-Clause
// All ranks count keys in a hash table that is spread over their windows, and nobody's CPU serves the others. Checked:
// each key is there once, counted as often as the ranks drew it, and no two ranks got the same number of a key.
#include <fmt/format.h>

#include <map>
#include <numeric>

#include "apps/hash_table/table.hpp"
#include "apps/support/program.hpp"

namespace sluice::apps::hash_table {
namespace {

struct Options {
  std::vector<std::string> variants = {"device-table"};
  int n_keys = 1000;
  int n_different = 300;
  int n_repeats = 3;
};

const std::map<std::string, Variant> variants_by_name = {{"device-table", Variant::device_table},
                                                         {"device-buffers", Variant::device_buffers}};

// The keys that a rank counts: any rank can say those of any other.
std::vector<Key> keys_of(int rank, const Options &options) {
  std::vector<Key> keys;
  auto state = static_cast<std::uint64_t>(rank) + 1;
  for (int i = 0; i < options.n_keys; ++i) {
    state = state * 6364136223846793005ULL + 1442695040888963407ULL;
    keys.push_back(1 + static_cast<Key>((state >> 33U) % static_cast<std::uint64_t>(options.n_different)));
  }
  return keys;
}

std::vector<Key> keys_of_all(const World &world, const Options &options) {
  std::vector<Key> all;
  for (int rank = 0; rank < world.n_ranks(); ++rank) {
    const std::vector<Key> keys = keys_of(rank, options);
    all.insert(all.end(), keys.begin(), keys.end());
  }
  return all;
}

// The numbers that the ranks were given are, for each key, 0 to one less than its count: so are their sums.
std::string check_numbers(std::span<const Key> own, std::span<const std::int64_t> before, std::span<const Key> all,
                          const Options &options) {
  std::vector<std::int64_t> sums(static_cast<std::size_t>(options.n_different) + 1);
  for (std::size_t i = 0; i < own.size(); ++i) sums[static_cast<std::size_t>(own[i])] += before[i] + 1;
  check_mpi(
      MPI_Allreduce(MPI_IN_PLACE, sums.data(), static_cast<int>(sums.size()), MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD),
      "MPI_Allreduce");
  std::vector<std::int64_t> counts(sums.size());
  for (const Key key : all) ++counts[static_cast<std::size_t>(key)];
  for (std::size_t key = 0; key < sums.size(); ++key) {
    if (sums[key] == counts[key] * (counts[key] + 1) / 2) continue;
    return fmt::format("the numbers of key {} sum up to {} instead of {}", key, sums[key],
                       counts[key] * (counts[key] + 1) / 2);
  }
  return "";
}

void run(const World &world, Device &device, Report &report, const Options &options) {
  report.add_parameter("keys", fmt::format("{}", options.n_keys));
  report.add_parameter("different", fmt::format("{}", options.n_different));
  report.add_parameter("bytes", "of a number; a time is that of one key");
  const std::vector<Key> own = keys_of(world.rank(), options);
  const std::vector<Key> all = keys_of_all(world, options);
  for (const std::string &name : options.variants) {
    Table table(world, device, variants_by_name.at(name), static_cast<std::size_t>(options.n_different) + 1);
    std::vector<double> times_us;
    for (int i = 0; i < options.n_repeats; ++i) {
      table.clear();
      const StopWatch watch;
      const std::vector<std::int64_t> before = table.count(own);
      times_us.push_back(watch.elapsed_us() / options.n_keys);
      world.barrier();
      world.agree(table.check(all));
      world.agree(check_numbers(own, before, all, options));
    }
    report.add(name, sizeof(Key), std::move(times_us));
  }
}

}  // namespace
}  // namespace sluice::apps::hash_table

int main(int argc, char **argv) {
  using namespace sluice::apps;
  hash_table::Options options;
  CLI::App parser{"A hash table in the windows of all ranks, by one-sided updates, checked against the host",
                  "hash_table"};
  parser.add_option("--variant", options.variants, "device-table, device-buffers; several are run one after the other")
      ->check(CLI::IsMember({"device-table", "device-buffers"}))
      ->delimiter(',');
  parser.add_option("--keys", options.n_keys, "keys that each rank counts")->check(CLI::Range(1, 100000000));
  parser.add_option("--different", options.n_different, "how many different ones there are")
      ->check(CLI::Range(1, 100000000));
  parser.add_option("--repeat", options.n_repeats, "runs")->check(CLI::Range(1, 1000000));
  return run_program(argc, argv, parser, [&](const World &world, Device &device, Report &report) {
    hash_table::run(world, device, report, options);
  });
}
