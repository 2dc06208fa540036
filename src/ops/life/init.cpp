// SPDX-License-Identifier: BSD-3-Clause
// MPI_Init, MPI_Init_thread, MPI_Finalize, MPI_Session_init, MPI_Session_finalize.
#include <mutex>

#include "generated/operations.hpp"
#include "ops/life/life.hpp"
#include "wire/host.hpp"
#include "wire/marks.hpp"

namespace sluice::ops {
namespace {

// The world counts as one, each session as one: the last to go ends Sluice, as it ends the host MPI.
// One thread may end the last session while another starts one.
std::mutex entering;
int n_users = 0;

void enter(int result, bool has_world) {
  if (result != MPI_SUCCESS) return;
  const std::scoped_lock lock(entering);
  ++n_users;
  begin(has_world);
}

void leave() {
  const std::scoped_lock lock(entering);
  if (--n_users == 0) end();
}

}  // namespace

int init(int *argc, char ***argv) {
  prepare();
  wire::Marks::process().leave();
  int provided = 0;
  const int result = wants_all_threads() ? wire::host().MPI_Init_thread(argc, argv, MPI_THREAD_MULTIPLE, &provided)
                                         : wire::host().MPI_Init(argc, argv);
  enter(result, true);
  return result;
}

int init_thread(int *argc, char ***argv, int required, int *provided) {
  prepare();
  wire::Marks::process().leave();
  const int needed = wants_all_threads() ? MPI_THREAD_MULTIPLE : required;
  const int result = wire::host().MPI_Init_thread(argc, argv, needed, provided);
  enter(result, true);
  return result;
}

int finalize() {
  leave();
  return wire::host().MPI_Finalize();
}

int session_init(MPI_Info info, MPI_Errhandler errhandler, MPI_Session *session) {
  prepare();
  const int result = wire::host().MPI_Session_init(info, errhandler, session);
  enter(result, false);
  return result;
}

int session_finalize(MPI_Session *session) {
  leave();
  return wire::host().MPI_Session_finalize(session);
}

}  // namespace sluice::ops
