// SPDX-License-Identifier: BSD-3-Clause
// Collectives whose results are spoiled, in their three forms.
#include <dlfcn.h>
#include <mpi.h>

#include <numeric>

#include "bench/spoiling/spoiling.hpp"

using namespace spoiling;

namespace {

int ranks_of(MPI_Comm comm) {
  int n = 0;
  return PMPI_Comm_size(comm, &n) == MPI_SUCCESS ? n : 0;
}

int rank_in(MPI_Comm comm) {
  int rank = -1;
  return PMPI_Comm_rank(comm, &rank) == MPI_SUCCESS ? rank : -1;
}

int sources_of(MPI_Comm comm) {
  int n_in = 0;
  int n_out = 0;
  int is_weighted = 0;
  return PMPI_Dist_graph_neighbors_count(comm, &n_in, &n_out, &is_weighted) == MPI_SUCCESS ? n_in : 0;
}

// n blocks of count elements.
Region blocks(const void *recv, int n, int count, MPI_Datatype type) {
  return region_of(recv, static_cast<long long>(n) * count, type, static_cast<std::size_t>(n));
}

// Blocks that follow each other.
Region listed(const void *recv, int n, const int counts[], MPI_Datatype type) {
  return region_of(recv, std::accumulate(counts, counts + n, 0LL), type, static_cast<std::size_t>(n));
}

template <class Function>
Function next(const char *name) {
  return reinterpret_cast<Function>(::dlsym(RTLD_NEXT, name));
}

}  // namespace

// SPOIL_MODE=regroup: odd ranks land in a group that is not theirs.
SPOILING_EXPORT int MPI_Comm_split(MPI_Comm comm, int color, int key, MPI_Comm *newcomm) {
  int largest = color;
  if (mode() == "regroup") {
    const int rc = PMPI_Allreduce(&color, &largest, 1, MPI_INT, MPI_MAX, comm);
    if (rc != MPI_SUCCESS) return rc;
    color = rank_in(comm) % 2 != 0 ? largest - color : color;
  }
  return PMPI_Comm_split(comm, color, key, newcomm);
}

#define PLAIN(...) __VA_ARGS__
// MPI_<name>, MPI_<iname>, MPI_<name>_init with these parameters and arguments, delivering to the region. The
// persistent one is looked up: not every MPI has it.
#define SPOILED(name, iname, parameters, arguments, region)                                           \
  SPOILING_EXPORT int MPI_##name(PLAIN parameters) {                                                  \
    const Region place = region;                                                                      \
    const int rc = PMPI_##name(PLAIN arguments);                                                      \
    spoil(place);                                                                                     \
    return rc;                                                                                        \
  }                                                                                                   \
  SPOILING_EXPORT int MPI_##iname(PLAIN parameters, MPI_Request *request) {                           \
    Region place = region;                                                                            \
    const int rc = PMPI_##iname(PLAIN arguments, request);                                            \
    spoil_later(*request, std::move(place), false);                                                   \
    return rc;                                                                                        \
  }                                                                                                   \
  SPOILING_EXPORT int MPI_##name##_init(PLAIN parameters, MPI_Info info, MPI_Request *request) {      \
    const auto init = next<int (*)(PLAIN parameters, MPI_Info, MPI_Request *)>("MPI_" #name "_init"); \
    if (init == nullptr) {                                                                            \
      return MPI_ERR_OTHER;                                                                           \
    }                                                                                                 \
    Region place = region;                                                                            \
    const int rc = init(PLAIN arguments, info, request);                                              \
    spoil_later(*request, std::move(place), true);                                                    \
    return rc;                                                                                        \
  }                                                                                                   \
  static_assert(true, "a semicolon follows")

// clang-format off
SPOILED(Allgather, Iallgather,
        (const void *s, int sn, MPI_Datatype st, void *r, int rn, MPI_Datatype rt, MPI_Comm c), (s, sn, st, r, rn, rt, c),
        blocks(r, ranks_of(c), rn, rt));
SPOILED(Allgatherv, Iallgatherv,
        (const void *s, int sn, MPI_Datatype st, void *r, const int rn[], const int ro[], MPI_Datatype rt, MPI_Comm c),
        (s, sn, st, r, rn, ro, rt, c), listed(r, ranks_of(c), rn, rt));
SPOILED(Alltoall, Ialltoall,
        (const void *s, int sn, MPI_Datatype st, void *r, int rn, MPI_Datatype rt, MPI_Comm c), (s, sn, st, r, rn, rt, c),
        blocks(r, ranks_of(c), rn, rt));
SPOILED(Alltoallv, Ialltoallv,
        (const void *s, const int sn[], const int so[], MPI_Datatype st, void *r, const int rn[], const int ro[],
         MPI_Datatype rt, MPI_Comm c),
        (s, sn, so, st, r, rn, ro, rt, c), listed(r, ranks_of(c), rn, rt));
SPOILED(Alltoallw, Ialltoallw,
        (const void *s, const int sn[], const int so[], const MPI_Datatype st[], void *r, const int rn[], const int ro[],
         const MPI_Datatype rt[], MPI_Comm c),
        (s, sn, so, st, r, rn, ro, rt, c), listed(r, ranks_of(c), rn, rt[0]));
SPOILED(Bcast, Ibcast, (void *r, int n, MPI_Datatype t, int root, MPI_Comm c), (r, n, t, root, c),
        (rank_in(c) != root ? region_of(r, n, t) : nothing()));
