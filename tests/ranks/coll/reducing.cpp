// SPDX-License-Identifier: BSD-3-Clause
#include "tests/ranks/coll/reducing.hpp"

#include <string_view>

#include "tests/support/session.hpp"

namespace sluice::tests {
namespace {

int rank() {
  return Session::get().rank();
}
int size() {
  return Session::get().size();
}
// Blocks of different lengths, some of none. No block lies over the place of its own result: in place, MPICH 4.0 copies
// one to the other and ends the program where they overlap.
int block_of(const ReductionShape &shape, int of_rank) {
  return of_rank % 3 == 1 ? 0 : shape.count + size() - of_rank;
}
int all_blocks_of(const ReductionShape &shape) {
  return first_of_block(shape, size());
}

}  // namespace

int first_of_block(const ReductionShape &shape, int rank) {
  int first = 0;
  for (int of_rank = 0; of_rank < rank; ++of_rank) first += block_of(shape, of_rank);
  return first;
}

const std::vector<Reducing> &reductions() {
  const auto whole = [](const ReductionShape &s) { return s.count; };
  static const std::vector<Reducing> all = {
      {"MPI_Allreduce", whole, whole,
       [](const void *in, void *out, const ReductionShape &s, MPI_Datatype type, MPI_Op op, int, MPI_Comm comm) {
         return MPI_Allreduce(s.is_in_place ? MPI_IN_PLACE : in, out, s.count, type, op, comm);
       }},
      {"MPI_Reduce", whole, whole,
       [](const void *in, void *out, const ReductionShape &s, MPI_Datatype type, MPI_Op op, int root, MPI_Comm comm) {
         const void *from = rank() == root && s.is_in_place ? MPI_IN_PLACE : s.is_in_place ? out : in;
         return MPI_Reduce(from, rank() == root ? out : nullptr, s.count, type, op, root, comm);
       }},
      {"MPI_Scan", whole, whole,
       [](const void *in, void *out, const ReductionShape &s, MPI_Datatype type, MPI_Op op, int, MPI_Comm comm) {
         return MPI_Scan(s.is_in_place ? MPI_IN_PLACE : in, out, s.count, type, op, comm);
       }},
      {"MPI_Exscan", whole, whole,
       [](const void *in, void *out, const ReductionShape &s, MPI_Datatype type, MPI_Op op, int, MPI_Comm comm) {
         return MPI_Exscan(s.is_in_place ? MPI_IN_PLACE : in, out, s.count, type, op, comm);
       }},
      {"MPI_Reduce_scatter_block", [](const ReductionShape &s) { return s.count * size(); }, whole,
       [](const void *in, void *out, const ReductionShape &s, MPI_Datatype type, MPI_Op op, int, MPI_Comm comm) {
         return MPI_Reduce_scatter_block(s.is_in_place ? MPI_IN_PLACE : in, out, s.count, type, op, comm);
       }},
      {"MPI_Reduce_scatter", all_blocks_of, [](const ReductionShape &s) { return block_of(s, rank()); },
       [](const void *in, void *out, const ReductionShape &s, MPI_Datatype type, MPI_Op op, int, MPI_Comm comm) {
         std::vector<int> counts;
         for (int of_rank = 0; of_rank < size(); ++of_rank) counts.push_back(block_of(s, of_rank));
         return MPI_Reduce_scatter(s.is_in_place ? MPI_IN_PLACE : in, out, counts.data(), type, op, comm);
       }}};
  return all;
}

bool is_scattering(const Reducing &reducing) {
  return std::string_view(reducing.name).starts_with("MPI_Reduce_scatter");
}

std::vector<bool> gaps_of(const TypeCase &of) {
  std::vector<unsigned char> low(of.size_bytes, 0x00);
  std::vector<unsigned char> high(of.size_bytes, 0xFF);
  of.make_exact(low.data(), 0, 0);
  of.make_exact(high.data(), 0, 0);
  std::vector<bool> gaps;
  for (std::size_t i = 0; i < of.size_bytes; ++i) gaps.push_back(low[i] != high[i]);
  return gaps;
}

}  // namespace sluice::tests
