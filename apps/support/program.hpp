// SPDX-License-Identifier: BSD-3-Clause
// The frame of an application: its command line, MPI, its device, and what becomes of errors.
#pragma once

// GCC takes values that CLI11 has read into a pair for unset, or not, by what else it made of the file.
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif
#include <CLI/CLI.hpp>
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic pop
#endif
#include <chrono>
#include <functional>
#include <string>

#include "apps/support/device.hpp"
#include "apps/support/report.hpp"

namespace sluice::apps {

// Reads the command line into what the caller has told `parser`, with the options that all applications have (--device,
// --oversubscribe, --force, --module-path, --json), starts MPI with MPI_THREAD_MULTIPLE, opens the device and calls
// `body`, which throws AgreedError when all ranks know why it failed. Errors are one line on stderr. Returns the exit
// status: 0, 1 failed, 2 wrong command line.
int run_program(int argc, char **argv, CLI::App &parser,
                const std::function<void(const World &, Device &, Report &)> &body);

// A process grid of as many ranks as there are. wanted: its dimensions, slowest last; 0 where MPI chooses. Throws
// AgreedError when it does not hold all ranks.
template <std::size_t kDims>
std::array<int, kDims> grid_of(const World &world, std::array<int, kDims> wanted) {
  long long n_fixed = 1;
  bool is_free = false;
  for (const int side : wanted) {
    n_fixed *= side > 0 ? side : 1;
    is_free = is_free || side <= 0;
  }
  if (n_fixed == 0 || (is_free ? world.n_ranks() % n_fixed != 0 : n_fixed != world.n_ranks())) {
    throw AgreedError("--grid: its product is not the number of ranks, " + std::to_string(world.n_ranks()));
  }
  check_mpi(MPI_Dims_create(world.n_ranks(), static_cast<int>(kDims), wanted.data()), "MPI_Dims_create");
  return wanted;
}

class StopWatch {
 public:
  double elapsed_us() const {
    return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - start_).count();
  }

 private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

}  // namespace sluice::apps
