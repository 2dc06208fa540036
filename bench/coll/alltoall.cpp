// SPDX-License-Identifier: BSD-3-Clause
// alltoall, alltoallv, alltoallw: every rank has a block of its own for every rank; the last two also uneven ones.
#include <algorithm>

#include "bench/coll/layouts.hpp"
#include "bench/peers/uneven_blocks.hpp"

namespace sluice::bench {
namespace {

Layout each_to_each(const Circle &circle, std::uint64_t n) {
  return {block_for_each(circle, n, ranks_of(circle)),
          block_from_each(circle, n, static_cast<std::uint64_t>(circle.rank))};
}

constexpr std::uint64_t quarters_for_eight(int rank) {
  std::uint64_t sum = 0;
  for (int peer = 0; peer < 8; ++peer) sum += peers::uneven_quarters(rank, peer);
  return sum;
}
static_assert(quarters_for_eight(0) == 8 * peers::kPartsOfSize && quarters_for_eight(5) == 8 * peers::kPartsOfSize);
static_assert(peers::uneven_quarters(0, 0) == 0 && peers::uneven_quarters(1, 2) == 0);
static_assert(peers::uneven_block(6, 1, 0) == 10 && peers::uneven_block(1, 0, 1) == 0);

// Blocks of a rank one after the other; length(i): of the one for, or from, rank i.
template <class Length>
void put_lengths(std::vector<Block> &blocks, Length length) {
  std::uint64_t begin = 0;
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    blocks[i].begin = begin;
    blocks[i].n = length(static_cast<int>(i));
    begin += blocks[i].n;
  }
}

Layout each_to_each_by_counts(const Circle &circle, std::uint64_t n) {
  Layout layout = each_to_each(circle, n);
  if (circle.has_uneven_blocks) {
    put_lengths(layout.send, [&](int peer) { return peers::uneven_block(n, circle.rank, peer); });
    put_lengths(layout.recv, [&](int peer) { return peers::uneven_block(n, peer, circle.rank); });
  }
  return layout;
}

// The most of any rank, in sizes; quarters_of(rank, peer): what counts of that pair.
template <class Quarters>
double most_of_ranks(const Circle &circle, Quarters quarters_of) {
  std::uint64_t most = 0;
  for (int rank = 0; rank < circle.n_ranks; ++rank) {
    std::uint64_t quarters = 0;
    for (int peer = 0; peer < circle.n_ranks; ++peer) quarters += quarters_of(rank, peer);
    most = std::max(most, quarters);
  }
  return static_cast<double>(most) / static_cast<double>(peers::kPartsOfSize);
}

double sizes_by_counts(const Circle &circle) {
  return circle.has_uneven_blocks ? most_of_ranks(circle, peers::uneven_quarters) : size_for_each_rank(circle);
}

// What crosses the busiest link of a rank in one direction, over the above.
double link_by_counts(const Circle &circle) {
  if (!circle.has_uneven_blocks) return all_but_own(circle);
  const double out =
      most_of_ranks(circle, [](int rank, int peer) { return rank == peer ? 0 : peers::uneven_quarters(rank, peer); });
  const double in =
      most_of_ranks(circle, [](int rank, int peer) { return rank == peer ? 0 : peers::uneven_quarters(peer, rank); });
  return std::max(out, in) / sizes_by_counts(circle);
}

const CollectiveRegistration alltoall({
    .name = "alltoall",
    .title = "every rank sends a block of its own to every rank",
    .layout = each_to_each,
    .forms = make_forms<MPI_Alltoall, MPI_Ialltoall>("MPI_Alltoall_init",
                                                     [](const Call &c) {
                                                       return std::make_tuple(c.send, c.count, c.type, c.recv, c.count,
                                                                              c.type, c.comm);
                                                     }),
    .moved_sizes = size_for_each_rank,
    .bus_factor = all_but_own,
});
const CollectiveRegistration alltoallv({
    .name = "alltoallv",
    .title = "alltoall with counts and displacements",
    .has_block_layouts = true,
    .layout = each_to_each_by_counts,
    .forms = make_forms<MPI_Alltoallv, MPI_Ialltoallv>("MPI_Alltoallv_init",
                                                       [](const Call &c) {
                                                         return std::make_tuple(c.send, c.send_counts.data(),
                                                                                c.send_offsets.data(), c.type, c.recv,
                                                                                c.recv_counts.data(),
                                                                                c.recv_offsets.data(), c.type, c.comm);
                                                       }),
    .moved_sizes = sizes_by_counts,
    .bus_factor = link_by_counts,
});
const CollectiveRegistration alltoallw({
    .name = "alltoallw",
    .title = "alltoall with a datatype for each block",
    .has_block_layouts = true,
    .layout = each_to_each_by_counts,
    .forms = make_forms<MPI_Alltoallw, MPI_Ialltoallw>("MPI_Alltoallw_init",
                                                       [](const Call &c) {
                                                         return std::make_tuple(
                                                             c.send, c.send_counts.data(), c.send_byte_offsets.data(),
                                                             c.send_types.data(), c.recv, c.recv_counts.data(),
                                                             c.recv_byte_offsets.data(), c.recv_types.data(), c.comm);
                                                       }),
    .moved_sizes = sizes_by_counts,
    .bus_factor = link_by_counts,
});

}  // namespace
}  // namespace sluice::bench