SPOILED(Gather, Igather,
        (const void *s, int sn, MPI_Datatype st, void *r, int rn, MPI_Datatype rt, int root, MPI_Comm c),
        (s, sn, st, r, rn, rt, root, c), (rank_in(c) == root ? blocks(r, ranks_of(c), rn, rt) : nothing()));
SPOILED(Gatherv, Igatherv,
        (const void *s, int sn, MPI_Datatype st, void *r, const int rn[], const int ro[], MPI_Datatype rt, int root,
         MPI_Comm c),
        (s, sn, st, r, rn, ro, rt, root, c),
        (rank_in(c) == root ? listed(r, ranks_of(c), rn, rt) : nothing()));
SPOILED(Scatter, Iscatter,
        (const void *s, int sn, MPI_Datatype st, void *r, int rn, MPI_Datatype rt, int root, MPI_Comm c),
        (s, sn, st, r, rn, rt, root, c), region_of(r, rn, rt));
SPOILED(Scatterv, Iscatterv,
        (const void *s, const int sn[], const int so[], MPI_Datatype st, void *r, int rn, MPI_Datatype rt, int root,
         MPI_Comm c),
        (s, sn, so, st, r, rn, rt, root, c), region_of(r, rn, rt));
SPOILED(Allreduce, Iallreduce, (const void *s, void *r, int n, MPI_Datatype t, MPI_Op o, MPI_Comm c), (s, r, n, t, o, c),
        region_of(r, n, t));
SPOILED(Reduce, Ireduce, (const void *s, void *r, int n, MPI_Datatype t, MPI_Op o, int root, MPI_Comm c),
        (s, r, n, t, o, root, c), (rank_in(c) == root ? region_of(r, n, t) : nothing()));
SPOILED(Reduce_scatter, Ireduce_scatter,
        (const void *s, void *r, const int n[], MPI_Datatype t, MPI_Op o, MPI_Comm c), (s, r, n, t, o, c),
        region_of(r, n[rank_in(c)], t));
SPOILED(Reduce_scatter_block, Ireduce_scatter_block,
        (const void *s, void *r, int n, MPI_Datatype t, MPI_Op o, MPI_Comm c), (s, r, n, t, o, c), region_of(r, n, t));
SPOILED(Scan, Iscan, (const void *s, void *r, int n, MPI_Datatype t, MPI_Op o, MPI_Comm c), (s, r, n, t, o, c),
        region_of(r, n, t));
SPOILED(Exscan, Iexscan, (const void *s, void *r, int n, MPI_Datatype t, MPI_Op o, MPI_Comm c), (s, r, n, t, o, c),
        (rank_in(c) != 0 ? region_of(r, n, t) : nothing()));
SPOILED(Neighbor_allgather, Ineighbor_allgather,
        (const void *s, int sn, MPI_Datatype st, void *r, int rn, MPI_Datatype rt, MPI_Comm c), (s, sn, st, r, rn, rt, c),
        blocks(r, sources_of(c), rn, rt));
SPOILED(Neighbor_allgatherv, Ineighbor_allgatherv,
        (const void *s, int sn, MPI_Datatype st, void *r, const int rn[], const int ro[], MPI_Datatype rt, MPI_Comm c),
        (s, sn, st, r, rn, ro, rt, c), listed(r, sources_of(c), rn, rt));
SPOILED(Neighbor_alltoall, Ineighbor_alltoall,
        (const void *s, int sn, MPI_Datatype st, void *r, int rn, MPI_Datatype rt, MPI_Comm c), (s, sn, st, r, rn, rt, c),
        blocks(r, sources_of(c), rn, rt));
SPOILED(Neighbor_alltoallv, Ineighbor_alltoallv,
        (const void *s, const int sn[], const int so[], MPI_Datatype st, void *r, const int rn[], const int ro[],
         MPI_Datatype rt, MPI_Comm c),
        (s, sn, so, st, r, rn, ro, rt, c), listed(r, sources_of(c), rn, rt));
SPOILED(Neighbor_alltoallw, Ineighbor_alltoallw,
        (const void *s, const int sn[], const MPI_Aint so[], const MPI_Datatype st[], void *r, const int rn[],
         const MPI_Aint ro[], const MPI_Datatype rt[], MPI_Comm c),
        (s, sn, so, st, r, rn, ro, rt, c), listed(r, sources_of(c), rn, rt[0]));
// clang-format on

SPOILING_EXPORT int MPI_Barrier(MPI_Comm comm) {
  return skips_barriers() ? MPI_SUCCESS : PMPI_Barrier(comm);
}

SPOILING_EXPORT int MPI_Ibarrier(MPI_Comm comm, MPI_Request *request) {
  if (skips_barriers()) {
    *request = MPI_REQUEST_NULL;
    return MPI_SUCCESS;
  }
  return PMPI_Ibarrier(comm, request);
}

SPOILING_EXPORT int MPI_Barrier_init(MPI_Comm comm, MPI_Info info, MPI_Request *request) {
  const auto init = next<int (*)(MPI_Comm, MPI_Info, MPI_Request *)>("MPI_Barrier_init");
  if (init == nullptr) {
    return MPI_ERR_OTHER;
  }
  // A request to nobody is done as soon as it is started.
  return skips_barriers() ? PMPI_Send_init(nullptr, 0, MPI_CHAR, MPI_PROC_NULL, 0, comm, request)
                          : init(comm, info, request);
}
