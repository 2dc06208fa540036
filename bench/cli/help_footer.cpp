// SPDX-License-Identifier: BSD-3-Clause
// What --help says behind the options.
#include "bench/cli/help_footer.hpp"

namespace sluice::bench {

const char *help_footer() {
  return "sluice-bench compare A B          two results, size by size; exit status 1 when B is worse\n"
         "sluice-bench report RUN...        a page of results: who is faster where\n"
         "sluice-bench paper NAME --figure N   a paper's experiment, its numbers beside ours\n"
         "\n"
         "To see that the checks see wrong data, have a library spoil what MPI delivers; the run must fail:\n"
         "  mpiexec -n 2 env LD_PRELOAD=PREFIX/libexec/sluice-bench/lib/spoiling_mpi_FLAVOUR.so SPOIL_MODE=flip \\\n"
         "    sluice-bench.FLAVOUR latency    (faults: flip, tail, lost, element, outside, ...: docs/comparing.md)";
}

}  // namespace sluice::bench
