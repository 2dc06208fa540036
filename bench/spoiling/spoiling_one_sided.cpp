// SPDX-License-Identifier: BSD-3-Clause
// One-sided accesses that are spoiled: what is brought, when the synchronisation that ends it returns; what is taken to
// the target, before it leaves. The benchmark itself says nothing by them, so that every size is spoiled.
#include <mpi.h>

#include <algorithm>
#include <list>
#include <utility>
#include <vector>

#include "bench/spoiling/spoiling.hpp"

using namespace spoiling;

namespace {

// Brought by accesses whose synchronisation is still to come.
std::vector<Region> brought;
// Spoiled copies that are under way; kept to the end of the run, which is short.
std::list<std::vector<unsigned char>> taken;

std::size_t bytes_of(int count, MPI_Datatype type) {
  int type_bytes = 0;
  return PMPI_Type_size(type, &type_bytes) == MPI_SUCCESS
             ? static_cast<std::size_t>(count) * static_cast<std::size_t>(type_bytes)
             : 0;
}

Region brought_by(void *buffer, int count, MPI_Datatype type) {
  auto *const bytes = static_cast<unsigned char *>(buffer);
  const std::size_t n = bytes_of(count, type);
  return {bytes, n, 1, {bytes, bytes + n}, float_bytes_of(type)};
}

void spoil_when_done(void *buffer, int count, MPI_Datatype type) {
  brought.push_back(brought_by(buffer, count, type));
}

// The spoiled copy of what is to be taken.
const void *spoiled(const void *buffer, int count, MPI_Datatype type) {
  const auto *const bytes = static_cast<const unsigned char *>(buffer);
  const std::size_t n = bytes_of(count, type);
  std::vector<unsigned char> &copy = taken.emplace_back(bytes, bytes + n);
  copy.push_back(0);
  spoil({copy.data(), n, 1, {bytes, bytes + n}, float_bytes_of(type)});
  return copy.data();
}

void synchronise() {
  std::for_each(brought.begin(), brought.end(), spoil);
  brought.clear();
}

// A byte behind what was taken.
int put_outside(int target, MPI_Aint place, MPI_Win win) {
  static const unsigned char byte = 0;
  return PMPI_Put(&byte, 1, MPI_BYTE, target, place, 1, MPI_BYTE, win);
}

}  // namespace

// clang-format off
SPOILING_EXPORT int MPI_Put(const void *o, int on, MPI_Datatype otype, int rank, MPI_Aint at, int tn, MPI_Datatype tt,
                            MPI_Win win) {
  if (mode() == "lost") return MPI_SUCCESS;
  if (mode() == "outside") {
    const int rc = put_outside(rank, at + static_cast<MPI_Aint>(bytes_of(tn, tt)), win);
    return rc != MPI_SUCCESS ? rc : PMPI_Put(o, on, otype, rank, at, tn, tt, win);
  }
  return PMPI_Put(spoiled(o, on, otype), on, otype, rank, at, tn, tt, win);
}

SPOILING_EXPORT int MPI_Accumulate(const void *o, int on, MPI_Datatype otype, int rank, MPI_Aint at, int tn,
                                   MPI_Datatype tt, MPI_Op op, MPI_Win win) {
  if (mode() == "lost") return MPI_SUCCESS;
  if (mode() == "outside") {
    const int rc = put_outside(rank, at + static_cast<MPI_Aint>(bytes_of(tn, tt)), win);
    return rc != MPI_SUCCESS ? rc : PMPI_Accumulate(o, on, otype, rank, at, tn, tt, op, win);
  }
  return PMPI_Accumulate(spoiled(o, on, otype), on, otype, rank, at, tn, tt, op, win);
}

SPOILING_EXPORT int MPI_Get(void *o, int on, MPI_Datatype otype, int rank, MPI_Aint at, int tn, MPI_Datatype tt,
                            MPI_Win win) {
  spoil_when_done(o, on, otype);
  return PMPI_Get(o, on, otype, rank, at, tn, tt, win);
}

SPOILING_EXPORT int MPI_Get_accumulate(const void *o, int on, MPI_Datatype otype, void *r, int rn, MPI_Datatype rt,
                                       int rank, MPI_Aint at, int tn, MPI_Datatype tt, MPI_Op op, MPI_Win win) {
  spoil_when_done(r, rn, rt);
  return PMPI_Get_accumulate(o, on, otype, r, rn, rt, rank, at, tn, tt, op, win);
}

