// SPDX-License-Identifier: BSD-3-Clause
// reduce_scatter, reduce_scatter_block: every rank gets its part of the reduction of all vectors.
#include "bench/coll/layouts.hpp"

namespace sluice::bench {
namespace {

// The block of each rank: the vector divided evenly, at least one element.
std::uint64_t even_block(const Circle &circle, std::uint64_t n) {
  return n < ranks_of(circle) ? 1 : n / ranks_of(circle);
}

Layout uneven_parts(const Circle &circle, std::uint64_t n) {
  std::uint64_t begin = 0;
  for (int rank = 0; rank < circle.rank; ++rank) {
    begin += share_of(n, circle.n_ranks, rank);
  }
  return {own_vector(circle, n), reduced(share_of(n, circle.n_ranks, circle.rank), circle.n_ranks, begin)};
}

Layout even_parts(const Circle &circle, std::uint64_t n) {
  const std::uint64_t block = even_block(circle, n);
  return {own_vector(circle, block * ranks_of(circle)),
          reduced(block, circle.n_ranks, block * static_cast<std::uint64_t>(circle.rank))};
}

const CollectiveRegistration reduce_scatter({
    .name = "reduce_scatter",
    .title = "every rank gets its part of the reduction of all vectors",
    .is_reduction = true,
    .layout = uneven_parts,
    .forms = make_forms<MPI_Reduce_scatter, MPI_Ireduce_scatter>(
        "MPI_Reduce_scatter_init",
        [](const Call &c) { return std::make_tuple(c.send, c.recv, c.shares.data(), c.type, c.op, c.comm); }),
    .moved_sizes = one_size,
    .bus_factor = all_but_own,
});
const CollectiveRegistration reduce_scatter_block({
    .name = "reduce_scatter_block",
    .title = "reduce_scatter with equal parts",
    .is_reduction = true,
    .layout = even_parts,
    .forms = make_forms<MPI_Reduce_scatter_block, MPI_Ireduce_scatter_block>(
        "MPI_Reduce_scatter_block_init",
        [](const Call &c) { return std::make_tuple(c.send, c.recv, c.count, c.type, c.op, c.comm); }),
    .count = even_block,
    .moved_sizes = one_size,
    .bus_factor = all_but_own,
});

}  // namespace
}  // namespace sluice::bench
