// SPDX-License-Identifier: BSD-3-Clause
// The eight ways to complete requests.
#include "tests/ranks/p2p/completers.hpp"

#include <thread>

namespace sluice::tests {
namespace {

using Requests = std::vector<MPI_Request>;
using Statuses = std::vector<MPI_Status>;

// Notes only failures: how often a function is called before all is done differs from run to run.
void require(Trial &run, const char *name, int code) {
  if (code != MPI_SUCCESS) {
    run.call(name, code);
  }
}

// Ranks and threads outnumber the cores here; none of them may use up its time with asking.
void let_others_run(bool has_nothing) {
  if (has_nothing) {
    std::this_thread::yield();
  }
}

int size_of(const Requests &requests) {
  return static_cast<int>(requests.size());
}

// Where a function may write the statuses of `requests`: there, or into the ignore constant.
MPI_Status *array_of(Statuses *statuses) {
  return statuses != nullptr ? statuses->data() : MPI_STATUSES_IGNORE;
}

void keep(Statuses *statuses, int index, const MPI_Status &status) {
  if (statuses != nullptr) {
    (*statuses)[static_cast<std::size_t>(index)] = status;
  }
}

bool is_given(const MPI_Request &request) {
  return request != MPI_REQUEST_NULL;
}

void use_wait(Trial &run, Requests &requests, Statuses *statuses) {
  for (std::size_t i = 0; i < requests.size(); ++i) {
    if (is_given(requests[i])) {
      require(run, "MPI_Wait", MPI_Wait(&requests[i], statuses != nullptr ? &(*statuses)[i] : MPI_STATUS_IGNORE));
    }
  }
}

void use_waitany(Trial &run, Requests &requests, Statuses *statuses) {
  for (int index = 0; index != MPI_UNDEFINED;) {
    MPI_Status status;
    require(run, "MPI_Waitany",
            MPI_Waitany(size_of(requests), requests.data(), &index, statuses != nullptr ? &status : MPI_STATUS_IGNORE));
    if (index != MPI_UNDEFINED) {
      keep(statuses, index, status);
    }
  }
}

// The some-functions put the status of the i-th index first.
void keep_some(Statuses *statuses, int n_done, const std::vector<int> &indices, const Statuses &some) {
  for (int i = 0; i < n_done; ++i) {
    keep(statuses, indices[static_cast<std::size_t>(i)], some[static_cast<std::size_t>(i)]);
  }
}

void use_waitsome(Trial &run, Requests &requests, Statuses *statuses) {
  std::vector<int> indices(requests.size());
  Statuses some(requests.size());
  for (int n_done = 0; n_done != MPI_UNDEFINED;) {
    require(run, "MPI_Waitsome",
            MPI_Waitsome(size_of(requests), requests.data(), &n_done, indices.data(),
                         statuses != nullptr ? some.data() : MPI_STATUSES_IGNORE));
    if (n_done != MPI_UNDEFINED) {
      keep_some(statuses, n_done, indices, some);
    }
  }
}

void use_waitall(Trial &run, Requests &requests, Statuses *statuses) {
  require(run, "MPI_Waitall", MPI_Waitall(size_of(requests), requests.data(), array_of(statuses)));
}

void use_test(Trial &run, Requests &requests, Statuses *statuses) {
  for (std::size_t i = 0; i < requests.size(); ++i) {
    int is_done = is_given(requests[i]) ? 0 : 1;
    while (is_done == 0) {
      require(run, "MPI_Test",
              MPI_Test(&requests[i], &is_done, statuses != nullptr ? &(*statuses)[i] : MPI_STATUS_IGNORE));
      let_others_run(is_done == 0);
    }
  }
}

void use_testany(Trial &run, Requests &requests, Statuses *statuses) {
  for (;;) {
    MPI_Status status;
    int index = 0;
    int is_done = 0;
    require(run, "MPI_Testany",
            MPI_Testany(size_of(requests), requests.data(), &index, &is_done,
                        statuses != nullptr ? &status : MPI_STATUS_IGNORE));
    if (is_done != 0 && index == MPI_UNDEFINED) {
      return;
    }
    if (is_done != 0) {
      keep(statuses, index, status);
    }
    let_others_run(is_done == 0);
  }
}

void use_testsome(Trial &run, Requests &requests, Statuses *statuses) {
  std::vector<int> indices(requests.size());
  Statuses some(requests.size());
  for (int n_done = 0; n_done != MPI_UNDEFINED;) {
    require(run, "MPI_Testsome",
            MPI_Testsome(size_of(requests), requests.data(), &n_done, indices.data(),
                         statuses != nullptr ? some.data() : MPI_STATUSES_IGNORE));
    let_others_run(n_done == 0);
    if (n_done != MPI_UNDEFINED) {
      keep_some(statuses, n_done, indices, some);
    }
  }
}

void use_testall(Trial &run, Requests &requests, Statuses *statuses) {
  for (int are_done = 0; are_done == 0;) {
    require(run, "MPI_Testall", MPI_Testall(size_of(requests), requests.data(), &are_done, array_of(statuses)));
    let_others_run(are_done == 0);
  }
}

}  // namespace

const std::vector<Completer> &completers() {
  static const std::vector<Completer> all = {
      {"MPI_Wait", use_wait},         {"MPI_Waitany", use_waitany}, {"MPI_Waitsome", use_waitsome},
      {"MPI_Waitall", use_waitall},   {"MPI_Test", use_test},       {"MPI_Testany", use_testany},
      {"MPI_Testsome", use_testsome}, {"MPI_Testall", use_testall},
  };
  return all;
}

}  // namespace sluice::tests
