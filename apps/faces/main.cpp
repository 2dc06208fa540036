// SPDX-License-Identifier: BSD-3-Clause
// Faces: the nearest-neighbour pattern of Nekbone (arXiv 2208.04817, section V). Blocks of spectral elements add what
// they share with up to 26 neighbours, again and again; the variants differ in who waits for whom.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cctype>
#include <cstdlib>
#include <map>
#include <span>
#include <string_view>

#include "apps/faces/reference.hpp"
#include "apps/support/triggered.hpp"

namespace sluice::apps::faces {
namespace {

struct Options {
  std::vector<std::string> variants = {"plain"};
  std::array<int, 3> grid = {0, 0, 0};
  int n_outer = 10;
  int n_middle = 100;
  int n_inner = 100;
  std::uint64_t n_elements = 8;
  std::uint64_t n_points = 10;
  bool is_checked_once = false;
};

const std::map<std::string, Variant> variants_by_name = {
    {"plain", Variant::plain},     {"st-send", Variant::st_send},   {"st", Variant::st},
    {"enqueue", Variant::enqueue}, {"st-graph", Variant::st_graph}, {"st-kernels", Variant::st_kernels}};

// What streams trigger by is a knob of the backend's, which is read once for the whole process.
void check_triggers(Device &device, const std::vector<std::string> &variants) {
  if (std::ranges::find(variants, "st-kernels") == variants.end()) return;
  std::string wanted = "SLUICE_" + device.module_name() + "_STREAMS";
  std::ranges::transform(wanted, wanted.begin(), [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  const sluice_backend_t &table = device.module().table();
  const std::span<const sluice_backend_knob_t> knobs(table.knobs, table.n_knobs);
  const auto has_kernels = [&](const sluice_backend_knob_t &knob) {
    return knob.name == wanted && std::string_view(knob.doc).find(" kernels: ") != std::string_view::npos;
  };
  if (std::ranges::none_of(knobs, has_kernels)) {
    throw AgreedError("st-kernels is not available with backend " + device.module_name() +
                      ", whose streams trigger in one way only");
  }
  const char *set = std::getenv(wanted.c_str());
  if (set == nullptr || std::string_view(set) != "kernels") {
    throw AgreedError("st-kernels is st by Sluice's own kernels: start the program with " + wanted + "=kernels");
  }
  if (std::ranges::any_of(variants, [](const std::string &name) { return name == "st" || name == "st-send"; })) {
    throw AgreedError("with " + wanted + "=kernels st and st-send are by kernels, too: give them a run of their own");
  }
}

// The three nested loops. Returns what the inner loop took each time, in µs. Collective.
std::vector<double> run_loops(const World &world, Device &device, const Options &options, const Block &block,
                              const Neighbours &neighbours, Variant variant) {
  std::vector<double> times_us;
  std::uint64_t seed = 0;
  for (int outer = 0; outer < options.n_outer; ++outer) {
    Exchange exchange(device, block, neighbours, variant);  // allocates the buffers
    for (int middle = 0; middle < options.n_middle; ++middle, ++seed) {
      exchange.write_field(first_field(block, neighbours, seed));
      world.barrier();
      const StopWatch watch;
      exchange.run(options.n_inner);
      times_us.push_back(watch.elapsed_us());
      if (options.is_checked_once && middle > 0) continue;
      world.agree(check_field(block, neighbours, seed, options.n_inner, exchange.read_field()));
    }
  }
  return times_us;
}

void run(const World &world, Device &device, Report &report, const Options &options) {
  check_triggers(device, options.variants);
  const std::array<int, 3> grid = grid_of(world, options.grid);
  const Neighbours neighbours = find_neighbours(world, grid);
  Block block{options.n_points, {options.n_elements, options.n_elements, options.n_elements}, 0};
  for (unsigned direction = 0; direction < kDirections; ++direction) {
    if (neighbours.rank[direction] != MPI_PROC_NULL) block.neighbour_mask |= std::uint64_t{1} << direction;
  }
  int most_neighbours = std::popcount(block.neighbour_mask);
  check_mpi(MPI_Allreduce(MPI_IN_PLACE, &most_neighbours, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD), "MPI_Allreduce");
  report.add_parameter("neighbours", fmt::format("up to {}", most_neighbours));
  report.add_parameter("grid", fmt::format("{}x{}x{}", grid[0], grid[1], grid[2]));
  report.add_parameter("loops", fmt::format("{}x{}x{}", options.n_outer, options.n_middle, options.n_inner));
  report.add_parameter("elements", fmt::format("{} a side", options.n_elements));
  report.add_parameter("points", fmt::format("{} a side", options.n_points));
  for (const std::string &name : options.variants) {
    const Variant variant = variants_by_name.at(name);
    if (variant != Variant::plain) check_queues(name);
    if (variant == Variant::st_graph) check_graphs(device, name);
    // The first run of all allocates, connects and compiles; it is not counted.
    Options warm_up = options;
    warm_up.n_outer = 1;
    warm_up.n_middle = 1;
    run_loops(world, device, warm_up, block, neighbours, variant);
    report.add(name, 0, run_loops(world, device, options, block, neighbours, variant));
  }
}

}  // namespace
}  // namespace sluice::apps::faces

int main(int argc, char **argv) {
  using namespace sluice::apps;
  faces::Options options;
  CLI::App parser{"Faces: nearest neighbours of spectral elements, checked against a reference on the host", "faces"};
  parser
      .add_option("--variant", options.variants,
                  "plain, st-send, st, enqueue, st-graph, st-kernels; several are run one after the other")
      ->check(CLI::IsMember({"plain", "st-send", "st", "enqueue", "st-graph", "st-kernels"}))
      ->delimiter(',');
  parser.add_option("--grid", options.grid, "ranks along x, y, z; 0: MPI chooses")->delimiter('x');
  parser.add_option("--outer", options.n_outer, "runs of the outer loop")->check(CLI::Range(1, 1000000));
  parser.add_option("--middle", options.n_middle, "of the middle loop, in each")->check(CLI::Range(1, 1000000));
  parser.add_option("--inner", options.n_inner, "of the inner loop, in each")->check(CLI::Range(1, faces::kMostSteps));
  parser.add_option("--elements", options.n_elements, "elements along each side of a rank's block")
      ->check(CLI::Range(1, 1024));
  parser.add_option("--points", options.n_points, "points along each side of an element")->check(CLI::Range(2, 64));
  parser.add_flag("--check-once", options.is_checked_once, "checks the first of each middle loop only");
  return run_program(argc, argv, parser, [&](const World &world, Device &device, Report &report) {
    faces::run(world, device, report, options);
  });
}
