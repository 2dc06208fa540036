// SPDX-License-Identifier: BSD-3-Clause
// The halo exchange of a grid in two dimensions with all eight neighbours, packed by hand and by MPI's datatypes
// (Accelerator-aware MPI micro-benchmarks, PRACE, section 2).
#include <fmt/format.h>

#include <map>

#include "apps/stencil2d/grid.hpp"
#include "apps/support/triggered.hpp"

namespace sluice::apps::stencil2d {
namespace {

struct Options {
  std::vector<std::string> variants = {"packed"};
  std::array<int, 2> ranks = {0, 0};
  std::vector<std::uint64_t> sides = {512};
  int n_steps = 100;
  GraphSteps graph_steps;
  int n_repeats = 5;
};

constexpr int kCheckedSteps = 4;

const std::map<std::string, Variant> variants_by_name = {
    {"packed", Variant::packed}, {"subarray", Variant::subarray}, {"hindexed", Variant::hindexed},
    {"st", Variant::st},         {"enqueue", Variant::enqueue},   {"st-graph", Variant::st_graph}};

// What a step took, in µs, averaged over each run. Checked before, which warms up as well, and behind it. Collective.
std::vector<double> time_steps(const World &world, const Options &options, Grid &grid) {
  std::vector<double> times_us;
  const int n_checked = options.graph_steps.at_least(kCheckedSteps);
  const auto check = [&] {
    grid.reset();
    world.barrier();
    grid.run(n_checked);
    world.agree(grid.check(n_checked));
  };
  check();
  for (int i = 0; i < options.n_repeats; ++i) {
    world.barrier();
    const StopWatch watch;
    grid.run(options.n_steps);
    times_us.push_back(watch.elapsed_us() / options.n_steps);
  }
  check();
  return times_us;
}

void run(const World &world, Device &device, Report &report, const Options &options) {
  const std::array<int, 2> ranks = grid_of(world, options.ranks);
  const Place place = find_place(world, ranks);
  report.add_parameter("ranks", fmt::format("{}x{}", ranks[0], ranks[1]));
  report.add_parameter("steps", fmt::format("{}", options.n_steps));
  report.add_parameter("bytes", "of one side of a rank's field");
  for (const std::string &name : options.variants) {
    const Variant variant = variants_by_name.at(name);
    if (form_of(variant)) check_queues(name);
    if (variant == Variant::st_graph) options.graph_steps.check(device, name, options.n_steps, true);
    for (const std::uint64_t side : options.sides) {
      Grid grid(device, {{side, side}, mask_of(place)}, place, variant, options.graph_steps.in_graph());
      report.add(name, side * sizeof(double), time_steps(world, options, grid));
    }
  }
}

}  // namespace
}  // namespace sluice::apps::stencil2d

int main(int argc, char **argv) {
  using namespace sluice::apps;
  stencil2d::Options options;
  CLI::App parser{"A nine-point stencil in two dimensions, checked against the same steps on the host", "stencil2d"};
  parser
      .add_option("--variant", options.variants,
                  "packed, subarray, hindexed, st, enqueue, st-graph; several are run one after the other")
      ->check(CLI::IsMember({"packed", "subarray", "hindexed", "st", "enqueue", "st-graph"}))
      ->delimiter(',');
  parser.add_option("--ranks", options.ranks, "ranks along x, y; 0: MPI chooses")->delimiter('x');
  parser.add_option("--sides", options.sides, "points along each side of a rank's field; several are run")
      ->check(CLI::Range(1, 1 << 15))
      ->delimiter(',');
  parser.add_option("--steps", options.n_steps, "steps in each run")->check(CLI::Range(1, 1000000));
  options.graph_steps.add_to(parser);
  parser.add_option("--repeat", options.n_repeats, "runs that are timed")->check(CLI::Range(1, 1000000));
  return run_program(argc, argv, parser, [&](const World &world, Device &device, Report &report) {
    stencil2d::run(world, device, report, options);
  });
}
