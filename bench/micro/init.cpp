// SPDX-License-Identifier: BSD-3-Clause
// init: what MPI_Init took, one sample a rank, as osu_init. Min and Max are the fastest and the slowest rank.
#include <utility>

#include "bench/catalogue.hpp"
#include "bench/measure/statistics.hpp"
#include "bench/session.hpp"

namespace sluice::bench {
namespace {

void run_init(Session &session) {
  const Options &options = session.options();
  if (options.repeat > 1) {
    session.add_note("MPI starts once in a process: one block, whatever --repeat and --time-cap say");
  }
  session.begin({{"init"}, {}});
  const World &world = session.world();
  std::vector<double> times(static_cast<std::size_t>(world.n_ranks()));
  const double mine = world.init_us();
  check_mpi(MPI_Gather(&mine, 1, MPI_DOUBLE, times.data(), 1, MPI_DOUBLE, 0, MPI_COMM_WORLD), "MPI_Gather");
  Row row;
  row.series = {{"init", {summarise(std::move(times), options.percentiles)}}};
  session.add(std::move(row));
}

const Registration init_test({.name = "init",
                              .title = "time of MPI_Init, one sample a rank",
                              .family = Family::micro,
                              .metric = Metric::init_us,
                              .min_ranks = 1,
                              .max_ranks = 0,
                              .has_sizes = false,
                              .has_placement = false,
                              .run = run_init});

}  // namespace
}  // namespace sluice::bench
