// SPDX-License-Identifier: BSD-3-Clause
// The ways to complete an array of requests: each of MPI's eight functions, used until nothing is active any more.
#pragma once

#include <mpi.h>

#include <vector>

#include "tests/support/oracle.hpp"

namespace sluice::tests {

struct Completer {
  const char *name;
  // Completes all requests; statuses[i] is that of requests[i], unless `statuses` is null: then the ignore constants
  // are passed. Null and inactive requests may be among them and leave statuses[i] alone.
  void (*complete)(Trial &run, std::vector<MPI_Request> &requests, std::vector<MPI_Status> *statuses);
};

// Wait, Waitany, Waitsome, Waitall, Test, Testany, Testsome, Testall.
const std::vector<Completer> &completers();

}  // namespace sluice::tests