// The same with requests: what is brought is spoiled when its request is done.
SPOILING_EXPORT int MPI_Rput(const void *o, int on, MPI_Datatype otype, int rank, MPI_Aint at, int tn, MPI_Datatype tt,
                             MPI_Win win, MPI_Request *request) {
  *request = MPI_REQUEST_NULL;
  if (mode() == "lost") return MPI_SUCCESS;
  if (mode() == "outside") {
    const int rc = put_outside(rank, at + static_cast<MPI_Aint>(bytes_of(tn, tt)), win);
    return rc != MPI_SUCCESS ? rc : PMPI_Rput(o, on, otype, rank, at, tn, tt, win, request);
  }
  return PMPI_Rput(spoiled(o, on, otype), on, otype, rank, at, tn, tt, win, request);
}

SPOILING_EXPORT int MPI_Raccumulate(const void *o, int on, MPI_Datatype otype, int rank, MPI_Aint at, int tn,
                                    MPI_Datatype tt, MPI_Op op, MPI_Win win, MPI_Request *request) {
  *request = MPI_REQUEST_NULL;
  if (mode() == "lost") return MPI_SUCCESS;
  if (mode() == "outside") {
    const int rc = put_outside(rank, at + static_cast<MPI_Aint>(bytes_of(tn, tt)), win);
    return rc != MPI_SUCCESS ? rc : PMPI_Raccumulate(o, on, otype, rank, at, tn, tt, op, win, request);
  }
  return PMPI_Raccumulate(spoiled(o, on, otype), on, otype, rank, at, tn, tt, op, win, request);
}

SPOILING_EXPORT int MPI_Rget(void *o, int on, MPI_Datatype otype, int rank, MPI_Aint at, int tn, MPI_Datatype tt,
                             MPI_Win win, MPI_Request *request) {
  Region region = brought_by(o, on, otype);
  const int rc = PMPI_Rget(o, on, otype, rank, at, tn, tt, win, request);
  spoil_later(*request, std::move(region), false);
  return rc;
}

SPOILING_EXPORT int MPI_Rget_accumulate(const void *o, int on, MPI_Datatype otype, void *r, int rn, MPI_Datatype rt,
                                        int rank, MPI_Aint at, int tn, MPI_Datatype tt, MPI_Op op, MPI_Win win,
                                        MPI_Request *request) {
  Region region = brought_by(r, rn, rt);
  const int rc = PMPI_Rget_accumulate(o, on, otype, r, rn, rt, rank, at, tn, tt, op, win, request);
  spoil_later(*request, std::move(region), false);
  return rc;
}

SPOILING_EXPORT int MPI_Fetch_and_op(const void *o, void *r, MPI_Datatype type, int rank, MPI_Aint at, MPI_Op op,
                                     MPI_Win win) {
  spoil_when_done(r, 1, type);
  return PMPI_Fetch_and_op(o, r, type, rank, at, op, win);
}

SPOILING_EXPORT int MPI_Compare_and_swap(const void *o, const void *c, void *r, MPI_Datatype type, int rank,
                                         MPI_Aint at, MPI_Win win) {
  spoil_when_done(r, 1, type);
  return PMPI_Compare_and_swap(o, c, r, type, rank, at, win);
}

#define SYNCHRONISED(name, parameters, arguments) \
  SPOILING_EXPORT int MPI_##name parameters {     \
    const int rc = PMPI_##name arguments;         \
    synchronise();                                \
    return rc;                                    \
  }                                               \
  static_assert(true, "a semicolon follows")

SYNCHRONISED(Win_unlock, (int rank, MPI_Win win), (rank, win));
SYNCHRONISED(Win_unlock_all, (MPI_Win win), (win));
SYNCHRONISED(Win_flush, (int rank, MPI_Win win), (rank, win));
SYNCHRONISED(Win_flush_local, (int rank, MPI_Win win), (rank, win));
SYNCHRONISED(Win_flush_all, (MPI_Win win), (win));
SYNCHRONISED(Win_flush_local_all, (MPI_Win win), (win));
SYNCHRONISED(Win_fence, (int assertion, MPI_Win win), (assertion, win));
SYNCHRONISED(Win_complete, (MPI_Win win), (win));
// clang-format on
