// SPDX-License-Identifier: BSD-3-Clause
#include "ops/io/ordered.hpp"

#include <optional>

#include "ops/io/file_facts.hpp"
#include "ops/io/shared_pointer.hpp"
#include "ops/request/turns.hpp"
#include "wire/host.hpp"

namespace sluice::ops::io {
namespace {

constexpr long long kNowhere = -(1LL << 62);  // less than all data behind it makes up for

// In etypes of the view.
struct Places {
  long long own = kNowhere;  // of this rank's data
  long long end = kNowhere;  // behind that of all ranks
};

// What this rank moves. Returns the host MPI's error code, raised already.
int find_etypes(const Call &call, const JointCall &joint, long long *n_etypes) {
  if (!joint.has_data(call)) return MPI_SUCCESS;
  FileFacts facts;
  if (int code = find_facts(call.file, &facts); code != MPI_SUCCESS) return code;
  MPI_Count element_bytes = 0;
  if (int code = wire::host().MPI_Type_size_x(call.type, &element_bytes); code != MPI_SUCCESS) return code;
  *n_etypes = element_bytes * call.count / static_cast<MPI_Count>(facts.etype_bytes);
  return MPI_SUCCESS;
}

int complete_in_turns(int code, MPI_Request *request) {
  return code == MPI_SUCCESS ? wait_in_turns(request, MPI_STATUS_IGNORE) : code;
}

// `begin`: rank 0's number, of the place of the shared pointer. Returns the host MPI's error code.
int find_places(MPI_Comm comm, long long begin, long long n_etypes, Places *places) {
  const wire::Host &host = wire::host();
  int rank = 0;
  int size = 1;
  int code = host.MPI_Comm_rank(comm, &rank);
  if (code == MPI_SUCCESS) code = host.MPI_Comm_size(comm, &size);
  if (code != MPI_SUCCESS) return code;
  const long long own = rank == 0 ? begin + n_etypes : n_etypes;
  long long up_to_own = 0;
  MPI_Request request = MPI_REQUEST_NULL;
  code = complete_in_turns(host.MPI_Iscan(&own, &up_to_own, 1, MPI_LONG_LONG_INT, MPI_SUM, comm, &request), &request);
  if (code != MPI_SUCCESS) return code;
  long long end = up_to_own;
  code = complete_in_turns(host.MPI_Ibcast(&end, 1, MPI_LONG_LONG_INT, size - 1, comm, &request), &request);
  *places = {up_to_own - n_etypes, end};
  return code;
}

}  // namespace

void run_ordered(const Call &call, JointCall *joint) {
  Outcome &outcome = joint->outcome;
  const MPI_Comm comm = joint->state->comm.get();
  int rank = 0;
  if (comm != MPI_COMM_NULL) outcome.note(wire::host().MPI_Comm_rank(comm, &rank));
  // Of one rank for all, which are here: nobody else moves the pointer until it stands behind the call.
  std::optional<SharedTurn> turn;
  MPI_Offset begin = kNowhere;
  if (rank == 0) {
    turn.emplace(joint->state->shared);
    outcome.note(turn->status());
    const int code =
        turn->status().is_ok() ? wire::host().MPI_File_get_position_shared(call.file, &begin) : MPI_SUCCESS;
    outcome.note(code);
    if (code != MPI_SUCCESS) begin = kNowhere;
  }
  long long n_etypes = 0;
  outcome.note(find_etypes(call, *joint, &n_etypes));
  Places places{begin, begin + n_etypes};
  if (comm != MPI_COMM_NULL) {
    const int code = find_places(comm, begin, n_etypes, &places);
    if (code != MPI_SUCCESS) return outcome.note(agreement_error(code));
  }
  if (places.own < 0 || places.end < places.own) {
    return outcome.note(Status::error(ErrorKind::kBadPeer,
                                      "the first rank of a file could not say where the shared pointer is, so that no "
                                      "rank reads or writes in an ordered call; see the error of that rank"));
  }
  Call placed = call;
  placed.is_at_offset = true;
  placed.offset = places.own;
  run_blocks(placed, joint->blocks.get(), joint->n_rounds(), true, &outcome);
  outcome.note(wire::host().MPI_File_seek_shared(call.file, places.end, MPI_SEEK_SET));
}

}  // namespace sluice::ops::io
