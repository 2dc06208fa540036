// SPDX-License-Identifier: BSD-3-Clause
// The Fourier transform of complex numbers in three dimensions, in pencils, by the library of each device, with the
// transpositions of libraries such as heFFTe: all-to-all exchanges of device memory.
#include <fmt/format.h>

#include <algorithm>

#include "apps/fft3d/check_threads.hpp"
#include "apps/fft3d/reference.hpp"
#include "apps/support/program.hpp"

namespace sluice::apps::fft3d {
namespace {

struct Options {
  std::vector<std::string> variants = {"alltoallv"};
  std::array<int, 2> ranks = {0, 0};
  std::array<std::uint64_t, 3> size = {64, 64, 64};
  std::string precision = "double";
  int n_repeats = 10;
  unsigned n_check_threads = 0;
};

Variant variant_of(const std::string &name) {
  if (name == "alltoallv") return Variant::alltoallv;
  if (name == "alltoallw") return Variant::alltoallw;
  return name == "vendor" ? Variant::vendor : Variant::staged;
}

// What transforms there and back took, run by run.
struct Series {
  std::vector<double> forward_us;
  std::vector<double> inverse_us;
  std::vector<double> exchange_us;  // of both together, in transpositions
};

// Checked before, which warms up as well, and behind it. Collective.
Series time_transforms(const World &world, const Reference &reference, int n_repeats, Transform &transform) {
  const auto check = [&] {
    transform.write(reference.first());
    transform.forward();
    const Values forward = transform.read(2);
    transform.inverse();
    reference.check_transform(forward, transform.read(0));
  };
  reference.check_moves(transform);
  check();
  Series series;
  for (int i = 0; i < n_repeats; ++i) {
    transform.rewrite(reference.first());
    world.barrier();
    const Times there = transform.forward();
    world.barrier();
    const Times back = transform.inverse();
    series.forward_us.push_back(there.all_us);
    series.inverse_us.push_back(back.all_us);
    series.exchange_us.push_back(there.exchange_us + back.exchange_us);
  }
  check();
  return series;
}

// Frees the communicators when the transforms on them are gone.
class Decomposition {
 public:
  Decomposition(const World &world, const Grid &grid) : pencils_(make_pencils(world, grid)) {}
  ~Decomposition() {
    const std::string error = bench::error_of([&] { free_communicators(pencils_); });
    if (!error.empty()) fmt::print(stderr, "{}\n", error);
  }
  Decomposition(const Decomposition &) = delete;
  Decomposition &operator=(const Decomposition &) = delete;

  const Pencils &pencils() const { return pencils_; }

 private:
  Pencils pencils_;
};

void run(const World &world, Device &device, Report &report, const Options &options) {
  const Grid grid{options.size, grid_of(world, options.ranks)};
  world.agree(why_not(grid));
  std::unique_ptr<FftLibrary> library;
  world.agree(bench::error_of([&] { library = std::make_unique<FftLibrary>(device); }));
  std::unique_ptr<MessageLibrary> messages;
  if (std::find(options.variants.begin(), options.variants.end(), "vendor") != options.variants.end()) {
    world.agree(bench::error_of([&] { messages = std::make_unique<MessageLibrary>(device); }));
  }
  const Decomposition decomposition(world, grid);
  report.add_parameter("size", fmt::format("{}x{}x{}", grid.n[0], grid.n[1], grid.n[2]));
  report.add_parameter("precision", options.precision);
  report.add_parameter("ranks", fmt::format("{}x{}", grid.ranks[0], grid.ranks[1]));
  report.add_parameter("library", library->name());
  if (messages) report.add_parameter("messages of vendor", messages->name());
  report.add_parameter("bytes", "of the whole grid");
  report.add_parameter("check", is_small(grid) ? "every frequency" : "some frequencies");
  const HostThreads threads(options.n_check_threads != 0 ? options.n_check_threads : fair_threads(world));
  report.add_parameter("check threads of rank 0", std::to_string(threads.n_threads()));
  const bool is_double = options.precision == "double";
  const Reference reference(world, grid, decomposition.pencils(), is_double, threads);
  const std::uint64_t size_bytes = grid.n_points() * 2 * (is_double ? sizeof(double) : sizeof(float));
  for (const std::string &name : options.variants) {
    const Way way{variant_of(name), messages.get()};
    Transform transform(*library, decomposition.pencils(), is_double, way, threads);
    const Series series = time_transforms(world, reference, options.n_repeats, transform);
    report.add(name + " forward", size_bytes, series.forward_us);
    report.add(name + " inverse", size_bytes, series.inverse_us);
    report.add(name + " exchanges", size_bytes, series.exchange_us);
  }
}

}  // namespace
}  // namespace sluice::apps::fft3d

int main(int argc, char **argv) {
  using namespace sluice::apps;
  fft3d::Options options;
  CLI::App parser{"A Fourier transform in three dimensions, checked against the definition on the host", "fft3d"};
  parser
      .add_option("--variant", options.variants,
                  "alltoallv, alltoallw, staged, vendor (the vendor's message library in MPI's place); several are run "
                  "one after the other")
      ->check(CLI::IsMember({"alltoallv", "alltoallw", "staged", "vendor"}))
      ->delimiter(',');
  parser.add_option("--size", options.size, "points along x, y, z")->check(CLI::Range(1, 1 << 14))->delimiter('x');
  parser.add_option("--precision", options.precision, "of the complex numbers: double, float")
      ->check(CLI::IsMember({"double", "float"}));
  parser.add_option("--ranks", options.ranks, "ranks that divide x for y, and y for z; 0: MPI chooses")->delimiter('x');
  parser.add_option("--repeat", options.n_repeats, "transforms that are timed")->check(CLI::Range(1, 1000000));
  parser
      .add_option(
          "--check-threads", options.n_check_threads,
          "threads in which each rank checks; 0: the cores that it may run on, shared with the ranks that may too")
      ->check(CLI::Range(0, 4096));
  return run_program(argc, argv, parser, [&](const World &world, Device &device, Report &report) {
    fft3d::run(world, device, report, options);
  });
}
