// SPDX-License-Identifier: BSD-3-Clause
// The seven-point stencil in three dimensions: a grid over all ranks, each of which swaps the faces of its box with its
// neighbours (CCGrid'23, section V.E); or, with --sizes, the exchange alone.
#include <fmt/format.h>

#include <map>

#include "apps/stencil3d/sweep.hpp"
#include "apps/support/triggered.hpp"

namespace sluice::apps::stencil3d {
namespace {

struct Options {
  std::vector<std::string> variants = {"packed"};
  std::array<int, 3> ranks = {0, 0, 0};
  std::uint64_t local = 64;  // points along each side of a rank's box
  std::uint64_t global = 0;  // of the whole grid; 0: as many as the boxes have
  std::vector<std::uint64_t> sizes_bytes;
  int n_steps = 100;
  GraphSteps graph_steps;
  int n_repeats = 5;
  int n_checkpoint_steps = 0;  // 0: no checkpoint
  std::string checkpoint_file = "stencil3d.checkpoint";
};

constexpr int kCheckedSteps = 4;

const std::map<std::string, Variant> variants_by_name = {{"packed", Variant::packed},
                                                         {"subarray", Variant::subarray},
                                                         {"st", Variant::st},
                                                         {"enqueue", Variant::enqueue},
                                                         {"st-graph", Variant::st_graph}};

Box box_of(const Options &options, const Place &place) {
  Box box{{options.local, options.local, options.local}, place.mask()};
  for (int d = 0; d < 3 && options.global > 0; ++d) {
    if (options.global % place.n_ranks[d] != 0) {
      throw AgreedError("--global: the ranks' grid does not divide it; choose another with --ranks");
    }
    box.n[d] = options.global / place.n_ranks[d];
  }
  for (const std::uint64_t n : box.n) {
    if (n < 2) throw AgreedError("a rank's box needs 2 points along each side: take a larger grid or fewer ranks");
  }
  return box;
}

// What a step took, in µs, averaged over each run.
template <class Steps>
std::vector<double> time_steps(const World &world, const Options &options, Steps &steps) {
  std::vector<double> times_us;
  for (int i = 0; i < options.n_repeats; ++i) {
    world.barrier();
    const StopWatch watch;
    steps.run(options.n_steps);
    times_us.push_back(watch.elapsed_us() / options.n_steps);
  }
  return times_us;
}

// A grid that goes on from a file comes to what one without a break comes to.
void check_checkpoint(const World &world, const Options &options, int n_more_steps, Grid &grid) {
  const int n_steps = options.graph_steps.at_least(options.n_checkpoint_steps);
  grid.reset();
  world.barrier();
  grid.run(n_steps);
  grid.save(options.checkpoint_file);
  grid.restore(options.checkpoint_file);
  world.barrier();
  grid.run(n_more_steps);
  world.agree(grid.check(n_steps + n_more_steps));
}

void run_grid(const World &world, Device &device, Report &report, const Options &options, const Place &place,
              const std::string &name) {
  Grid grid(device, box_of(options, place), place, variants_by_name.at(name), options.graph_steps.in_graph());
  const int n_checked = options.graph_steps.at_least(kCheckedSteps);
  // Before, which warms up as well, and behind what is timed.
  const auto check = [&] {
    grid.reset();
    world.barrier();
    grid.run(n_checked);
    world.agree(grid.check(n_checked));
  };
  check();
  const std::vector<double> times_us = time_steps(world, options, grid);
  check();
  if (options.n_checkpoint_steps > 0) check_checkpoint(world, options, n_checked, grid);
  report.add(name, 0, times_us);
}

void run_sweep(const World &world, Device &device, Report &report, const Options &options, const Place &place,
               const std::string &name) {
  if (name == "subarray") throw AgreedError("--sizes: the exchange alone has no subarrays; take packed or st");
  for (const std::uint64_t size_bytes : options.sizes_bytes) {
    Sweep sweep(device, world, place, size_bytes, variants_by_name.at(name), options.graph_steps.in_graph());
    sweep.run(options.graph_steps.at_least(kCheckedSteps));
    const std::vector<double> times_us = time_steps(world, options, sweep);
    world.agree(sweep.check());
    report.add(name, size_bytes, times_us);
  }
}

void check_variant(const Device &device, const Options &options, const std::string &name) {
  const Variant variant = variants_by_name.at(name);
  if (form_of(variant)) check_queues(name);
  if (variant == Variant::st_graph) {
    options.graph_steps.check(device, name, options.n_steps, options.sizes_bytes.empty());
  }
}

void run(const World &world, Device &device, Report &report, const Options &options) {
  const std::array<int, 3> ranks = grid_of(world, options.ranks);
  const Place place = find_place(world, ranks);
  report.add_parameter("ranks", fmt::format("{}x{}x{}", ranks[0], ranks[1], ranks[2]));
  report.add_parameter("steps", fmt::format("{}", options.n_steps));
  if (options.sizes_bytes.empty()) {
    const Box box = box_of(options, place);
    report.add_parameter("box", fmt::format("{}x{}x{}", box.n[0], box.n[1], box.n[2]));
  }
  for (const std::string &name : options.variants) {
    check_variant(device, options, name);
    if (options.sizes_bytes.empty()) {
      run_grid(world, device, report, options, place, name);
    } else {
      run_sweep(world, device, report, options, place, name);
    }
  }
}

}  // namespace
}  // namespace sluice::apps::stencil3d

int main(int argc, char **argv) {
  using namespace sluice::apps;
  stencil3d::Options options;
  CLI::App parser{"A seven-point stencil in three dimensions, checked against the same steps on the host", "stencil3d"};
  parser
      .add_option("--variant", options.variants,
                  "packed, subarray, st, enqueue, st-graph; several are run one after the other")
      ->check(CLI::IsMember({"packed", "subarray", "st", "enqueue", "st-graph"}))
      ->delimiter(',');
  parser.add_option("--ranks", options.ranks, "ranks along x, y, z; 0: MPI chooses")->delimiter('x');
  parser.add_option("--local", options.local, "points along each side of a rank's box (weak scaling)")
      ->check(CLI::Range(2, 4096));
  parser.add_option("--global", options.global, "points along each side of the whole grid (strong scaling)")
      ->check(CLI::Range(0, 65536));
  parser.add_option("--sizes", options.sizes_bytes, "the exchange alone, with messages of these sizes in bytes")
      ->check(CLI::Range(1, 1 << 28))
      ->delimiter(',');
  parser.add_option("--steps", options.n_steps, "steps in each run")->check(CLI::Range(1, 1000000));
  options.graph_steps.add_to(parser);
  parser.add_option("--repeat", options.n_repeats, "runs that are timed")->check(CLI::Range(1, 1000000));
  parser
      .add_option("--checkpoint", options.n_checkpoint_steps,
                  "write the grid to a file after so many steps, go on from the file, and check; 0: do not")
      ->check(CLI::Range(0, 1000));
  parser.add_option("--checkpoint-file", options.checkpoint_file, "the file, which is deleted afterwards");
  return run_program(argc, argv, parser, [&](const World &world, Device &device, Report &report) {
    stencil3d::run(world, device, report, options);
  });
}
